"""A killed ingestion, started again, ends as if nothing had happened."""

from __future__ import annotations

import random
import signal
import sqlite3
import subprocess
import sys
import time
from contextlib import closing
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from collection_search.adapters.stores.sqlite import SQLiteStore
from collection_search.contracts.collection import TenantScope

pytestmark = pytest.mark.slow
PROGRAM = Path(__file__).with_name("ingest_pages.py")
POINTS = 20
KILLS_OF_ONE_DATABASE = 8


class Undisturbed(NamedTuple):
    """What a run that nobody disturbed leaves behind, and how many statements it took."""

    content: dict[str, Any]
    statements: int
    seconds: float


def run(folder: Path, *arguments: object) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, str(PROGRAM), str(folder), *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, timeout=300, check=False)


def start(folder: Path) -> subprocess.Popen[str]:
    command = [sys.executable, str(PROGRAM), str(folder)]
    return subprocess.Popen(command, stdout=subprocess.PIPE, text=True)


def content(folder: Path) -> dict[str, Any]:
    """Return all that a search could see, and what must be counted beside it."""
    path = folder / "collections.db"
    store = SQLiteStore(path)
    exported = list(store.collections.export(TenantScope("local", "tea")))
    store.close()
    with closing(sqlite3.connect(path)) as connection:
        one = lambda query: connection.execute(query).fetchall()  # noqa: E731
        connection.execute("INSERT INTO chunk_words (chunk_words) VALUES ('integrity-check')")
        return {
            "export": exported,
            "words": one(
                "SELECT part, chunk_words.title, body, url_key, ordinal FROM chunk_words"
                " LEFT JOIN chunks ON chunks.id = chunk_words.rowid"
                " LEFT JOIN documents ON documents.id = document_id ORDER BY url_key, ordinal"
            ),
            "vectors": one("SELECT count(*), count(vector) FROM chunks"),
            "ledger": one("SELECT url_key, state, owner FROM ledger ORDER BY url_key"),
            "integrity": one("PRAGMA integrity_check") + one("PRAGMA foreign_key_check"),
        }


@pytest.fixture(scope="module")
def undisturbed(tmp_path_factory: pytest.TempPathFactory) -> Undisturbed:
    folder = tmp_path_factory.mktemp("undisturbed")
    child = start(folder)
    assert child.stdout is not None
    assert child.stdout.readline() == "started\n"
    began = time.monotonic()
    statements = int(child.stdout.read())
    seconds = time.monotonic() - began
    child.stdout.close()
    assert child.wait() == 0
    found = content(folder)
    assert len(found["export"]) == len(found["ledger"]) == 40
    assert found["integrity"] == [("ok",)]
    return Undisturbed(found, statements, seconds)


@pytest.mark.parametrize("seed", range(POINTS))
def test_a_run_killed_before_any_statement_is_completed_by_the_next(
    tmp_path: Path, undisturbed: Undisturbed, seed: int
) -> None:
    """Twenty random points over the whole run, most of them inside a transaction.

    A run on a busy machine looks more often for what is done: one with less statements than the
    point dies at its end.
    """
    point = random.Random(seed).randint(1, int(0.9 * undisturbed.statements))
    assert run(tmp_path, point).returncode == -signal.SIGKILL
    finished = run(tmp_path)
    assert finished.returncode == 0, finished.stderr
    assert content(tmp_path) == undisturbed.content


def test_one_database_survives_kill_after_kill(tmp_path: Path, undisturbed: Undisturbed) -> None:
    """Killed from outside at random times, then two programs at once do the rest."""
    moments = random.Random(1)
    for _ in range(KILLS_OF_ONE_DATABASE):
        with start(tmp_path) as child:
            assert child.stdout is not None
            child.stdout.readline()
            time.sleep(moments.uniform(0, undisturbed.seconds / 4))
            child.kill()
    with start(tmp_path) as one, start(tmp_path) as other:
        assert (one.wait(300), other.wait(300)) == (0, 0)
    assert content(tmp_path) == undisturbed.content
