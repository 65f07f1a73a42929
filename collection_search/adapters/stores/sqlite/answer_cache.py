"""Remembered answers of a SQLite file: those that a thread writes soon, and which ones it has."""

from __future__ import annotations

import logging
import math
import os
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final
from weakref import WeakValueDictionary

from ....errors import StoreError
from ....text.redaction import redact_error

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence
    from pathlib import Path

    from ....ports.usage import Payload
    from .database import Database

    Place = tuple[str, str, str]
    Row = tuple[str, str, bytes, bytes, float]

LINGER_S: Final = 0.05
"""Until then who asked has the answer, and what else there is to write has come."""
MAX_QUEUED: Final = 8_192
"""Of 1536 numbers each they take 50 MB."""
FRESH_S: Final = 5.0
"""What another process has written in this time may be asked for again."""
_STALE_S: Final = 1.0
"""An index of that age is read on while it is still used."""
_RELOAD_S: Final = 300.0
"""Then the index begins anew, without what has been deleted."""
MAX_INDEXED: Final = 50_000
"""Of more rows, which take 5 MB, there is no index for a while."""

logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True, eq=False)
class Queued:
    """An answer that is not in the file yet."""

    payload: Payload
    stored_at: float

    def made(self) -> bytes | None:
        """Return the payload, None where it cannot be made."""
        try:
            return self.payload() if callable(self.payload) else self.payload
        except Exception as error:  # of an adapter's answer that is not what it should be
            logger.warning("An answer cannot be written down.", exc_info=redact_error(error))
            return None


class KeyIndex:
    """Which keys the file has, as of a moment ago: a look at the file costs a run half a ms."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._hashes: set[bytes] = set()
        self._last_id = 0
        self._read_at = self._loaded_at = self._due = -math.inf

    @property
    def is_stale(self) -> bool:
        """True when it is time to read on."""
        return time.monotonic() > self._due

    def lacks(self, hashes: Iterable[bytes]) -> bool:
        """Return whether the file has none of them; False also where that is not known."""
        known = self._hashes  # first: it may be another set in a moment
        return time.monotonic() - self._read_at < FRESH_S and known.isdisjoint(hashes)

    def add(self, hashes: Iterable[bytes]) -> None:
        """Note what this process has written."""
        self._hashes.update(hashes)

    def read_on(self) -> None:
        """Note what came since. Raises StoreError."""
        now = time.monotonic()
        is_anew = now - self._loaded_at > _RELOAD_S
        known, last_id = (set(), 0) if is_anew else (self._hashes, self._last_id)
        with self._database.read() as connection:
            rows = connection.execute(_KEYS, (last_id, MAX_INDEXED + 1)).fetchall()
        known.update(key_hash for _, key_hash in rows)
        if is_anew:
            self._loaded_at = now
        if max(len(rows), len(known)) <= MAX_INDEXED:
            self._hashes, self._last_id = known, rows[-1][0] if rows else last_id
            self._read_at, self._due = now, now + _STALE_S
        else:
            self._read_at, self._due = -math.inf, now + _RELOAD_S
            self._hashes, self._last_id = set(), 0


class AnswerQueue:
    """The answers that wait for one file, whichever store of this process brought them.

    `put` and `known` wait for no disk. Failures to write are logged, the first of a series as a
    warning: its answers are asked for again. When the process ends, what waits is written.
    """

    def __init__(self, database: Database, insert: str, hashed: Callable[[str], bytes]) -> None:
        self._database, self._insert, self._hashed = database, insert, hashed
        self._is_failing = False
        self.reset()

    @classmethod
    def of(cls, database: Database, insert: str, hashed: Callable[[str], bytes]) -> AnswerQueue:
        """Return the queue of the database's file."""
        path = database.path.resolve()
        with _lock:
            if (known := _queues.get(path)) is None:
                known = _queues[path] = cls(database, insert, hashed)
        return known

    def reset(self) -> None:
        """Begin anew with nothing: in a forked child, whose parent writes what waits."""
        self._rows: dict[Place, Queued] = {}
        self._changing = threading.Lock()
        self._writing = threading.Lock()
        self._writer = ThreadPoolExecutor(1, "answers")  # the process ends after it, also a child
        self._is_due = False
        self._index = KeyIndex(self._database)
        self._is_asked = False

    def put(
        self, tenant_id: str, kind: str, payloads: Mapping[str, Payload], *, stored_at: float
    ) -> None:
        """Take the payloads; beyond `MAX_QUEUED` they are dropped with a warning."""
        rows = {
            (tenant_id, kind, key): Queued(payload, stored_at) for key, payload in payloads.items()
        }
        with self._changing:
            has_room = len(self._rows) + len(rows) <= MAX_QUEUED
            if has_room:
                self._rows.update(rows)
        if has_room:
            self._wake()
        else:
            self._complain(StoreError(f"{MAX_QUEUED} answers wait for {self._database.path}."))

    def lacks(self, tenant_id: str, kind: str, keys: Sequence[str]) -> bool:
        """Return whether none of the keys can be found; False also where that is not known."""
        if self._index.is_stale and not self._is_asked:
            self._is_asked = True
            self._wake()
        if any((tenant_id, kind, key) in self._rows for key in keys):
            return False
        return self._index.lacks(map(self._hashed, keys))

    def known(
        self, tenant_id: str, kind: str, keys: Iterable[str], *, oldest: float
    ) -> dict[str, bytes]:
        """Return what waits and is younger than that."""
        if not self._rows:
            return {}
        with self._changing:
            rows = {key: self._rows.get((tenant_id, kind, key)) for key in keys}
        made = {key: row.made() for key, row in rows.items() if row and row.stored_at > oldest}
        return {key: payload for key, payload in made.items() if payload is not None}

    def flush(self) -> None:
        """Return when all that waits is in the file, or has been complained about."""
        with self._writing:
            with self._changing:
                rows = dict(self._rows)
            try:
                self._write(self._told(rows))
            except Exception as error:  # noqa: BLE001 - it must not end the thread
                self._complain(error)
            else:
                self._is_failing = False
            with self._changing:
                for place, row in rows.items():
                    if self._rows.get(place) is row:
                        del self._rows[place]

    def close(self) -> None:
        """Write what waits; the file is left alone until it is asked for again."""
        self.flush()
        self._is_asked = False

    def _told(self, rows: Mapping[Place, Queued]) -> list[Row]:
        made = ((place, row.made(), row.stored_at) for place, row in rows.items())
        return [
            (tenant_id, kind, self._hashed(key), payload, stored_at)
            for (tenant_id, kind, key), payload, stored_at in made
            if payload is not None
        ]

    def _write(self, rows: Sequence[Row]) -> None:
        if not rows:
            return
        with self._database.write() as connection:
            connection.executemany(self._insert, rows)
        self._index.add(key_hash for _, _, key_hash, _, _ in rows)

    def _wake(self) -> None:
        """See to it that all is done in a moment."""
        if self._is_due:
            return
        self._is_due = True
        try:
            self._writer.submit(self._work)
        except RuntimeError:  # the process is about to end
            self._is_due = False
            self.flush()

    def _work(self) -> None:
        time.sleep(LINGER_S)
        self._is_due = False  # what comes from now on may be too late
        self.flush()
        if self._is_asked:
            self._is_asked = False
            self._read_on()

    def _read_on(self) -> None:
        try:
            with self._writing:
                self._index.read_on()
        except StoreError as error:  # whoever looks for an answer tells it
            logger.debug("Which answers are kept cannot be read.", exc_info=redact_error(error))

    def _complain(self, error: Exception) -> None:
        level = logging.DEBUG if self._is_failing else logging.WARNING
        self._is_failing = True
        logger.log(level, "Answers cannot be written down.", exc_info=redact_error(error))


_KEYS: Final = "SELECT id, key_hash FROM answers WHERE id > ? ORDER BY id LIMIT ?"

_lock = threading.Lock()
_queues: Final[WeakValueDictionary[Path, AnswerQueue]] = WeakValueDictionary()


def _begin_anew() -> None:
    global _lock  # noqa: PLW0603 - a thread that the child lacks may hold it
    _lock = threading.Lock()
    for queue in list(_queues.values()):
        queue.reset()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_begin_anew)
