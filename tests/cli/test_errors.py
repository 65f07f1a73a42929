"""Whatever is wrong with the input: one sentence, the right exit code, no traceback."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from support.scripted_world import QUESTION

if TYPE_CHECKING:
    from pathlib import Path

    from support.command_line import Ended, Invoke

RUN = ("run", QUESTION, "--collection", "py", "--provider", "scripted")
ASK = ("ask", QUESTION, "--collection", "py")


def one_sentence(ended: Ended, *, says: str, kind: str | None = None) -> None:
    """Check that the command told what is wrong, once, and to a program too."""
    assert ended.code == 2
    assert len(ended.err.splitlines()) == 1, ended.err
    assert says in ended.complaints[0]
    assert ended.json["outcome"] is None
    assert ended.json["error"]["message"] in ended.complaints[0]
    assert kind in (None, ended.json["error"]["kind"])


@pytest.mark.slow
@pytest.mark.parametrize("question", ["", "   ", "\u200b", "site:example.com", "?!"])
@pytest.mark.parametrize("name", ["run", "ask", "search"])
def test_a_question_without_words(command: Invoke, name: str, question: str) -> None:
    """Empty, invisible and operator-only questions are refused before anything is searched."""
    collection = () if name == "search" else ("--collection", "py")
    ended = command(name, question, *collection, "--json")
    one_sentence(ended, says="add a word to search for", kind="InvalidQueryError")


@pytest.mark.parametrize(
    ("option", "value"),
    [
        ("--top-k", "0"),
        ("--top-k", "21"),
        ("--top-k", "many"),
        ("--min-score", "-1"),
        ("--min-score", "101"),
        ("--min-score", "nan"),
        ("--max-candidates", "4"),
        ("--max-candidates", "41"),
        ("--max-candidates", "7.5"),
    ],
)
def test_a_number_out_of_range(command: Invoke, option: str, value: str) -> None:
    """The sentence names the option and where its bounds are explained."""
    ended = command(*RUN, option, value, "--json")
    one_sentence(ended, says=f"'{option}'", kind="UsageError")
    assert "collection-search run --help" in ended.err


@pytest.mark.slow
@pytest.mark.parametrize(
    ("options", "says"),
    [
        (("--provider", "nix"), "no search adapter called 'nix'. Known: "),
        (("--provider", "tavilly"), "Did you mean tavily?"),
        (("--provider", "keyless"), "KEYLESS_API_KEY is not set"),
        (("--model", "gpt-4o-mini"), "provider:model, for example openai:gpt-4o-mini. Known: "),
        (("--embeddings", "ada"), "example openai:text-embedding-3-small; or lexical"),
        (("--model", "nix:gpt"), "'nix'"),
        (("--embeddings", "nix:ada"), "'nix'"),
        (("--profile", "nix"), "--profile 'nix' cannot be used: give default or literal."),
        (("--quality-mode", "nix"), "quality_mode"),
        (("--tenant", " "), "--tenant"),
        (("--case", "x" * 201), "--case"),
        (("--collection", ""), "collection_scope"),
        (("--purpose", ""), "purpose"),
    ],
)
def test_a_choice_that_cannot_be(command: Invoke, options: tuple[str, str], says: str) -> None:
    """Unknown names and missing keys are told before anything is searched."""
    one_sentence(command(*RUN, *options, "--json"), says=says)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["DEFAULT_PROVIDER", "FALLBACK_PROVIDER"])
@pytest.mark.parametrize("start", [("search", QUESTION), RUN], ids=["search", "run"])
def test_a_provider_of_the_settings_that_there_is_not(
    command: Invoke, monkeypatch: pytest.MonkeyPatch, name: str, start: tuple[str, ...]
) -> None:
    """It is an error even where another one could be taken; the nearest name is told."""
    monkeypatch.setenv(f"COLLECTION_SEARCH_{name}", "bravee")
    ended = command(*start, "--json")
    one_sentence(ended, says=f"The setting {name.lower()} cannot be used. ")
    assert "Did you mean brave?" in ended.err


def test_a_command_that_there_is_not(command: Invoke) -> None:
    """The nearest one is told."""
    (complaint,) = command("colections").complaints
    assert "No such command 'colections'. Did you mean 'collections'? See" in complaint


def test_half_a_tracing_is_told(command: Invoke, monkeypatch: pytest.MonkeyPatch) -> None:
    """The key that is missing is named."""
    monkeypatch.setenv("LANGFUSE_PUBLIC_KEY", "pk-1")
    assert "LANGFUSE_SECRET_KEY is missing" in command("collections").err


def test_a_model_without_a_key(command: Invoke) -> None:
    """The sentence names the variable that the vendor's key goes into."""
    one_sentence(command(*RUN, "--model", "openai:gpt-4o-mini", "--json"), says="OPENAI_API_KEY")


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (("run", "--json"), "QUESTION"),
        (("run", QUESTION, "--json"), "--collection"),
        (("runn", "--json"), "runn"),
        (("ask", QUESTION, "--collection", "py", "--nix", "--json"), "--nix"),
        (("-v", "--json"), "--json"),
    ],
)
def test_a_command_line_that_cannot_be_understood(
    command: Invoke, arguments: tuple[str, ...], says: str
) -> None:
    """Missing and unknown parts are named, with the help that explains them."""
    ended = command(*arguments)
    one_sentence(ended, says=says, kind="UsageError")
    assert "--help" in ended.err


@pytest.mark.parametrize("arguments", [RUN, ASK, ("search", QUESTION)])
def test_a_data_folder_that_cannot_be_written(
    command: Invoke, arguments: tuple[str, ...], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The sentence names the folder and the variable that moves it."""
    (tmp_path / "file").touch()
    monkeypatch.setenv("COLLECTION_SEARCH_HOME", str(tmp_path / "file" / "home"))
    one_sentence(command(*arguments, "--json"), says="Set COLLECTION_SEARCH_HOME")


@pytest.mark.parametrize(
    "arguments", [RUN, (*RUN, "--auto-ingest"), ASK, ("collections",), ("worker", "--once")]
)
def test_a_damaged_database(
    command: Invoke, arguments: tuple[str, ...], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The sentence names the file; nothing is searched and nothing overwritten."""
    monkeypatch.setenv("COLLECTION_SEARCH_HOME", str(tmp_path))
    database = tmp_path / "collections.db"
    database.write_bytes(b"no database " * 1000)
    ended = command(*arguments)
    assert ended.code == 2
    assert ended.out == ""
    assert len(ended.err.splitlines()) == 1, ended.err
    assert str(database) in ended.complaints[0]
    assert database.read_bytes() == b"no database " * 1000


def test_a_wrong_setting(command: Invoke, monkeypatch: pytest.MonkeyPatch) -> None:
    """The sentence names the setting that cannot be read."""
    monkeypatch.setenv("COLLECTION_SEARCH_MODEL_TIMEOUT_S", "soon")
    one_sentence(
        command(*RUN, "--json"), says="COLLECTION_SEARCH_MODEL_TIMEOUT_S", kind="ConfigError"
    )


def test_an_unknown_collection(command: Invoke) -> None:
    """Asking a collection that does not exist is an input error, not an empty answer."""
    one_sentence(command(*ASK, "--json"), says="no collection 'py'", kind="UnknownCollectionError")
