"""A full disk is told apart from missing rights and from damage."""

from __future__ import annotations

import errno
from pathlib import Path
from types import SimpleNamespace

import pytest

from collection_search.errors import ConfigError
from collection_search.runtime import disk_room
from collection_search.runtime.disk_room import has_room, tells_full_disk
from collection_search.settings import Settings


@pytest.mark.parametrize(("free", "expected"), [(0, False), (2**20 - 1, False), (2**20, True)])
def test_little_room_is_none(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, free: int, *, expected: bool
) -> None:
    """SQLite needs some for the files beside a database."""
    monkeypatch.setattr(disk_room.shutil, "disk_usage", lambda _: SimpleNamespace(free=free))
    assert has_room(tmp_path) is expected
    assert tells_full_disk("disk I/O error", tmp_path / "a.db") is not expected


def test_a_folder_that_is_gone_is_not_full(tmp_path: Path) -> None:
    """Whoever opens the file says what is missing."""
    assert has_room(tmp_path / "gone")
    assert not tells_full_disk("unable to open database file", tmp_path / "gone" / "a.db")


def test_a_full_data_folder_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Another folder is not what helps."""

    def touch(_: Path) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(Path, "touch", touch)
    with pytest.raises(ConfigError, match="Free space there") as caught:
        Settings(home=tmp_path).prepared_home()
    assert "COLLECTION_SEARCH_HOME" not in str(caught.value)
