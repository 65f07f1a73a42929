"""What is refused before any database is asked."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from typing import TYPE_CHECKING

import pytest
from support.damaged_file import damage_table
from support.moved_home import fill_home
from support.ports import closed_port

from collection_search.adapters.moving.moved_tables import TABLES
from collection_search.adapters.moving.source import open_source
from collection_search.adapters.moving.target import check_url, open_target
from collection_search.errors import ConfigError, StoreError

if TYPE_CHECKING:
    from pathlib import Path


@pytest.mark.parametrize(
    "url",
    [
        "mysql://me:very-secret@db/x",
        "postgresql://me:very-secret/@db:5432/x",
        "postgresql://me@db:very-secret/x",
        "host=db password=very-secret",
    ],
)
def test_a_wrong_address_is_not_shown(url: str) -> None:
    with pytest.raises(ConfigError, match="no address of PostgreSQL") as caught:
        check_url(url)
    assert "very-secret" not in f"{caught.value}{caught.value.__cause__}"


def test_an_unreachable_server_is_named_without_the_password() -> None:
    with closed_port() as port:
        url = f"postgresql://me:very-secret@127.0.0.1:{port}/x"
        with pytest.raises(StoreError, match=f"127.0.0.1:{port}/x") as caught, open_target(url):
            pass
    assert "very-secret" not in f"{caught.value}{caught.value.__cause__}"


def test_every_table_of_the_files_is_carried_over(tmp_path: Path) -> None:
    """What is not: the index of words, which PostgreSQL has as a column, and servers' leases."""
    fill_home(tmp_path)
    names = set()
    for file in ("collections", "usage", "runs"):
        with closing(sqlite3.connect(tmp_path / f"{file}.db")) as connection:
            query = "SELECT name FROM sqlite_master WHERE type = 'table'"
            names |= {row[0] for row in connection.execute(query)}
    kept = {name for name in names if not name.startswith(("chunk_words", "run_leases", "sqlite_"))}
    assert kept == {table.name for table in TABLES}


def test_a_folder_without_collections_is_refused(tmp_path: Path) -> None:
    with pytest.raises(StoreError, match="no collections to carry over"), open_source(tmp_path):
        pass
    assert list(tmp_path.iterdir()) == []


def test_a_file_that_another_process_writes_is_refused(tmp_path: Path) -> None:
    fill_home(tmp_path)
    with closing(sqlite3.connect(tmp_path / "usage.db", isolation_level=None)) as connection:
        connection.execute("BEGIN IMMEDIATE")
        with (
            pytest.raises(StoreError, match="held by another process"),
            open_source(tmp_path, wait_s=0.01),
        ):
            pass


@pytest.mark.parametrize(("file", "name"), [("collections", "chunks"), ("usage", "spend")])
def test_the_damaged_file_is_named_and_no_other(tmp_path: Path, file: str, name: str) -> None:
    """Whoever moves the named one away would else lose what is whole."""
    fill_home(tmp_path)
    damage_table(tmp_path / f"{file}.db", name)
    table = next(table for table in TABLES if table.name == name)
    with (
        pytest.raises(StoreError, match=f"The database {tmp_path}/{file}.db is damaged"),
        open_source(tmp_path) as source,
    ):
        source.batch(table, source.columns(table), None, 9)


def test_nobody_writes_while_the_files_are_read(tmp_path: Path) -> None:
    fill_home(tmp_path)
    with (
        open_source(tmp_path),
        closing(sqlite3.connect(tmp_path / "collections.db", timeout=0)) as connection,
        pytest.raises(sqlite3.OperationalError, match="locked"),
    ):
        connection.execute("DELETE FROM ledger")
