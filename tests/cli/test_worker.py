"""`collection-search worker`."""

from __future__ import annotations

import sqlite3
from typing import TYPE_CHECKING

import pytest

from collection_search.settings.process_defaults import process_settings

if TYPE_CHECKING:
    from support.command_line import Invoke


def test_once_ends_when_nothing_is_left(command: Invoke) -> None:
    """An empty ledger is no error; what happens is told on stderr."""
    ended = command("worker", "--once")
    assert (ended.code, ended.out) == (0, "")
    assert "Nothing is left to ingest." in ended.err


@pytest.mark.slow
def test_every_tenants_pages_are_ingested(run: Invoke, command: Invoke) -> None:
    """One worker serves the whole ledger."""
    for tenant in ("acme", "globex"):
        run("--auto-ingest", "--no-wait", "--top-k", "2", "--tenant", tenant)
    assert command("worker", "--once").code == 0
    for tenant in ("acme", "globex"):
        assert "py                  2" in command("collections", "--tenant", tenant).out


def test_what_was_done_is_told(run: Invoke, command: Invoke) -> None:
    """A sum ends the work."""
    run("--auto-ingest", "--no-wait", "--top-k", "2")
    assert "2 pages: 2 new.\n" in command("worker", "--once").err
    assert "new" not in command("worker", "--once").err


def test_pages_that_failed_are_5(run: Invoke, command: Invoke) -> None:
    """Each is named once, with its cause, and counted; what failed earlier is not told again."""
    run("--auto-ingest", "--no-wait", "--top-k", "2")
    with sqlite3.connect(process_settings().collections_path) as database:
        database.execute("DELETE FROM staged")
    database.close()
    ended = command("worker", "--once")
    assert ended.code == 5
    (complaint,) = ended.complaints
    assert "Pages that could not be ingested: 2. They are named above" in complaint
    assert ended.err.count("no longer staged") == 1
    assert "Nothing is left" not in ended.err
    assert ended.warnings == ["warning: 2 pages were not ingested:"]
    assert ended.err.count("https://docs.example.com/") == 2
    assert "2 pages: 2 failed.\n" in ended.err
    assert command("worker", "--once").code == 0


@pytest.mark.slow
def test_an_embedder_that_is_gone_is_5(run: Invoke, command: Invoke) -> None:
    """Nothing is embedded by another model than the collection's."""
    run("--auto-ingest", "--no-wait", "--top-k", "2", "--embeddings", "words")
    ended = command("worker", "--once")
    assert ended.code == 5
    assert "filled with the embedder scripted:64" in ended.err


@pytest.mark.slow
def test_a_last_attempt_that_failed_is_5(
    run: Invoke, command: Invoke, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A model that keeps failing leaves its pages behind, and its cause is told."""
    run("--auto-ingest", "--no-wait", "--top-k", "1", "--embeddings", "words")
    monkeypatch.setenv("COLLECTION_SEARCH_EMBEDDINGS", "broken_embedder")
    monkeypatch.setenv("COLLECTION_SEARCH_INGEST_MAX_ATTEMPTS", "1")
    ended = command("worker", "--once")
    assert ended.code == 5
    assert "ingested: 1. " in ended.complaints[0]
    assert ended.warnings == ["warning: 1 page was not ingested:"]
    assert "no answer" in ended.err
