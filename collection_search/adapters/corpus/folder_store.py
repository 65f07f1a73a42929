"""The store of the user's folders with the texts of their pages.

It is a separate file, so that a damaged or outdated index can be deleted and rebuilt from it.
"""

from __future__ import annotations

import os
import sqlite3
import uuid
import zlib
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from ...errors import StoreError
from ...runtime.disk_room import full_disk_text, tells_full_disk
from ...runtime.file_presence import has_file
from ...runtime.private_files import create_private
from ...text.clean import to_unicode
from .entry import CorpusPage
from .index import open_read_only

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

_TABLES: Final = (
    "revision (text TEXT NOT NULL)",
    "folder (name TEXT PRIMARY KEY, path TEXT NOT NULL, base TEXT NOT NULL)",
    """page (folder TEXT NOT NULL, url TEXT NOT NULL, title TEXT NOT NULL, text BLOB NOT NULL,
             PRIMARY KEY (folder, url))""",
)


@dataclass(frozen=True, slots=True)
class Folder:
    """A folder of the corpus, as it was when it was added."""

    name: str
    path: Path
    base_url: str
    """Base address of its files."""
    pages: int


class FolderStore:
    """A store of folders. Its write lock also protects the index.

    Every method raises StoreError when the file cannot be read or written, ConfigError where this
    user may not even look for it.
    """

    def __init__(self, path: Path, *, lock_wait_s: float = 120.0) -> None:
        self._path = path
        self._lock_wait_s = lock_wait_s

    def revision(self) -> str:
        """Return a text that changes with the folders; it is empty before the first change."""
        return "".join(text for (text,) in self._rows("SELECT text FROM revision"))

    def folders(self) -> list[Folder]:
        """Return the folders, sorted by name."""
        rows = self._rows(
            """SELECT name, path, base, count(url) FROM folder
               LEFT JOIN page ON page.folder = folder.name GROUP BY name ORDER BY name"""
        )
        return [Folder(name, Path(os.fsdecode(path)), *facts) for name, path, *facts in rows]

    def pages(self) -> list[CorpusPage]:
        """Return the pages of all folders."""
        rows = self._rows("SELECT url, title, text FROM page ORDER BY folder, url")
        return [CorpusPage(url, title, zlib.decompress(text).decode()) for url, title, text in rows]

    def put(self, name: str, path: Path, base_url: str, pages: Sequence[CorpusPage]) -> None:
        """Store a folder; an older one with the same name is replaced."""
        rows = [
            (name, page.url, to_unicode(page.title), zlib.compress(to_unicode(page.text).encode()))
            for page in pages
        ]
        with self.locked() as db:
            db.execute("DELETE FROM page WHERE folder = ?", (name,))
            db.execute("REPLACE INTO folder VALUES (?, ?, ?)", (name, os.fsencode(path), base_url))
            db.executemany("REPLACE INTO page VALUES (?, ?, ?, ?)", rows)
            _renew_revision(db)

    def remove(self, name: str) -> None:
        """Delete a folder and its pages."""
        with self.locked() as db:
            db.execute("DELETE FROM page WHERE folder = ?", (name,))
            db.execute("DELETE FROM folder WHERE name = ?", (name,))
            _renew_revision(db)

    @contextmanager
    def locked(self) -> Iterator[sqlite3.Connection]:
        """Hold the write lock. Others can read; it is released when its process ends."""
        wait_s = self._lock_wait_s
        create_private(self._path)
        with (
            self._store_errors(),
            closing(sqlite3.connect(self._path, timeout=wait_s, isolation_level=None)) as db,
        ):
            db.execute("BEGIN IMMEDIATE")
            for table in _TABLES:
                db.execute(f"CREATE TABLE IF NOT EXISTS {table}")
            yield db
            db.execute("COMMIT")

    def _rows(self, query: str) -> list[tuple[Any, ...]]:
        if not has_file(self._path):
            return []
        with self._store_errors(), closing(open_read_only(self._path)) as db:
            exists = db.execute("SELECT 1 FROM sqlite_master WHERE name = 'revision'").fetchone()
            return db.execute(query).fetchall() if exists else []

    @contextmanager
    def _store_errors(self) -> Iterator[None]:
        try:
            yield
        except sqlite3.Error as error:
            if "locked" in str(error):
                raise StoreError(
                    f"Another process has been changing {self._path} for {self._lock_wait_s:g} s. "
                    "Try again when it is done."
                ) from error
            if tells_full_disk(str(error), self._path):
                raise StoreError(full_disk_text(self._path), retryable=True) from error
            raise StoreError(
                f"The list of added folders, {self._path}, cannot be used ({error}). "
                "If it is damaged, delete it and add the folders again."
            ) from error


def _renew_revision(db: sqlite3.Connection) -> None:
    db.execute("DELETE FROM revision")
    db.execute("INSERT INTO revision VALUES (?)", (uuid.uuid4().hex,))
