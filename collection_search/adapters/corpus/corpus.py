"""The offline corpus: pages of the running Python and of the user's folders in one index."""

from __future__ import annotations

import gc
import hashlib
import logging
import math
import os
import sqlite3
import sys
import threading
import time
from contextlib import contextmanager, suppress
from functools import cached_property
from typing import TYPE_CHECKING, Final

from ...errors import ConfigError, InputError, StoreError
from ..crawl.extract.formats import KINDS
from . import docs_page_map as pages
from . import index, packages, python_docs
from .entry import CorpusSource, KeyedReader
from .folder import base_address, folder_name, read_folder, validate_name
from .folder_store import Folder, FolderStore

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from pathlib import Path

    from ...settings import Settings
    from .entry import CorpusPage, Reader, ReadProgress
    from .index import Hit

READING: Final = 1
"""Increase it when pages are read differently: indexes are then rebuilt."""

_DAY_S: Final = 24 * 3600.0
OLD_S: Final = 90 * _DAY_S
"""Time without use after which the index of another environment is deleted.

To build it again takes seconds.
"""

_log = logging.getLogger(__name__)


def python_source() -> CorpusSource:
    """Return the source for the running Python and its installed packages.

    A package's pages are read again when it changes, not when others do.
    """
    folders = packages.site_folders()
    reading = f"{READING} {pages.table_version()} {sys.version}"
    facts = [reading, *packages.list_installed(folders)]

    def readers() -> list[Reader]:
        found = [*python_docs.python_readers(), *packages.package_readers(folders)]
        return [KeyedReader(f"{reading} {one.key}", one.read) for one in found]

    return CorpusSource(hashlib.sha256("\n".join(facts).encode()).hexdigest(), readers)


class Corpus:
    """The corpus with its index, which is built when it is missing or out of date.

    Threads and processes may use it at once: one of them builds, the others wait. Raises
    ConfigError when the data folder cannot be written, StoreError when a file in it is unusable.

    Each Python environment has an index of its own. One that was not used for 90 days is deleted
    when another one is built, and all others are when a folder is removed.
    """

    def __init__(self, settings: Settings, source: CorpusSource | None = None) -> None:
        self._settings = settings
        self._given_source = source
        self._path = settings.corpus_path
        self._store = FolderStore(self._path.with_name("corpus-folders.db"))
        self._lock = threading.Lock()
        self._is_fresh = False

    def prepare(self, progress: ReadProgress | None = None) -> None:
        """Build the index if it is missing or out of date; `progress` counts the pages."""
        with self._lock:
            if self._is_fresh:
                return
            if self._is_outdated():
                self._build(progress, self._is_outdated)
            else:
                self._note_use()
            self._is_fresh = True

    def search(self, question: str, limit: int) -> list[Hit]:
        """Return up to `limit` pages, most relevant first. A damaged index is rebuilt."""
        self.prepare()
        stamp = self._stamp()
        try:
            return index.search_index(self._path, question, limit)
        except index.DAMAGE as error:
            _log.warning("The offline corpus cannot be read and is built anew: %s", error)
        with self._lock:
            self._build(None, lambda: self._stamp() == stamp, anew=True)
        return index.search_index(self._path, question, limit)

    def folders(self) -> list[Folder]:
        """Return the user's folders, sorted by name."""
        return self._store.folders()

    def add_folder(
        self,
        path: Path,
        *,
        name: str | None = None,
        base_url: str | None = None,
        progress: ReadProgress | None = None,
    ) -> tuple[Folder, dict[str, str]]:
        """Store a folder's pages; return the folder and the files left out, each with the reason.

        A folder that was added before is read again. Raises InputError, without any change, when
        no file can be used or when the name is taken.
        """
        try:
            path = path.expanduser().resolve()
        except RuntimeError as error:
            raise InputError(f"The folder {path} cannot be found. {error}") from error
        name = self._name_for(path, name)
        base = base_address(name, base_url)
        content = read_folder(path, base, progress)
        if not content.pages:
            raise InputError(_nothing_found(path, content.left_out))
        self._settings.prepared_home()
        self._store.put(name, path, base, content.pages)
        self._is_fresh = False
        return Folder(name, path, base, len(content.pages)), content.left_out

    def remove_folder(self, name: str) -> None:
        """Remove a folder from the corpus, not its files. Raises InputError for an unknown name.

        The indexes of other environments, which have its pages too, are deleted.
        """
        known = [folder.name for folder in self.folders()]
        if name not in known:
            names = ", ".join(known) or "none was added"
            raise InputError(f"No folder is called {name!r}. Known: {names}.")
        self._store.remove(name)
        self._is_fresh = False
        with self._store.locked():
            self._delete_others(unused_since=math.inf)

    def _name_for(self, path: Path, name: str | None) -> str:
        folders = self.folders()
        if name is None:
            known = (folder.name for folder in folders if folder.path == path)
            name = next(known, folder_name(path))
        for folder in folders:
            if folder.name == name and folder.path != path:
                text = f"The name {name!r} is taken by {folder.path}. Choose another with --name."
                raise InputError(text)
        return validate_name(name)

    @cached_property
    def _source(self) -> CorpusSource:
        return self._given_source or python_source()

    def _is_outdated(self) -> bool:
        return index.read_fingerprint(self._path) != self._fingerprint()

    def _fingerprint(self) -> str:
        return f"{index.VERSION} {self._source.fingerprint} {self._store.revision()}"

    def _stamp(self) -> tuple[int, int] | None:
        """Return a value that differs for every index file."""
        try:
            status = self._path.stat()
        except OSError:
            return None
        return status.st_ino, status.st_mtime_ns

    def _build(
        self,
        progress: ReadProgress | None,
        is_needed: Callable[[], bool],
        *,
        anew: bool = False,
    ) -> None:
        """Build the index unless another process has built it during the wait for the lock.

        Pages that are in it are kept, unless it is built `anew`.
        """
        self._settings.prepared_home()
        with self._store.locked():
            if not is_needed():
                return
            try:
                with _collector_paused():
                    self._write(progress, anew=anew)
                self._delete_others(unused_since=time.time() - OLD_S)
            except (OSError, sqlite3.Error) as error:
                if "fts5" in str(error):
                    raise ConfigError(
                        "The SQLite of this Python has no full-text search (FTS5). Use another "
                        "build of Python, or set COLLECTION_SEARCH_PROVIDER to another provider."
                    ) from error
                raise StoreError(
                    f"The offline corpus {self._path} cannot be written ({error}). "
                    "Make room, or set COLLECTION_SEARCH_HOME to another folder."
                ) from error

    def _note_use(self) -> None:
        """Set the time of the last access, which some file systems do not keep."""
        with suppress(OSError):  # a folder that may not be written is used all the same
            status = self._path.stat()
            if status.st_atime < time.time() - _DAY_S:
                os.utime(self._path, ns=(time.time_ns(), status.st_mtime_ns))

    def _delete_others(self, *, unused_since: float) -> None:
        """Delete other environments' indexes that were not used since then, and their drafts."""
        for path in self._path.parent.glob("corpus.*db*"):
            with suppress(OSError):  # another process deletes it, or reads it under Windows
                status = path.stat()
                used = max(status.st_atime, status.st_mtime)
                if not path.name.startswith(self._path.name) and used < unused_since:
                    path.unlink()

    def _write(self, progress: ReadProgress | None, *, anew: bool) -> None:
        """Write the user's pages, then those of the source; the first page of an address counts."""
        readers = [*map(_folder_reader, self._store.pages()), *self._source.readers()]
        if not anew and index.can_be_updated(index.read_fingerprint(self._path)):
            with suppress(index.OverlappingPagesError, *index.DAMAGE):
                self._fill(readers, progress, keeps_pages=True)
                return
        self._fill(readers, progress, keeps_pages=False)

    def _fill(
        self, readers: Sequence[Reader], progress: ReadProgress | None, *, keeps_pages: bool
    ) -> None:
        with index.draft_of(self._path, self._fingerprint(), keeps_pages=keeps_pages) as draft:
            known = draft.keep(
                {reader.key for reader in readers if isinstance(reader, KeyedReader)}
            )
            missing = [one for one in readers if _key_of(one) not in known]
            for done, reader in enumerate(missing, start=1):
                draft.add(_read(reader), _key_of(reader))
                if progress:
                    progress(done, len(missing))


@contextmanager
def _collector_paused() -> Iterator[None]:
    """Switch the cyclic garbage collector off: syntax trees have many objects, but no cycles.

    In a large process the collector would take as long as the build itself.
    """
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_enabled:
            gc.enable()


def _folder_reader(page: CorpusPage) -> Reader:
    said = f"{page.url}\n{page.title}\n{page.text}"
    return KeyedReader(hashlib.sha256(said.encode(errors="replace")).hexdigest(), lambda: page)


def _key_of(reader: Reader) -> str | None:
    return reader.key if isinstance(reader, KeyedReader) else None


def _read(reader: Reader) -> CorpusPage | None:
    try:
        return reader()
    except Exception as error:  # noqa: BLE001 - a broken package must not stop the build
        _log.warning("A page of the offline corpus is left out: %s", error)
        return None


def _nothing_found(path: Path, left_out: dict[str, str]) -> str:
    message = f"{path} has no file that can be indexed ({', '.join(KINDS)})."
    if not left_out:
        return message
    file, reason = next(iter(left_out.items()))
    return f"{message} {len(left_out)} left out, for instance {file}: {reason}"
