"""The database file: opened by many, and never a traceback of sqlite3."""

from __future__ import annotations

import sqlite3
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from dataclasses import replace
from typing import TYPE_CHECKING, Any, ClassVar

import pytest

from collection_search.adapters.stores.sqlite import COLLECTIONS, SQLiteStore
from collection_search.adapters.stores.sqlite.database import Database, Schema
from collection_search.errors import ConfigError, StoreError
from collection_search.settings import Settings

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "collections.db"


def test_it_is_in_wal_mode_with_a_schema_version(path: Path) -> None:
    """Readers and writers do not block each other, and a later version knows what it finds."""
    database = Database(path, COLLECTIONS)
    with database.read() as connection:
        assert connection.execute("PRAGMA journal_mode").fetchone()[0] == "wal"
        assert connection.execute("PRAGMA user_version").fetchone()[0] == COLLECTIONS.version
        assert connection.execute("PRAGMA foreign_keys").fetchone()[0] == 1
    database.close()


def test_many_open_a_new_file_at_once(path: Path) -> None:
    """The schema is made once, whoever comes first."""
    with ThreadPoolExecutor(8) as pool:
        databases = list(pool.map(lambda _: Database(path, COLLECTIONS), range(16)))
    for database in databases:
        database.close()


def test_an_error_takes_everything_back(path: Path) -> None:
    """A transaction that fails leaves no trace, and the database goes on."""
    database = Database(path, COLLECTIONS)

    def write_and_fail() -> None:
        with database.write() as connection:
            connection.execute("INSERT INTO collections (tenant_id, name) VALUES ('t', 'c')")
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        write_and_fail()
    with database.read() as connection:
        assert connection.execute("SELECT count(*) FROM collections").fetchone()[0] == 0
    database.close()


def test_a_closed_store_opens_again(path: Path) -> None:
    """Closing gives connections back; it does not end the store."""
    store = SQLiteStore(path)
    store.close()
    assert store.collections.collections("t") == []
    store.close()


@pytest.mark.slow
def test_a_forked_child_opens_its_own_connections(path: Path) -> None:
    """A child of a pre-forking server writes what its parent reads."""
    script = (
        "import os, sys; from pathlib import Path;"
        "from collection_search.adapters.stores.sqlite import SQLiteStore;"
        "store = SQLiteStore(Path(sys.argv[1]));"
        "child = os.fork();"
        "child or (store.staging.put('t', ['from the child']), os._exit(0));"
        "assert os.waitpid(child, 0)[1] == 0;"
        "store.staging.put('t', ['from the parent'])"
    )
    subprocess.run([sys.executable, "-c", script, str(path)], check=True)
    with closing(sqlite3.connect(path)) as connection, connection:
        assert connection.execute("SELECT count(*) FROM staged").fetchone()[0] == 2
    connection.close()


@pytest.mark.parametrize(
    "content", [b"no database at all" * 100, b"SQLite format 3\0" + b"x" * 5000]
)
def test_a_damaged_file_is_named(path: Path, content: bytes) -> None:
    """The sentence says which file and what to do."""
    path.write_bytes(content)
    with pytest.raises(StoreError, match=r"collections\.db is damaged.*COLLECTION_SEARCH_HOME"):
        SQLiteStore(path)


def test_damage_inside_is_named(path: Path) -> None:
    """So does damage that is met only when the page is read."""
    store = SQLiteStore(path)
    store.staging.put("t", [f"{n} " * 2000 for n in range(20)])
    with closing(sqlite3.connect(path)) as connection, connection:
        connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        root = connection.execute(
            "SELECT rootpage FROM sqlite_master WHERE name = 'staged'"
        ).fetchone()[0]
    connection.close()
    store.close()
    with path.open("r+b") as file:
        file.seek((root - 1) * 4096)
        file.write(b"\xff" * 4096)
    with pytest.raises(StoreError, match=r"collections\.db is damaged"):
        SQLiteStore(path).staging.put("t", ["more"])


def test_another_programs_database_is_left_alone(path: Path) -> None:
    """A SQLite file that is not ours is refused, not extended."""
    with closing(sqlite3.connect(path)) as connection, connection:
        connection.execute("CREATE TABLE theirs (x)")
    connection.close()
    with pytest.raises(StoreError, match="belongs to another program"):
        SQLiteStore(path)


def test_a_newer_schema_is_refused(path: Path) -> None:
    """An older program does not touch what it does not understand."""
    SQLiteStore(path).close()
    with closing(sqlite3.connect(path)) as connection, connection:
        connection.execute("PRAGMA user_version = 99")
    connection.close()
    with pytest.raises(StoreError, match=r"another version .*schema 99, not 7"):
        SQLiteStore(path)


class TestMigrations:
    """A file of an older version becomes one of the newest when it is opened."""

    OLD = "CREATE TABLE t (x); CREATE TABLE u (id INTEGER PRIMARY KEY);\n"
    STEPS: ClassVar = {
        1: """
            ALTER TABLE t ADD COLUMN y DEFAULT 7; -- and then
            CREATE TRIGGER tr AFTER INSERT ON t BEGIN
                DELETE FROM u;
            END;
            """,
        2: "INSERT INTO u VALUES (1);\nINSERT INTO t VALUES (2, 3);",
    }

    @pytest.fixture
    def schemas(self, tmp_path: Path) -> tuple[Schema, Schema]:
        """Version 1 and version 3 of one file."""
        return self.schema(tmp_path, 1), self.schema(tmp_path, 3)

    def schema(self, folder: Path, version: int, **changed: str) -> Schema:
        scripts = {"new": self.OLD} | {f"m{n}": step for n, step in self.STEPS.items()} | changed
        for name, script in scripts.items():
            (folder / f"{name}.sql").write_text(script)
        steps = {n: folder / f"m{n}.sql" for n in self.STEPS}
        return Schema(77, version, folder / "new.sql", steps)

    def rows(self, path: Path, sql: str) -> list[tuple[Any, ...]]:
        with closing(sqlite3.connect(path)) as connection:
            return connection.execute(sql).fetchall()

    def test_every_step_is_taken_in_order(self, path: Path, schemas: tuple[Schema, Schema]) -> None:
        """The rows stay; the trigger of step 1 has seen the rows of step 2."""
        old, new = schemas
        database = Database(path, old)
        with database.write() as connection:
            connection.execute("INSERT INTO t VALUES (1)")
        database.close()
        Database(path, new).close()
        assert self.rows(path, "SELECT * FROM t") == [(1, 7), (2, 3)]
        assert self.rows(path, "SELECT * FROM u") == []
        assert self.rows(path, "PRAGMA user_version") == [(3,)]
        with pytest.raises(StoreError, match=r"another version .*schema 3, not 1"):
            Database(path, old)

    def test_a_failed_step_changes_nothing(
        self, path: Path, tmp_path: Path, schemas: tuple[Schema, Schema]
    ) -> None:
        """Step 1 is taken back with step 2, and the next start tries again."""
        old, new = schemas
        Database(path, old).close()
        self.schema(tmp_path, 3, m2="INSERT INTO nowhere VALUES (1);")
        with pytest.raises(StoreError, match="no such table: nowhere"):
            Database(path, new)
        assert self.rows(path, "PRAGMA user_version") == [(1,)]
        assert self.rows(path, "SELECT name FROM sqlite_master WHERE type = 'trigger'") == []
        self.schema(tmp_path, 3)
        Database(path, new).close()

    def test_a_rebuilt_table_keeps_the_rows_that_refer_to_it(
        self, path: Path, tmp_path: Path
    ) -> None:
        """Dropping a table during a migration does not delete what hangs on it."""
        old = (
            "CREATE TABLE u (id INTEGER PRIMARY KEY);\n"
            "CREATE TABLE t (x REFERENCES u ON DELETE CASCADE);\n"
            "INSERT INTO u VALUES (5);\nINSERT INTO t VALUES (5);\n"
        )
        rebuild = "DROP TABLE u;\nCREATE TABLE u (id INTEGER PRIMARY KEY, z);\n"
        Database(path, self.schema(tmp_path, 1, new=old)).close()
        lost = self.schema(tmp_path, 2, m1=rebuild)
        with pytest.raises(StoreError, match="refer to rows that do not exist"):
            Database(path, lost)
        Database(path, self.schema(tmp_path, 2, m1=rebuild + "INSERT INTO u VALUES (5, 6);"))
        assert self.rows(path, "SELECT * FROM t") == [(5,)]

    @pytest.mark.slow
    def test_many_processes_migrate_at_once(
        self, path: Path, tmp_path: Path, schemas: tuple[Schema, Schema]
    ) -> None:
        """Each step is taken once, whoever comes first."""
        Database(path, schemas[0]).close()
        script = (
            "import sys; from pathlib import Path;"
            "from collection_search.adapters.stores.sqlite.database import Database, Schema;"
            "home = Path(sys.argv[2]); sys.stdin.read(1);"
            "Database(Path(sys.argv[1]), Schema(77, 3, home / 'new.sql',"
            " {1: home / 'm1.sql', 2: home / 'm2.sql'}))"
        )
        command = [sys.executable, "-c", script, str(path), str(tmp_path)]
        processes = [subprocess.Popen(command, stdin=subprocess.PIPE) for _ in range(6)]
        for process in processes:
            assert process.stdin is not None
            process.stdin.close()
        assert [process.wait() for process in processes] == [0] * 6
        assert self.rows(path, "SELECT * FROM t") == [(2, 3)]

    def test_a_program_that_was_open_meanwhile_writes_no_more(
        self, path: Path, schemas: tuple[Schema, Schema]
    ) -> None:
        """It does not know what it would write into."""
        old = Database(path, schemas[0])
        Database(path, schemas[1]).close()
        with pytest.raises(StoreError, match="migrated by a newer program"), old.write():
            pass
        old.close()

    def test_a_version_without_a_way_is_refused(
        self, path: Path, schemas: tuple[Schema, Schema]
    ) -> None:
        """A missing step is not skipped."""
        old, new = schemas
        Database(path, old).close()
        with pytest.raises(StoreError, match="schema 1, not 3"):
            Database(path, replace(new, migrations={2: new.migrations[2]}))


def test_nothing_is_written_to_a_file_that_is_no_longer_there(path: Path) -> None:
    """The rows would go into a file that nobody finds; once it is back, they go into it."""
    database = Database(path, COLLECTIONS)
    away = path.rename(path.with_name("away.db"))
    with pytest.raises(StoreError, match=r"moved, replaced or deleted"), database.write():
        pass
    database.close()
    with pytest.raises(StoreError, match=r"moved, replaced or deleted"), database.read():
        pass
    assert not path.exists()
    away.rename(path)
    with database.write() as connection:
        connection.execute("INSERT INTO collections (tenant_id, name) VALUES ('t', 'c')")
    database.close()


def test_nothing_is_written_to_the_file_that_replaced_it(path: Path) -> None:
    database = Database(path, COLLECTIONS)
    path.unlink()
    Database(path, COLLECTIONS).close()
    with pytest.raises(StoreError, match=r"moved, replaced or deleted"), database.write():
        pass
    database.close()


def test_a_path_that_is_no_file_is_named(tmp_path: Path) -> None:
    """A folder in the file's place cannot be opened."""
    with pytest.raises(StoreError, match="cannot be opened for writing"):
        SQLiteStore(tmp_path)


def test_a_table_that_is_gone_is_named(path: Path) -> None:
    """Whatever SQLite says, the sentence ends in what to do."""
    store = SQLiteStore(path)
    with sqlite3.connect(path) as connection:
        connection.execute("DROP TABLE ledger")
    connection.close()
    with pytest.raises(StoreError, match=r"Restore a backup.*no such table: ledger"):
        store.collections.collections("t")
    store.close()


@pytest.mark.slow
def test_a_full_disk_is_named(path: Path) -> None:
    """Nothing of the transaction is kept, and there is room again once it is made."""
    script = (
        "import resource, sys; from pathlib import Path;"
        "from collection_search.adapters.stores.sqlite import SQLiteStore;"
        "store = SQLiteStore(Path(sys.argv[1]));"
        "resource.setrlimit(resource.RLIMIT_FSIZE, (500_000, resource.RLIM_INFINITY));"
        "store.staging.put('t', ['x' * 600_000])"
    )
    call = subprocess.run(
        [sys.executable, "-c", script, str(path)], capture_output=True, text=True, check=False
    )
    assert "StoreError: The database" in call.stderr
    assert "Make room, or set COLLECTION_SEARCH_HOME" in call.stderr
    store = SQLiteStore(path)
    (ref,) = store.staging.put("t", ["x" * 600_000])
    assert store.staging.get("t", ref)
    store.close()


def test_a_busy_database_is_named(path: Path) -> None:
    """Another process that holds the lock too long is an error with advice, not a hang."""
    store = SQLiteStore(path, busy_timeout_s=0.05)
    holder = sqlite3.connect(path, isolation_level=None)
    holder.execute("BEGIN IMMEDIATE")
    with pytest.raises(StoreError, match="held by another process"):
        store.staging.put("t", ["text"])
    holder.close()
    store.close()


def test_an_unwritable_folder_is_a_setting_to_change(tmp_path: Path) -> None:
    """The setting's name is in the message."""
    blocked = tmp_path / "file"
    blocked.touch()
    with pytest.raises(ConfigError, match="COLLECTION_SEARCH_HOME"):
        SQLiteStore.from_settings(Settings(home=blocked / "home"))


def test_settings_say_where_it_lies(tmp_path: Path) -> None:
    """The file is made in the data folder, which is made too."""
    store = SQLiteStore.from_settings(Settings(home=tmp_path / "new" / "home"))
    store.close()
    assert (tmp_path / "new" / "home" / "collections.db").is_file()
