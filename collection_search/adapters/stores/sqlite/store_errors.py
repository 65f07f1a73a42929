"""Clear messages for sqlite3's failures."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from ....errors import ReadOnlyStoreError, StoreError
from ....runtime.disk_room import full_disk_text, has_room, tells_full_disk

if TYPE_CHECKING:
    import sqlite3
    from pathlib import Path

ELSEWHERE: Final = "set COLLECTION_SEARCH_HOME to another folder"
_REPLACE: Final = f"Restore a backup, move it away, or {ELSEWHERE}"
_ADVICE: Final = (
    (
        ("not a database", "malformed", "corrupt"),
        f"is damaged or no SQLite database. {_REPLACE}",
    ),
    (
        ("unable to open", "authorization", "access permission"),
        f"cannot be opened for writing. Give this user the right to write it, or {ELSEWHERE}",
    ),
    (
        ("locked", "busy"),
        "was held by another process for too long. Try again, or end the process that holds it",
    ),
    (
        ("disk i/o",),
        f"cannot grow: a quota is used up, or the disk fails. Make room, or {ELSEWHERE}",
    ),
    (
        ("fts5",),
        "needs SQLite's full-text search (FTS5). Use a build of Python that has it",
    ),
)
"""Words of sqlite3's messages with advice; its error codes do not tell these cases apart."""
_PASSING: Final = ("locked", "busy", "disk i/o")
"""Words of failures that end without a change of the file."""


def translate_failure(path: Path, error: sqlite3.Error) -> StoreError:
    """Return the error that names the file and what to do."""
    said = str(error)
    if tells_full_disk(said, path):
        return StoreError(f"{full_disk_text(path)} (SQLite says: {said}.)", retryable=True)
    if "readonly" in said.lower():
        return read_only_error(path)
    for signs, advice in _ADVICE:
        if any(sign in said.lower() for sign in signs):
            may_pass = any(sign in said.lower() for sign in _PASSING)
            text = f"The database {path} {advice}. (SQLite says: {said}.)"
            return StoreError(text, retryable=may_pass)
    return StoreError(f"The database {path} cannot be used. {_REPLACE}. (SQLite says: {said}.)")


def unwritable_error(path: Path) -> StoreError:
    """Return the error of a write to a store that was opened for reading alone."""
    if not has_room(path.parent):
        return StoreError(full_disk_text(path), retryable=True)
    return read_only_error(path)


def read_only_error(path: Path) -> ReadOnlyStoreError:
    """Return the error of a write to a store that can only be read."""
    return ReadOnlyStoreError(
        f"The store is read-only: {path} can be searched and exported, not changed. Give this"
        f" user the right to write the file and its folder, or {ELSEWHERE}."
    )
