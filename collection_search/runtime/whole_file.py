"""Writes a file or a folder that others see whole or not at all."""

from __future__ import annotations

import errno
import os
import re
import shutil
import stat
import tempfile
import uuid
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Iterator

_DESCRIPTOR: Final = re.compile(r"/(?:dev|proc/[^/]+(?:/task/[^/]+)?)/fd")
"""The folders of a process's open files."""
_LONGEST_NAME: Final = 200
_MAX_LINKS: Final = 40


@contextmanager
def write_whole(path: Path) -> Iterator[Path]:
    """Yield the path of a draft to write to; at the end of the block its content is at `path`.

    A file keeps its mode, and its owner where that is possible. Where `path` is a link, the file
    that it leads to is replaced. A device, a pipe and an open descriptor such as /dev/stdout are
    written into. Nothing is written when the block fails. Raises OSError.
    """
    if _is_stream(path):
        with tempfile.TemporaryDirectory() as folder:
            draft = Path(folder, "draft")
            yield draft
            with draft.open("rb") as source, path.open("ab") as stream:
                shutil.copyfileobj(source, stream)
        return
    if path.is_symlink() and not path.exists():
        raise FileNotFoundError(errno.ENOENT, "it is a link to a file that does not exist")
    path = path.resolve()
    former = path.stat() if path.exists() else None
    if former is not None and not os.access(path, os.W_OK):
        raise PermissionError(errno.EACCES, os.strerror(errno.EACCES))
    draft = path.with_name(f"{path.name[:_LONGEST_NAME]}.{uuid.uuid4().hex[:12]}.part")
    # The content of a file that only its owner may read must not be readable in its draft.
    os.close(os.open(draft, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600 if former else 0o666))
    try:
        yield draft
        if former is not None:
            _take_over(draft, former)
        draft.replace(path)
    finally:
        draft.unlink(missing_ok=True)


@contextmanager
def write_whole_folder(path: Path) -> Iterator[Path]:
    """Yield the path of a draft folder to fill; at the end of the block it is at `path`.

    Nothing is written when the block fails. Raises OSError, also for a folder with files in it:
    these stay.
    """
    if path.exists() and (not path.is_dir() or any(path.iterdir())):
        raise FileExistsError(errno.EEXIST, "it is there already, and it is no empty folder")
    path = path.resolve()
    draft = path.with_name(f"{path.name[:_LONGEST_NAME]}.{uuid.uuid4().hex[:12]}.part")
    draft.mkdir()
    try:
        yield draft
        if path.exists():
            path.rmdir()
        draft.rename(path)
    finally:
        shutil.rmtree(draft, ignore_errors=True)


def _is_stream(path: Path) -> bool:
    """Return whether the path leads to no regular file. Raises IsADirectoryError."""
    with suppress(FileNotFoundError):
        mode = path.stat().st_mode
        if stat.S_ISDIR(mode):
            raise IsADirectoryError(errno.EISDIR, "it is a folder")
        return not stat.S_ISREG(mode) or _is_descriptor(path)
    return False


def _is_descriptor(path: Path) -> bool:
    """Return whether the path names an open file of a process, as /dev/stdout does."""
    for _ in range(_MAX_LINKS):
        if _DESCRIPTOR.fullmatch(str(path.parent.resolve())):
            return True
        if not path.is_symlink():
            return False
        path = path.parent / path.readlink()
    return False


def _take_over(draft: Path, former: os.stat_result) -> None:
    """Give the draft the owner and the mode of the file that it replaces."""
    if hasattr(os, "chown"):
        with suppress(PermissionError):
            os.chown(draft, former.st_uid, former.st_gid)
    draft.chmod(stat.S_IMODE(former.st_mode))
