"""The command on PostgreSQL, as a newcomer runs it: real processes and a real server."""

from __future__ import annotations

import os
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest
from support.command_line import Ended
from support.ports import closed_port
from support.postgres_server import NEEDS_POSTGRES, PostgresServer, postgres_server
from support.scripted_world import QUESTION

from collection_search.settings import Settings

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

pytestmark = NEEDS_POSTGRES
PASSWORD = "very-secret-word"


@pytest.fixture(scope="module")
def server() -> Iterator[PostgresServer]:
    with postgres_server() as server:
        yield server


def ended(url: str, home: Path, *arguments: str) -> Ended:
    """Run the command in a process of its own."""
    variables = {"COLLECTION_SEARCH_HOME": str(home), "COLLECTION_SEARCH_DATABASE_URL": url}
    done = subprocess.run(
        [sys.executable, "-m", "collection_search", *arguments],
        env={**os.environ, **variables},
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert "Traceback" not in done.stderr
    assert "couldn't stop thread" not in done.stderr
    return Ended(done.returncode, done.stdout, done.stderr)


def test_a_newcomers_first_hour(server: PostgresServer, tmp_path: Path) -> None:
    """Each command knows what the one before it has stored; the files hold the index alone."""

    def command(*arguments: str) -> Ended:
        result = ended(server.url, tmp_path, *arguments)
        assert result.code == 0, result.err
        return result

    command("run", QUESTION, "--collection", "py", "--auto-ingest")
    answer = command("ask", QUESTION, "--collection", "py", "--json").json
    assert any("asyncio-task" in passage["url"] for passage in answer["passages"])
    assert "py" in command("collections").out
    assert "py" in command("coverage", "--collection", "py").out
    command("costs")
    command("ingest", "failed")
    told = command("doctor").out
    assert f"127.0.0.1:{server.url.rpartition(':')[2]}" in told
    assert ", pgvector 0." in told
    command("collections", "delete", "py", "--yes")
    assert "py" not in command("collections").out.split()
    corpus = {Settings(home=tmp_path).corpus_path.name, "corpus-folders.db"}
    assert {file.name for file in tmp_path.glob("*.db")} <= corpus


def test_a_server_that_is_down(tmp_path: Path) -> None:
    """The message names the server and the variable, and not the password."""
    with closed_port() as port:
        url = f"postgresql://me:{PASSWORD}@127.0.0.1:{port}/db?connect_timeout=2"
        result = ended(url, tmp_path, "collections")
    assert result.code != 0
    assert f"127.0.0.1:{port}/db cannot be used" in result.err
    assert "COLLECTION_SEARCH_DATABASE_URL" in result.err
    assert PASSWORD not in result.err + result.out
