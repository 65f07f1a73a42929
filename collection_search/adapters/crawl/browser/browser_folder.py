"""The folder for the temporary files of one browser, removed with it."""

from __future__ import annotations

import os
import shutil
import tempfile
from contextlib import suppress
from pathlib import Path
from typing import IO, Final

_PREFIX: Final = "collection-search-"
_LOCK: Final = "in-use"
_NOTE: Final = "profile"
_PROFILES: Final = "playwright_*"
"""The driver's folders."""
_SOCKET: Final = "SingletonSocket"
"""In that for a profile, while the browser runs: a link to a socket in the browser's own folder."""
_SHORT: Final = Path("/tmp")  # noqa: S108 - the folder in it has a name that nobody can foresee
_PARENT_CHARS: Final = 26
"""Chromium makes a socket in the folder, whose path has at most 104 characters on some systems."""


class BrowserFolder:
    """A new folder in the folder for temporary files; its name has the number of this process.

    Where the path of the latter is too long for Chromium, it is in /tmp.

    It is locked while this process lives. Those whose process was killed are removed when the next
    one is made. Systems without `fcntl` keep them.
    """

    def __init__(self) -> None:
        parent = _parent()
        _sweep(parent)
        self.path = Path(tempfile.mkdtemp(prefix=f"{_PREFIX}{os.getpid()}-", dir=parent))
        self._lock = (self.path / _LOCK).open("w")
        _is_locked_by(self._lock)

    def note(self, profile: str) -> None:
        """Note which folder of the driver is the browser's, so that the next start knows it."""
        (self.path / _NOTE).write_text(Path(profile).name)

    def remove(self) -> None:
        """Remove the folder, and that of the driver for the profile of this browser."""
        _remove(self.path)
        self._lock.close()


def _parent() -> Path:
    usual = Path(tempfile.gettempdir())
    return _SHORT if len(os.fsencode(usual)) > _PARENT_CHARS and _SHORT.is_dir() else usual


def _sweep(parent: Path) -> None:
    """Remove the folders that killed processes of this user have left."""
    if os.name != "posix":
        return
    for folder in parent.glob(f"{_PREFIX}[0-9]*-*"):
        with suppress(OSError):
            if folder.is_symlink() or folder.stat().st_uid != os.geteuid():
                continue
            with (folder / _LOCK).open("r+") as lock:
                if _is_locked_by(lock):
                    _remove(folder)


def _remove(folder: Path) -> None:
    for profile in Path(tempfile.gettempdir()).glob(_PROFILES):
        if _is_of(profile, folder):
            shutil.rmtree(profile, ignore_errors=True)
    shutil.rmtree(folder, ignore_errors=True)


def _is_of(profile: Path, folder: Path) -> bool:
    with suppress(OSError):
        if (folder / _NOTE).read_text() == profile.name:
            return True
    with suppress(OSError):  # a browser that was killed at its start
        return (profile / _SOCKET).readlink().is_relative_to(folder)
    return False


def _is_locked_by(file: IO[str]) -> bool:
    """Return whether the file is locked by this opening of it, and not by another."""
    try:
        import fcntl

        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except (ImportError, OSError):
        return False
    return True
