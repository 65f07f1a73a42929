"""What the product writes about its user belongs to its user alone."""

from __future__ import annotations

import asyncio
import os
import sys
from typing import TYPE_CHECKING

import pytest
from support.offline_index import write_index

from collection_search.adapters.checkpoints.sqlite import SQLiteCheckpoints
from collection_search.adapters.corpus.folder_store import FolderStore
from collection_search.adapters.stores.sqlite import SQLiteStore
from collection_search.adapters.stores.sqlite.usage import SQLiteUsage
from collection_search.runtime.private_files import create_private
from collection_search.settings import Settings

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="rights are inherited there")


@pytest.fixture(autouse=True)
def _others_may_read() -> Iterator[None]:
    """Files are readable for everybody unless the product says otherwise."""
    before = os.umask(0o022)
    yield
    os.umask(before)


def modes_in(folder: Path) -> dict[str, int]:
    return {path.name: path.stat().st_mode & 0o777 for path in folder.iterdir()}


def test_every_database_is_its_owners(tmp_path: Path) -> None:
    """The folder, each file, and what SQLite writes beside it."""
    settings = Settings(home=tmp_path / "home")
    store, usage = SQLiteStore.from_settings(settings), SQLiteUsage.from_settings(settings)
    store.staging.put("local", ["text"])
    usage.put("local", "search", "key", b"answer")
    usage.flush()

    async def checkpoints() -> None:
        async with SQLiteCheckpoints.from_settings(settings).open():
            pass

    asyncio.run(checkpoints())
    folders = FolderStore(settings.home / "folders.db")
    folders.put("mine", tmp_path, "https://e.com/", [])
    write_index(settings.corpus_path, "print", [])
    assert settings.home.stat().st_mode & 0o777 == 0o700
    modes = modes_in(settings.home)
    databases = {"collections.db", "usage.db", "checkpoints.db", "folders.db"}
    databases.add(settings.corpus_path.name)
    assert databases | {"collections.db-wal", "collections.db-shm", "usage.db-wal"} <= set(modes)
    assert set(modes.values()) == {0o600}, modes
    store.close()
    usage.close()


def test_an_operators_choice_stays(tmp_path: Path) -> None:
    """A folder and a file that were there keep their modes; the log beside takes the file's."""
    home = tmp_path / "home"
    home.mkdir(mode=0o755)
    SQLiteStore(home / "collections.db").close()
    (home / "collections.db").chmod(0o640)
    store = SQLiteStore.from_settings(Settings(home=home))
    store.staging.put("local", ["text"])
    assert home.stat().st_mode & 0o777 == 0o755
    assert set(modes_in(home).values()) == {0o640}
    store.close()


def test_a_file_that_is_there_keeps_its_content(tmp_path: Path) -> None:
    """And where nothing can be made, whoever opens the file says why."""
    path = tmp_path / "file"
    path.write_text("content")
    create_private(path)
    assert path.read_text() == "content"
    create_private(tmp_path / "missing" / "file")
