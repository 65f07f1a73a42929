"""Cached answers: a queue that a thread writes into the database."""

from __future__ import annotations

import hashlib
import logging
import os
import threading
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final
from weakref import WeakValueDictionary

from ....errors import StoreError
from ....runtime.failure_log import log_failure
from ....runtime.write_behind import write_behind
from .answer_keys import KeyIndex
from .deletion_marks import NOT_DELETED, values_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from ....ports.usage import Payload
    from .connection import Database

    Place = tuple[str, str, str]
    MakeRoom = Callable[[Any, int, int], None]
    """Deletes old answers where new ones of so many bytes would pass a limit."""

LINGER_S: Final = 0.05
"""Wait before a write, so that one transaction writes many answers."""
RUN_S: Final = 0.5
"""The same for those of a run: its end flushes them earlier, all in one."""
CHECKS: Final = 100
"""The file's size is looked at after each hundredth of its limit."""
MAX_QUEUED: Final = 8_192
"""Answers that may wait; those of searches take 20 to 50 MB."""

_PUT: Final = f"""
    INSERT INTO answers (tenant_id, kind, key_hash, payload, stored_at)
    SELECT ?, ?, ?, ?, ? WHERE {NOT_DELETED}
    ON CONFLICT (tenant_id, kind, key_hash)
    DO UPDATE SET payload = excluded.payload, stored_at = excluded.stored_at
"""

logger = logging.getLogger(__name__)


def hash_key(key: str) -> bytes:
    """Return what a key is stored by: keys hold queries, which are private and long."""
    return hashlib.sha256(key.encode("utf-8", "surrogatepass")).digest()


@dataclass(frozen=True, slots=True, eq=False)
class Queued:
    """An answer that is not in the file yet."""

    payload: Payload
    stored_at: float
    began_at: float
    """When the run began that was answered."""

    def made(self) -> bytes | None:
        """Return the payload as bytes, None when encoding fails."""
        try:
            return self.payload() if callable(self.payload) else self.payload
        except Exception as error:  # noqa: BLE001 - an adapter's answer may have any form
            log_failure(logger, "An answer cannot be written down", error)
            return None


class AnswerQueue:
    """The answers that wait for one file, from all stores of this process.

    `put` and `known` do not wait for the disk. Failed writes are logged, the first of a series as
    a warning, and their answers are lost. Waiting answers are written when the process ends.
    """

    def __init__(self, name: str, database: Database, make_room: MakeRoom, max_bytes: int) -> None:
        self._name, self._database, self._make_room = name, database, make_room
        self._max_bytes = max_bytes
        self._is_failing = False
        self.reset()

    @classmethod
    def of(cls, name: str, database: Database, make_room: MakeRoom, max_bytes: int) -> AnswerQueue:
        """Return the queue of the database of this name; the smallest limit of its size counts."""
        with _lock:
            if (known := _queues.get(name)) is None:
                known = _queues[name] = cls(name, database, make_room, max_bytes)
            known._max_bytes = min(known._max_bytes, max_bytes)
        return known

    def reset(self) -> None:
        """Start empty: in a forked child, whose parent writes the waiting answers."""
        self._rows: dict[Place, Queued] = {}
        self._changing = threading.Lock()
        self._writing = threading.Lock()
        self._index = KeyIndex(self._database)
        self._is_asked = False
        self._unchecked = self._max_bytes
        """Bytes since the last look at the file's size: the first write looks at once."""

    def put(
        self,
        tenant_id: str,
        kind: str,
        payloads: Mapping[str, Payload],
        *,
        stored_at: float,
        began_at: float | None = None,
        within_s: float,
    ) -> None:
        """Queue the payloads; beyond `MAX_QUEUED` they are dropped with a warning.

        Those of a run that began before its tenant was deleted are not written.
        """
        began_at = stored_at if began_at is None else began_at
        rows = {
            (tenant_id, kind, key): Queued(one, stored_at, began_at)
            for key, one in payloads.items()
        }
        with self._changing:
            has_room = len(self._rows) + len(rows) <= MAX_QUEUED
            if has_room:
                self._rows.update(rows)
        if has_room:
            write_behind().call_within(within_s, self._work)
        else:
            self._complain(StoreError(f"{MAX_QUEUED} answers wait for {self._name}."))

    def lacks(self, tenant_id: str, kind: str, keys: Sequence[str]) -> bool:
        """Return whether none of the keys can be found; False also when that is not known."""
        if self._index.is_stale and not self._is_asked:
            self._is_asked = True
            write_behind().call_within(RUN_S, self._work)
        if any((tenant_id, kind, key) in self._rows for key in keys):
            return False
        return self._index.lacks(map(hash_key, keys))

    def known(
        self, tenant_id: str, kind: str, keys: Iterable[str], *, oldest: float
    ) -> dict[str, bytes]:
        """Return the waiting payloads that were stored after `oldest`, by key."""
        if not self._rows:
            return {}
        with self._changing:
            rows = {key: self._rows.get((tenant_id, kind, key)) for key in keys}
        made = {key: row.made() for key, row in rows.items() if row and row.stored_at > oldest}
        return {key: payload for key, payload in made.items() if payload is not None}

    def flush(self) -> None:
        """Write all waiting answers, or log why that failed."""
        with self._writing:
            with self._changing:
                rows = dict(self._rows)
            try:
                self._write(rows)
            except Exception as error:  # noqa: BLE001 - it must not end the thread
                self._complain(error)
            else:
                self._is_failing = False
            with self._changing:
                for place, row in rows.items():
                    if self._rows.get(place) is row:
                        del self._rows[place]
                if not self._rows and not self._is_asked:
                    write_behind().cancel(self._work)

    def close(self) -> None:
        """Write the waiting answers; do not open the file again before the next call."""
        self.flush()
        self._is_asked = False

    def _write(self, queued: Mapping[Place, Queued]) -> None:
        rows = [
            (
                *(tenant_id, kind, hash_key(key), payload, row.stored_at),
                *values_of(tenant_id, row.began_at, row.stored_at),
            )
            for (tenant_id, kind, key), row in queued.items()
            if (payload := row.made()) is not None
        ]
        if not rows:
            return
        size = sum(len(row[3]) for row in rows)
        self._unchecked += size
        if self._unchecked > self._max_bytes // CHECKS:
            self._make_room(self._database, size, self._max_bytes)
            self._unchecked = 0
        with self._database.write(None) as connection:
            connection.executemany(_PUT, rows)
        self._index.add(row[2] for row in rows)

    def _work(self) -> None:
        self.flush()
        if not self._is_asked:
            return
        self._is_asked = False
        try:
            with self._writing:
                self._index.read_on()
        except StoreError as error:  # a read of answers reports it
            log_failure(logger, "The keys of answers cannot be read", error, level=logging.DEBUG)

    def _complain(self, error: Exception) -> None:
        level = logging.DEBUG if self._is_failing else logging.WARNING
        self._is_failing = True
        log_failure(logger, "Answers cannot be written down", error, level=level)


_lock = threading.Lock()
_queues: Final[WeakValueDictionary[str, AnswerQueue]] = WeakValueDictionary()


def _reset_all() -> None:
    global _lock  # noqa: PLW0603 - a thread that the child lacks may hold it
    _lock = threading.Lock()
    for queue in list(_queues.values()):
        queue.reset()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_reset_all)
