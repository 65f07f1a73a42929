"""Whether a disk has room: SQLite reports a full one in many other ways."""

from __future__ import annotations

import errno
import os
import shutil
from pathlib import Path
from typing import Final

LEAST_FREE_BYTES: Final = 1024 * 1024
"""With less a database cannot make the files that it needs beside its own."""
FULL_ERRORS: Final = frozenset({errno.ENOSPC, errno.EDQUOT})
"""Numbers of an OSError on a full disk, or beyond a user's share of it."""

_LEFT_FREE_BYTES: Final = 16 * 1024 * 1024
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


def missing_room(path: Path, used_bytes: int) -> str | None:
    """Return what is missing to write a SQLite file of so many bytes anew; None where nothing is.

    SQLite writes the new file into its temporary folder first, and from there into the log beside
    the file.
    """
    left = min(used_bytes, _LEFT_FREE_BYTES) + used_bytes // 100  # for the log's own words
    home, temporary = path.parent, _temporary_folder()
    shared = home.stat().st_dev == temporary.stat().st_dev
    for folder, copies in ((home, 1 + shared), (temporary, 1)):
        bytes_needed = used_bytes * copies + left
        free = shutil.disk_usage(folder).free
        if free < bytes_needed:
            return (
                f"The database {path} was not compacted: that needs"
                f" {bytes_needed / 1e6:,.1f} MB in {folder}, where {free / 1e6:,.1f} MB are free."
                " It is as it was. Make room there; SQLITE_TMPDIR names another folder for"
                " the temporary copy."
            )
    return None


def _temporary_folder() -> Path:
    """Return the folder of SQLite's temporary files."""
    given = (os.environ.get(name) for name in ("SQLITE_TMPDIR", "TMPDIR"))
    for folder in (*given, "/var/tmp", "/usr/tmp", "/tmp"):  # noqa: S108 - SQLite's own list
        if folder and os.access(folder, os.W_OK | os.X_OK):
            return Path(folder)
    return Path()


def full_disk_text(path: Path) -> str:
    """Return what to do when the disk of a file or folder is full."""
    return (
        f"The disk of {path} is full, or this user's share of it. Free space there and try again:"
        " what is stored is not damaged, so move and restore nothing."
    )
