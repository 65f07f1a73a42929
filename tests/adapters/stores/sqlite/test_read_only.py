"""A collection on a volume that cannot be written is searched; a write says why it is refused."""

from __future__ import annotations

import os
import shutil
import sqlite3
import subprocess
import sys
import tempfile
from pathlib import Path
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any, Final
from unittest.mock import Mock

import pytest

from collection_search.adapters.stores.sqlite import SQLiteStore, database
from collection_search.adapters.stores.sqlite.opening import connect
from collection_search.adapters.stores.sqlite.store_errors import translate_failure
from collection_search.contracts.collection import TenantScope
from collection_search.errors import ReadOnlyStoreError, StoreError
from collection_search.runtime import disk_room
from collection_search.settings import Settings
from collection_search.testing.stores.suite import axes, chunks, document

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

SCOPE: Final = TenantScope("local", "docs")
READER: Final = """
import sys
from pathlib import Path
from collection_search.adapters.stores.sqlite import SQLiteStore
from collection_search.contracts.collection import TenantScope
from collection_search.errors import ReadOnlyStoreError, StoreError
from collection_search.settings import Settings
scope = TenantScope("local", "docs")
try:
    store = SQLiteStore.from_settings(Settings(home=Path(sys.argv[1])))
    print(*[one.chunk.text for one in store.collections.search(scope, "tea")])
    print(len(list(store.collections.export(scope))), store.ledger.pending_in_s())
    store.collections.delete_collection(scope)
except ReadOnlyStoreError as error:
    print("refused:", error)
except StoreError as error:
    print("unreadable:", error)
"""
NOBODY: Final = 65534
MOUNT: Final = 'mount --bind "$1" "$1" && mount -o remount,ro,bind "$1" && shift && exec "$@"'
UNSHARED: Final = ("unshare", "-rm", "sh", "-c", MOUNT, "sh")


@pytest.fixture
def home() -> Iterator[Path]:
    """A folder that other users can reach."""
    folder = Path(tempfile.mkdtemp(prefix="read-only-"))
    folder.chmod(0o755)
    yield folder
    for path in (folder, *folder.iterdir()):
        path.chmod(0o700)
    shutil.rmtree(folder)


def fill(home: Path) -> SQLiteStore:
    store = SQLiteStore(home / "collections.db")
    store.collections.bind_embedder(SCOPE, "model:4")
    page = document("tea", "Green tea.")
    store.collections.replace_document(SCOPE, page, chunks("Green tea.", vectors=axes(1)))
    return store


def closed(home: Path) -> None:
    """Leave one file that contains everything."""
    fill(home).close()
    assert [path.name for path in home.iterdir()] == ["collections.db"]


def killed(home: Path) -> None:
    """Leave what a process leaves that is killed: the log, and the file that describes it."""
    store = fill(home)
    with tempfile.TemporaryDirectory() as copies:
        for path in home.iterdir():
            shutil.copy(path, copies)
        store.close()
        for path in Path(copies).iterdir():
            shutil.copy(path, home)
    assert (home / "collections.db-wal").stat().st_size > 0


def copied(home: Path) -> None:
    """Leave the log without the file that describes it."""
    killed(home)
    (home / "collections.db-shm").unlink()


def read_only_mount(home: Path) -> tuple[str, ...]:
    command = (*UNSHARED, str(home))
    if (
        shutil.which("unshare") is None
        or subprocess.run([*command, "true"], check=False).returncode
    ):
        pytest.skip("This machine does not let a test mount a volume.")
    return command


def other_user(home: Path) -> tuple[str, ...]:
    """Return the command that runs another as somebody who may not write there."""
    if sys.platform == "win32":
        pytest.skip("Rights are others there.")
    home.chmod(0o555)
    for path in home.iterdir():
        path.chmod(0o444)
    if os.getuid():
        return ()
    command = ("setpriv", f"--reuid={NOBODY}", "--clear-groups")
    run = [*command, sys.executable, "-c", "import collection_search"]
    if shutil.which("setpriv") is None or subprocess.run(run, check=False).returncode:
        pytest.skip("No other user can run this.")
    return command


def read_in(home: Path, command: tuple[str, ...]) -> str:
    call = [*command, sys.executable, "-c", READER, str(home)]
    ended = subprocess.run(call, capture_output=True, text=True, check=False, cwd=Path.cwd())
    assert ended.returncode == 0, ended.stderr
    return ended.stdout


@pytest.mark.slow
@pytest.mark.parametrize("left", [closed, killed])
@pytest.mark.parametrize("way", [read_only_mount, other_user])
def test_it_is_searched(
    home: Path, left: Callable[[Path], None], way: Callable[[Path], tuple[str, ...]]
) -> None:
    """With and without a write-ahead log beside the file."""
    left(home)
    before = {path.name: path.read_bytes() for path in home.glob("*.db*")}
    said = read_in(home, way(home)).splitlines()
    assert said[:2] == ["Green tea.", "1 None"]
    assert said[2].startswith("refused: The store is read-only: ")
    assert {path.name: path.read_bytes() for path in home.glob("*.db*")} == before


@pytest.mark.slow
@pytest.mark.parametrize("way", [read_only_mount, other_user])
def test_changes_that_cannot_be_read_are_not_left_out(
    home: Path, way: Callable[[Path], tuple[str, ...]]
) -> None:
    """Without the file that describes the log, the database alone may be half of a change."""
    copied(home)
    said = read_in(home, way(home))
    assert said.startswith("unreadable: ")
    assert "Open it once where it can be written" in said


@pytest.fixture
def unwritable(monkeypatch: pytest.MonkeyPatch) -> None:
    """SQLite cannot make its files beside the database."""

    def refuse(path: Path, way: Any, timeout_s: float) -> sqlite3.Connection:
        if way == "rw":
            raise sqlite3.OperationalError("unable to open database file")
        return connect(path, way, timeout_s)

    monkeypatch.setattr(database, "connect", refuse)


def test_every_reading_works(tmp_path: Path, request: pytest.FixtureRequest) -> None:
    """Every write is refused with the way out, by one type of error."""
    closed(tmp_path)
    request.getfixturevalue("unwritable")
    store = SQLiteStore(tmp_path / "collections.db")
    assert [one.documents for one in store.collections.collections("local")] == [1]
    assert store.collections.search(SCOPE, "tea", vector=axes(1), filters={"is_pdf": False})
    assert store.ledger.sweep() == 0
    assert store.ledger.claim("worker", lease_s=15) is None
    for write in (
        lambda: store.staging.put("local", ["text"]),
        lambda: store.collections.delete_tenant("local"),
        store.collections.compact,
    ):
        with pytest.raises(ReadOnlyStoreError, match="COLLECTION_SEARCH_HOME"):
            write()
    store.close()


def test_an_older_file_is_named(tmp_path: Path, request: pytest.FixtureRequest) -> None:
    """It would have to be migrated first."""
    closed(tmp_path)
    with sqlite3.connect(tmp_path / "collections.db") as connection:
        connection.execute("PRAGMA user_version = 2")
    connection.close()
    request.getfixturevalue("unwritable")
    with pytest.raises(StoreError, match=r"earlier version .* read-only"):
        SQLiteStore(tmp_path / "collections.db")


def test_a_missing_file_is_an_error(tmp_path: Path, request: pytest.FixtureRequest) -> None:
    """Nothing is there to be read."""
    request.getfixturevalue("unwritable")
    with pytest.raises(StoreError, match="cannot be opened for writing"):
        SQLiteStore.from_settings(Settings(home=tmp_path))


@pytest.fixture
def free(monkeypatch: pytest.MonkeyPatch) -> SimpleNamespace:
    """The free bytes of the disk, of which a test can take all."""
    usage = SimpleNamespace(free=10**9)
    monkeypatch.setattr(disk_room.shutil, "disk_usage", lambda _: usage)
    return usage


@pytest.mark.parametrize(
    "said", ["attempt to write a readonly database", "unable to open database file"]
)
def test_a_full_disk_is_no_missing_right(home: Path, free: SimpleNamespace, said: str) -> None:
    """SQLite says the same of both: the free bytes tell them apart."""
    error, path = sqlite3.OperationalError(said), home / "collections.db"
    assert "right to write" in str(translate_failure(path, error))
    free.free = 0
    told = translate_failure(path, error)
    assert str(told).startswith(f"The disk of {path} is full")
    assert "right to write" not in str(told)
    assert (told.retryable, isinstance(told, ReadOnlyStoreError)) == (True, False)


def test_a_store_on_a_full_disk_is_searched_and_writes_again_later(
    home: Path, free: SimpleNamespace, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It was opened for reading alone; the same process writes once there is room."""
    closed(home)
    free.free = 0
    full = sqlite3.OperationalError("unable to open database file")
    with monkeypatch.context() as patched:
        patched.setattr(database.Database, "_prepare", Mock(side_effect=full))
        store = SQLiteStore(home / "collections.db")
    assert store.collections.search(SCOPE, "tea")
    with pytest.raises(StoreError, match="Free space there"):
        store.collections.delete_collection(SCOPE)
    free.free = 10**9
    assert store.collections.delete_collection(SCOPE) == 1
    assert store.collections.collections("local") == []
    store.close()
