"""Whatever is wrong with the input: one sentence, the right exit code, no traceback."""

from __future__ import annotations

import os
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest
from support.scripted_world import QUESTION
from support.taken_rights import as_any_user, closed

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
    ("option", "value", "possible"),
    [
        ("--top-k", "0", "give 1 or more"),
        ("--top-k", "21", "give 20 or less"),
        ("--top-k", "many", "give a whole number"),
        ("--min-score", "-1", "give 0 or more"),
        ("--min-score", "101", "give 100 or less"),
        ("--min-score", "nan", "give 100 or less"),
        ("--max-candidates", "4", "give 5 or more"),
        ("--max-candidates", "41", "give 40 or less"),
        ("--max-candidates", "7.5", "give a whole number"),
    ],
)
def test_a_value_that_cannot_be(command: Invoke, option: str, value: str, possible: str) -> None:
    """The sentence names the option, what is possible, and where it is explained."""
    ended = command(*RUN, option, value, "--json")
    one_sentence(ended, says=f"'{option}': {possible}", kind="UsageError")
    assert "collection-search run --help" in ended.err


def test_a_word_that_is_none_of_the_choices(command: Invoke) -> None:
    ended = command("costs", "--by", "week", "--json")
    one_sentence(ended, says="'--by': 'week' is not one of 'day', 'run', 'name'. See")


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


@pytest.mark.parametrize(
    ("arguments", "meant"),
    [
        (("colections",), "collections"),
        (("list",), "collections list"),
        (("rm", "py"), "collections delete"),
        (("delete", "py"), "collections delete"),
        (("query", QUESTION), "ask"),
        (("crawl", "https://a.org"), "ingest add"),
        (("fetch", "https://a.org"), "page"),
        (("collections", "ls"), "list"),
        (("collections", "rm", "py"), "delete"),
        (("corpus", "delete", "docs"), "remove"),
    ],
    ids=str,
)
def test_a_command_that_there_is_not(
    command: Invoke, arguments: tuple[str, ...], meant: str
) -> None:
    """The one that is meant is told, by a near spelling or by a word of other programs."""
    ended = command(*arguments)
    (complaint,) = ended.complaints
    assert ended.code == 2
    assert f". Did you mean '{meant}'? See" in complaint


@pytest.mark.parametrize(
    ("arguments", "meant"),
    [
        (("search", QUESTION, "--limit", "3"), "--max-results"),
        (("search", QUESTION, "--num", "3"), "--max-results"),
        ((*RUN, "--limit", "3"), "--max-candidates"),
        ((*RUN, "--max-results", "3"), "--max-candidates"),
        ((*ASK, "-n", "3"), "--k"),
        ((*ASK, "--output", "json"), "--json"),
        ((*RUN, "--providr", "x"), "--provider"),
    ],
    ids=str,
)
def test_an_option_that_there_is_not(
    command: Invoke, arguments: tuple[str, ...], meant: str
) -> None:
    """The one that is meant is told, likewise."""
    ended = command(*arguments)
    (complaint,) = ended.complaints
    assert ended.code == 2
    assert f". Did you mean {meant}? See" in complaint


def test_an_option_before_its_sub_command(command: Invoke) -> None:
    """Where it stands is told."""
    (complaint,) = command("--provider", "offline", "run").complaints
    assert "Options of a sub-command stand after its name. See" in complaint


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


@pytest.mark.parametrize(
    "arguments",
    [
        ("ask", QUESTION, "--collection", "pyy"),
        ("coverage", "--collection", "pyy"),
        ("ingest", "failed", "--collection", "pyy"),
        *(("collections", name, "pyy") for name in ("show", "export", "refresh", "reembed")),
        ("collections", "delete", "pyy", "--yes"),
        ("collections", "forget", "pyy", "--question", QUESTION),
    ],
    ids=" ".join,
)
def test_an_unknown_collection(command: Invoke, run: Invoke, arguments: tuple[str, ...]) -> None:
    """Those that there are are listed, the nearest one first; no tenant is spoken of."""
    assert run("--auto-ingest", "--top-k", "1").code == 0
    assert command(*RUN[:3], "atlas", *RUN[4:], "--auto-ingest", "--top-k", "1").code == 0
    ended = command(*arguments)
    assert ended.code == 2
    (complaint,) = ended.complaints
    says = "There is no collection 'pyy'. Did you mean 'py'? Known: py, atlas."
    assert complaint == f"collection-search: {says}"


def test_the_first_collection_is_still_to_be_made(command: Invoke) -> None:
    """How is told; asking what does not exist is an input error, to a program as well."""
    one_sentence(
        command(*ASK, "--json"),
        says="no collection 'py', and no other yet. Make one: collection-search run QUESTION"
        " --auto-ingest --collection py",
        kind="UnknownCollectionError",
    )


def test_a_tenant_that_was_named_is_told(command: Invoke, monkeypatch: pytest.MonkeyPatch) -> None:
    """By its option or by the settings."""
    assert "Tenant 'local' has no collection" in command(*ASK, "--tenant", "local").complaints[0]
    monkeypatch.setenv("COLLECTION_SEARCH_TENANT", "acme")
    assert "Tenant 'acme' has no collection 'py'" in command(*ASK).complaints[0]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("arguments", "file"),
    [
        (("tokens", "list"), "access-tokens"),
        (("tokens", "remove", "ann"), "access-tokens"),
        (("corpus", "list"), "corpus-folders.db"),
        (("migrate", "--to", "postgresql://me@127.0.0.1:1/x"), "collections.db"),
        (("collections", "list"), "settings.yaml"),
    ],
)
def test_a_folder_of_somebody_else(tmp_path: Path, arguments: tuple[str, ...], file: str) -> None:
    """It is told, and not taken for an empty one."""
    home = tmp_path / "home"
    home.mkdir()
    given = {"COLLECTION_SEARCH_HOME": str(home)}
    if file.endswith(".yaml"):
        given["COLLECTION_SEARCH_CONFIG"] = str(home / file)
    run = [*as_any_user(), sys.executable, "-m", "collection_search", *arguments]
    with closed(home):
        ended = subprocess.run(
            run, env={**os.environ, **given}, capture_output=True, text=True, check=False
        )
    assert ended.returncode == 2, ended.stderr
    said = " ".join(ended.stderr.split())
    assert said.startswith(f"collection-search: {home / file} cannot be read (Permission denied).")
    assert "Give this user the right to read it and its folder, or set COLLECTION_SEARCH_" in said
