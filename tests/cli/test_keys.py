"""`collection-search keys`: what it keeps, and what it never prints."""

from __future__ import annotations

import io
import os
import subprocess
import sys
from typing import TYPE_CHECKING

import keyring.errors
import pytest

from collection_search.settings import Settings
from collection_search.settings import keyring as keys
from collection_search.testing.keyring import MemoryKeyring

if TYPE_CHECKING:
    from collections.abc import Iterator

    from support.command_line import Ended, Invoke

KEY = "tvly-0123456789-the-stored-wxyz"


@pytest.fixture
def memory() -> Iterator[MemoryKeyring]:
    with MemoryKeyring() as memory:
        yield memory


@pytest.fixture
def piped(command: Invoke, monkeypatch: pytest.MonkeyPatch) -> Invoke:
    """Run `keys` with a text on its standard input."""

    def invoke(text: str, *arguments: str) -> Ended:
        monkeypatch.setattr(sys, "stdin", io.StringIO(text))
        return command("keys", *arguments)

    return invoke


def test_a_key_from_a_pipe_is_kept(piped: Invoke, memory: MemoryKeyring) -> None:
    """The line's end is no part of it; nothing of it is printed."""
    ended = piped(f"{KEY}\n", "set", "Tavily")
    assert ended.code == 0
    assert memory.entries == {("collection-search", "tavily_api_key"): KEY}
    assert "tavily_api_key" in ended.out
    assert KEY not in ended.out + ended.err
    access = Settings.load().access("tavily")
    assert access.api_key is not None
    assert access.api_key.get_secret_value() == KEY


def test_a_person_is_asked_without_echo(
    command: Invoke, memory: MemoryKeyring, monkeypatch: pytest.MonkeyPatch
) -> None:
    """On a terminal the key is typed, unseen."""
    asked: list[dict[str, object]] = []

    def prompt(text: str, **options: object) -> str:
        asked.append({"text": text, **options})
        return f" {KEY} "

    monkeypatch.setattr("typer.prompt", prompt)
    monkeypatch.setattr(
        sys, "stdin", type("Terminal", (io.StringIO,), {"isatty": lambda _: True})()
    )
    assert command("keys", "set", "brave").code == 0
    assert [(one["text"], one["hide_input"]) for one in asked] == [("Key of brave", True)]
    assert memory.entries == {("collection-search", "brave_search_api_key"): KEY}


@pytest.mark.parametrize("text", ["", "  \n", "two words", "k\u00e9y", "one\ntwo"])
def test_what_cannot_be_a_key_is_refused(piped: Invoke, memory: MemoryKeyring, text: str) -> None:
    """Blank, or with characters that no key has: nothing is changed, nothing is repeated."""
    ended = piped(text, "set", "tavily")
    assert ended.code == 2
    assert len(ended.complaints) == 1
    assert "two words" not in ended.err
    assert not memory.entries
    assert not Settings.load().stored_keys


@pytest.mark.parametrize(
    "arguments", [("set", "tavily", KEY), ("set", "tavily", "--key", KEY), ("set", KEY)]
)
def test_a_key_is_no_argument(
    piped: Invoke, memory: MemoryKeyring, arguments: tuple[str, ...]
) -> None:
    """It is refused, and not shown once more."""
    ended = piped(KEY, *arguments)
    assert ended.code == 2
    assert len(ended.complaints) == 1
    assert KEY not in ended.out + ended.err
    assert not memory.entries


@pytest.mark.slow
def test_the_list_names_sources_and_no_keys(
    piped: Invoke, memory: MemoryKeyring, monkeypatch: pytest.MonkeyPatch, tmp_path: object
) -> None:
    """Environment, file, keyring; of a long key the last four characters, of a short one none."""
    from pathlib import Path

    piped(KEY, "set", "tavily")
    piped("openai-key-of-the-keyring-1234", "set", "openai")
    file = Path(str(tmp_path)) / "settings.yaml"
    file.write_text("providers: {exa: {api_key: file-key}}\n")
    monkeypatch.setenv("COLLECTION_SEARCH_CONFIG", str(file))
    monkeypatch.setenv("BRAVE_API_KEY", "brave-key-of-the-environment-5678")
    ended = piped("", "list")
    assert ended.out.splitlines() == [
        "brave  environment (BRAVE_API_KEY)  ends in 5678",
        "exa  file",
        "openai  keyring  ends in 1234",
        "tavily  keyring  ends in wxyz",
    ]
    assert piped("").out == ended.out
    rows = piped("", "list", "--json").json["keys"]
    assert [(row["name"], row["source"]) for row in rows] == [
        ("brave", "environment"),
        ("exa", "file"),
        ("openai", "keyring"),
        ("tavily", "keyring"),
    ]
    assert KEY not in str(rows)


def test_a_key_that_is_taken_before_is_told(
    piped: Invoke, memory: MemoryKeyring, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A stored key that no run would take is not stored in silence."""
    monkeypatch.setenv("TAVILY_API_KEY", "another-one")
    ended = piped(KEY, "set", "tavily")
    assert ended.code == 0
    assert "TAVILY_API_KEY" in ended.warnings[0]
    assert "another-one" not in ended.err


def test_removing(piped: Invoke, memory: MemoryKeyring) -> None:
    """What is gone is gone; a second time it says that there was none."""
    piped(KEY, "set", "tavily")
    assert "no longer" in piped("", "remove", "tavily").out
    assert not memory.entries
    again = piped("", "remove", "tavily")
    assert (again.code, again.out) == (0, "The system keyring has no key of tavily.\n")
    assert "There are no keys" in piped("", "list").out


@pytest.mark.parametrize("name", ["wikipedia", "offline", "nobody"])
def test_only_what_takes_a_key(piped: Invoke, memory: MemoryKeyring, name: str) -> None:
    """The known names are listed; providers without a key are not among them."""
    ended = piped(KEY, "set", name)
    assert ended.code == 2
    assert "tavily" in ended.err
    assert f", {name}" not in ended.err


@pytest.mark.slow
@pytest.mark.parametrize("error", [keyring.errors.KeyringLocked(), keyring.errors.NoKeyringError()])
def test_a_keyring_that_fails_names_the_variable(piped: Invoke, error: Exception) -> None:
    """One sentence, for every command; the list goes on."""
    (home := Settings.load().prepared_home()).joinpath(keys.INDEX_FILE).write_text("tavily\n")
    with MemoryKeyring(error=error):
        for arguments in (("set", "tavily"), ("remove", "tavily")):
            ended = piped(KEY, *arguments)
            assert ended.code == 2
            assert len(ended.complaints) == 1
            assert "TAVILY_API_KEY" in ended.err
        listed = piped("", "list")
    assert listed.code == 0
    assert "tavily  keyring  The" in listed.out or "tavily  keyring  This" in listed.out
    assert keys.stored_names(home) == {"tavily"}


@pytest.mark.slow
def test_a_machine_without_a_keyring() -> None:
    """The library's own backend for that case: use the variable."""
    ended = subprocess.run(
        [sys.executable, "-m", "collection_search", "keys", "set", "tavily"],
        input=KEY,
        env=os.environ | {"PYTHON_KEYRING_BACKEND": "keyring.backends.fail.Keyring"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert ended.returncode == 2
    assert "has no keyring" in ended.stderr
    assert "TAVILY_API_KEY" in ended.stderr
    assert KEY not in ended.stdout + ended.stderr


def test_without_the_extra_it_is_named(piped: Invoke, monkeypatch: pytest.MonkeyPatch) -> None:
    """What to install, or which variable to set."""
    monkeypatch.setitem(sys.modules, "keyring", None)
    ended = piped(KEY, "set", "tavily")
    assert ended.code == 2
    assert "collection-search[keyring]" in ended.err
    assert KEY not in ended.err
