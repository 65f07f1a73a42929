"""Where the blocks of a matrix are: in memory, or in a file without a name.

A block is never changed, so that a search may read it while another one makes the next matrix.
"""

from __future__ import annotations

import errno
import os
import shutil
import sys
import tempfile
import weakref
from contextlib import ExitStack, suppress
from typing import TYPE_CHECKING, Final, Protocol

from ....errors import StoreError

if TYPE_CHECKING:
    from collections.abc import Callable

    from .vector_codes import Codes

FREE_SHARE: Final = 0.5
"""Share of the free disk that a file may take: the database has to grow as well."""


class Block(Protocol):
    """Codes of some vectors, one column for each."""

    @property
    def columns(self) -> int:
        """Return the number of vectors."""
        ...

    def read(self, room: Codes) -> Codes:
        """Return the codes, perhaps copied into the room. Raises StoreError when a disk fails."""
        ...


class HeldBlock:
    """A block in memory."""

    def __init__(self, codes: Codes) -> None:
        self._codes = codes
        self.columns = codes.shape[1]

    def read(self, room: Codes) -> Codes:  # noqa: ARG002
        """Return the codes themselves."""
        return self._codes


class FiledBlock:
    """A block in a file, which its matrix keeps open.

    When nobody uses the block any more, zeros are written over it, unless the file is gone as well.
    """

    def __init__(self, file: BlockFile, place: int, shape: tuple[int, int]) -> None:
        self._file, self._place, self._shape = weakref.ref(file), place, shape
        self.columns = shape[1]
        ended = weakref.finalize(self, _free, self._file, place, shape[0] * shape[1])
        ended.atexit = False

    def read(self, room: Codes) -> Codes:
        """Return the codes, copied into the room. Raises StoreError when the disk fails."""
        file = self._file()
        if file is None:
            raise StoreError("The file of these vectors is closed; search again.")
        rows, columns = self._shape
        return file.read(self._place, room[: rows * columns]).reshape(self._shape)


def _free(file: weakref.ref[BlockFile], place: int, size: int) -> None:
    if (opened := file()) is not None:
        opened.free(place, size)


def free_bytes(folder: str) -> int:
    """Return the free bytes on the disk of a folder."""
    return shutil.disk_usage(folder).free


def _require_free(folder: str, needed: int, free: Callable[[str], int]) -> None:
    if needed > free(folder) * FREE_SHARE:
        raise OSError(errno.ENOSPC, f"less than twice {needed} bytes are free")


class BlockFile:
    """A file for blocks, gone with the process or with its matrix.

    One thread at a time puts blocks; any number of them read. A process forked off only reads: the
    file is its parent's, which does not know what the child would put or free.
    """

    def __init__(
        self, folder: str, needed: int, *, free: Callable[[str], int] = free_bytes
    ) -> None:
        """Take the needed bytes of the disk. Raises OSError when it has not twice as many."""
        if not hasattr(os, "preadv"):
            raise OSError(errno.ENOSYS, "this system cannot read at a place of a file")
        _require_free(folder, needed, free)
        with ExitStack() as stack:  # nameless, for this user alone
            file = stack.enter_context(tempfile.TemporaryFile(dir=folder, buffering=0))
            if hasattr(os, "posix_fallocate"):
                os.posix_fallocate(file.fileno(), 0, needed)  # a full disk fails here
            weakref.finalize(self, stack.pop_all().close)
        self._descriptor, self._folder, self._free = file.fileno(), folder, free
        self._process = os.getpid()
        self.size = needed
        """Bytes on the disk, with those between the blocks."""
        self._spans = [(0, sys.maxsize)]
        """First and end of what no block has, rising; the last one is behind all blocks."""
        self._freed: list[tuple[int, int]] = []
        """What has been freed since the last block came: any thread may add to it."""

    def put(self, codes: Codes) -> FiledBlock:
        """Return the codes as a block of the file.

        Raises OSError when the disk fails or has no room, and in a process forked off.
        """
        if os.getpid() != self._process:
            raise OSError(errno.EPERM, "the file is that of the process before the fork")
        place = self._place(codes.nbytes)
        if (more := place + codes.nbytes - self.size) > 0:
            _require_free(self._folder, more, self._free)
            self.size += more
        _whole(os.pwrite(self._descriptor, codes.data, place), codes.nbytes)
        return FiledBlock(self, place, (codes.shape[0], codes.shape[1]))

    def _place(self, size: int) -> int:
        """Take the first place with so many free bytes."""
        while self._freed:
            self._spans.append(self._freed.pop())
        spans: list[tuple[int, int]] = []
        for first, end in sorted(self._spans):
            touches = spans and spans[-1][1] == first
            spans.append((spans.pop()[0] if touches else first, end))
        at = next(at for at, (first, end) in enumerate(spans) if end - first >= size)
        place, end = spans[at]
        spans[at] = place + size, end
        self._spans = spans
        return place

    def read(self, place: int, room: Codes) -> Codes:
        """Fill the room with what stands at a place. Raises StoreError when the disk fails."""
        try:
            _whole(os.preadv(self._descriptor, [room.data], place), room.nbytes)
        except OSError as error:
            raise StoreError(
                f"The disk fails: a file of vectors in {self._folder} cannot be read ({error})."
                " Check the disk, or set COLLECTION_SEARCH_HOME to another folder."
            ) from error
        return room

    def free(self, place: int, size: int) -> None:
        """Write zeros over a block; its place may be used again. Nothing after a fork."""
        if os.getpid() != self._process:
            return
        with suppress(OSError):  # a disk that fails is reported by the next search
            _whole(os.pwrite(self._descriptor, bytes(size), place), size)
            self._freed.append((place, place + size))


def _whole(moved: int, size: int) -> None:
    if moved != size:
        raise OSError(errno.EIO, f"only {moved} of {size} bytes were moved")
