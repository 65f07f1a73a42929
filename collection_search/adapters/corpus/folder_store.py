"""The user's folders with the texts of their pages: what the index cannot be rebuilt from.

A file of its own beside the index, so that a damaged or outdated index can be thrown away.
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
    """A folder that was added, as it was read at that time."""

    name: str
    path: Path
    base_url: str
    """Address below which its files stand."""
    pages: int


class FolderStore:
    """Keeps the folders; its write lock is the lock under which the whole corpus changes.

    Every method raises StoreError when the file cannot be read or written.
    """

    def __init__(self, path: Path, *, lock_wait_s: float = 120.0) -> None:
        self._path = path
        self._lock_wait_s = lock_wait_s

    def revision(self) -> str:
        """Return a text that changes with every change of the folders; empty before the first."""
        return "".join(text for (text,) in self._rows("SELECT text FROM revision"))

    def folders(self) -> list[Folder]:
        """Return the folders by name."""
        rows = self._rows(
            """SELECT name, path, base, count(url) FROM folder
               LEFT JOIN page ON page.folder = folder.name GROUP BY name ORDER BY name"""
        )
        return [
            Folder(name, Path(os.fsdecode(path)), base, pages) for name, path, base, pages in rows
        ]

    def pages(self) -> list[CorpusPage]:
        """Return the pages of all folders."""
        rows = self._rows("SELECT url, title, text FROM page ORDER BY folder, url")
        return [CorpusPage(url, title, zlib.decompress(text).decode()) for url, title, text in rows]

    def put(self, name: str, path: Path, base_url: str, pages: Sequence[CorpusPage]) -> None:
        """Store a folder in place of the one of that name."""
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
        """Forget a folder and its pages."""
        with self.locked() as db:
            db.execute("DELETE FROM page WHERE folder = ?", (name,))
            db.execute("DELETE FROM folder WHERE name = ?", (name,))
            _renew_revision(db)

    @contextmanager
    def locked(self) -> Iterator[sqlite3.Connection]:
        """Hold the lock; it ends with its process. Others wait for it and may read meanwhile."""
        with (
            self._errors_told(),
            closing(
                sqlite3.connect(self._path, timeout=self._lock_wait_s, isolation_level=None)
            ) as db,
        ):
            db.execute("BEGIN IMMEDIATE")
            for table in _TABLES:
                db.execute(f"CREATE TABLE IF NOT EXISTS {table}")
            yield db
            db.execute("COMMIT")

    def _rows(self, query: str) -> list[tuple[Any, ...]]:
        if not self._path.exists():
            return []
        with self._errors_told(), closing(open_read_only(self._path)) as db:
            exists = db.execute("SELECT 1 FROM sqlite_master WHERE name = 'revision'").fetchone()
            return db.execute(query).fetchall() if exists else []

    @contextmanager
    def _errors_told(self) -> Iterator[None]:
        try:
            yield
        except sqlite3.Error as error:
            if "locked" in str(error):
                raise StoreError(
                    f"Another process has been changing {self._path} for {self._lock_wait_s:g} s. "
                    "Try again when it is done."
                ) from error
            raise StoreError(
                f"The list of added folders, {self._path}, cannot be used ({error}). "
                "If it is damaged, delete it and add the folders again."
            ) from error


def _renew_revision(db: sqlite3.Connection) -> None:
    db.execute("DELETE FROM revision")
    db.execute("INSERT INTO revision VALUES (?)", (uuid.uuid4().hex,))
