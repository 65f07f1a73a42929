"""Tokens of callers: what is kept of them, and whom they let in."""

from __future__ import annotations

import stat
from typing import TYPE_CHECKING

import pytest

from collection_search.errors import ConfigError, InputError
from collection_search.settings.access_tokens import FOLDER, AccessTokens, Role

if TYPE_CHECKING:
    from pathlib import Path


def test_only_a_hash_is_kept_and_only_its_owner_reads_it(tmp_path: Path) -> None:
    """Whoever copies the data folder cannot call the server."""
    token = AccessTokens(tmp_path).add("acme", "ann@acme.example", Role.reviewer)
    (file,) = (tmp_path / FOLDER).iterdir()
    assert token not in file.name + file.read_text()
    assert token.removeprefix("cs_") not in file.name + file.read_text()
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert stat.S_IMODE(file.parent.stat().st_mode) == 0o700


def test_a_token_stands_for_one_user_until_it_is_removed(tmp_path: Path) -> None:
    """Also for another object and process on the same data folder."""
    tokens, others = AccessTokens(tmp_path), AccessTokens(tmp_path)
    first, second = (tokens.add("acme", "ann", role) for role in (Role.viewer, Role.admin))
    assert first != second
    found = others.find(first)
    assert found is not None
    assert (found.tenant, found.user, found.role) == ("acme", "ann", Role.viewer)
    assert {one.role for one in others.every()} == {Role.viewer, Role.admin}
    assert tokens.remove([found.token_id]) == 1
    assert others.find(first) is None
    assert others.find(second) is not None
    assert tokens.remove([found.token_id, "../x", "*", ""]) == 0


@pytest.mark.parametrize("sent", ["", "cs_", "x" * 46, "cs_" + "é" * 43, "../" * 20])
def test_nothing_else_is_a_token(tmp_path: Path, sent: str) -> None:
    """Whatever is sent, no path is made of it."""
    assert AccessTokens(tmp_path).find(sent) is None


@pytest.mark.parametrize("content", [b"", b"[]", b"{}", b'{"role": "root"}', b"\xff"])
def test_a_damaged_file_lets_nobody_in(tmp_path: Path, content: bytes) -> None:
    """Half a token is none."""
    tokens = AccessTokens(tmp_path)
    token = tokens.add("acme", "ann", Role.admin)
    (file,) = (tmp_path / FOLDER).iterdir()
    file.write_bytes(content)
    assert tokens.find(token) is None
    assert tokens.every() == []


def test_a_folder_that_cannot_be_read_is_not_taken_for_empty(tmp_path: Path) -> None:
    """A loop of links stands for rights, which root has all of."""
    folder = tmp_path / FOLDER
    folder.symlink_to(folder)
    with pytest.raises(ConfigError, match=f"{FOLDER} cannot be read"):
        AccessTokens(tmp_path).every()
    with pytest.raises(ConfigError, match=f"{FOLDER} cannot be read"):
        AccessTokens(tmp_path).remove(["0" * 12])


def test_a_token_that_cannot_be_read_is_told_and_lets_nobody_in(tmp_path: Path) -> None:
    """Another user may have issued it; the server of that user lets its owner in."""
    tokens = AccessTokens(tmp_path)
    token = tokens.add("acme", "ann", Role.admin)
    (file,) = (tmp_path / FOLDER).iterdir()
    file.unlink()
    file.symlink_to(file)
    assert tokens.find(token) is None
    with pytest.raises(ConfigError, match=f"{file.name} cannot be read"):
        tokens.every()


@pytest.mark.parametrize("user", ["", "ann/bob", "../ann", "ann bob", "a" * 101, "ann\n", "*"])
def test_a_user_s_name_is_plain(tmp_path: Path, user: str) -> None:
    """With a slash it could be read as that of another tenant's user."""
    with pytest.raises(InputError, match="name of a user"):
        AccessTokens(tmp_path).add("acme", user, Role.viewer)
