"""Whether a disk has room: SQLite reports a full one in many other ways."""

from __future__ import annotations

import errno
import shutil
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from pathlib import Path

LEAST_FREE_BYTES: Final = 1024 * 1024
"""With less a database cannot make the files that it needs beside its own."""
FULL_ERRORS: Final = frozenset({errno.ENOSPC, errno.EDQUOT})
"""Numbers of an OSError on a full disk, or beyond a user's share of it."""

_MAYBE_FULL: Final = ("unable to open", "readonly", "disk i/o")


def has_room(folder: Path) -> bool:
    """Return whether the disk of a folder has room left; True where that cannot be known."""
    try:
        return shutil.disk_usage(folder).free >= LEAST_FREE_BYTES
    except OSError:
        return True


def tells_full_disk(said: str, path: Path) -> bool:
    """Return whether SQLite's message about a file means that its disk is full.

    Where it cannot make a file beside the database, its words are those of missing rights.
    """
    words = said.lower()
    is_maybe = any(sign in words for sign in _MAYBE_FULL)
    return "disk is full" in words or (is_maybe and not has_room(path.parent))


def full_disk_text(path: Path) -> str:
    """Return what to do when the disk of a file or folder is full."""
    return (
        f"The disk of {path} is full, or this user's share of it. Free space there and try again:"
        " what is stored is not damaged, so move and restore nothing."
    )
