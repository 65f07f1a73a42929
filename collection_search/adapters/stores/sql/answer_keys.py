"""The keys of cached answers in memory: most look-ups are for new questions, and need no file."""

from __future__ import annotations

import math
import time
from array import array
from bisect import bisect_left
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Iterable

    from .connection import Database

FRESH_S: Final = 5.0
"""Age up to which the index counts as complete; it may lack newer answers of other processes."""
_STALE_S: Final = 4.0
"""Age from which an index in use reads new keys."""
_RELOAD_S: Final = 300.0
"""Age from which the index is rebuilt, without deleted answers."""
MAX_INDEXED: Final = 2_000_000
"""Most rows of an index, which take 16 MB; with more there is none for a while."""
_STEP: Final = 10_000
"""Rows of one read."""
_BYTES: Final = 8
"""Of a key's hash in memory: two keys with the same ones only cost a look at the file."""
_KEYS: Final = (
    f"SELECT id, substr(key_hash, 1, {_BYTES}) FROM answers WHERE id > ? ORDER BY id LIMIT ?"
)


class KeyIndex:
    """The keys of the file as of a moment ago, since a read of the file takes half a ms."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._keys: tuple[array[int], set[bytes]] = array("Q"), set()
        """Those when the index was built, sorted, and those since then; always replaced as one."""
        self._last_id = 0
        self._read_at = self._loaded_at = self._due = -math.inf

    @property
    def is_stale(self) -> bool:
        """True when new keys should be read."""
        return time.monotonic() > self._due

    def lacks(self, hashes: Iterable[bytes]) -> bool:
        """Return whether the file has none of the hashes; False also when that is not known."""
        known, recent = self._keys  # before their age is looked at: they may be others in a moment
        if time.monotonic() - self._read_at >= FRESH_S:
            return False
        wanted = [_short(one) for one in hashes]
        return recent.isdisjoint(wanted) and not any(_has(known, one) for one in wanted)

    def add(self, hashes: Iterable[bytes]) -> None:
        """Add the hashes that this process has written."""
        self._keys[1].update(map(_short, hashes))

    def read_on(self) -> None:
        """Read the keys that are new since the last read. Raises StoreError."""
        now = time.monotonic()
        is_rebuilt = now - self._loaded_at > _RELOAD_S
        found, self._last_id = self._read(0 if is_rebuilt else self._last_id)
        known, recent = (array("Q"), set[bytes]()) if is_rebuilt else self._keys
        if len(known) + len(recent) + len(found) // _BYTES > MAX_INDEXED:
            self._read_at, self._due = -math.inf, now + _RELOAD_S
            self._keys, self._last_id = (array("Q"), set()), 0
            return
        if is_rebuilt:
            self._keys, self._loaded_at = (_packed(found), recent), now
        else:
            recent.update(
                bytes(found[start : start + _BYTES]) for start in range(0, len(found), _BYTES)
            )
        self._read_at, self._due = now, now + _STALE_S

    def _read(self, last_id: int) -> tuple[bytearray, int]:
        """Return the keys of the rows after that id, one after the other, and the last row's id."""
        found = bytearray()
        with self._database.read(None) as connection:
            while len(found) <= MAX_INDEXED * _BYTES:
                rows = connection.execute(_KEYS, (last_id, _STEP)).fetchall()
                found += b"".join(_short(key) for _, key in rows)
                last_id = rows[-1][0] if rows else last_id
                if len(rows) < _STEP:
                    break
        return found, last_id


def _short(key_hash: bytes) -> bytes:
    return key_hash[:_BYTES].ljust(_BYTES, b"\0")


def _packed(keys: bytearray) -> array[int]:
    """Return the keys as sorted numbers."""
    import numpy as np

    numbers = np.frombuffer(keys, dtype=">u8").astype("=u8")
    numbers.sort()
    return array("Q", numbers.tobytes())


def _has(known: array[int], wanted: bytes) -> bool:
    """Return whether the sorted keys have the wanted one."""
    number = int.from_bytes(wanted)
    place = bisect_left(known, number)
    return place < len(known) and known[place] == number
