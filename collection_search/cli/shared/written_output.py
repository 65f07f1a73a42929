"""Output that cannot be written: a full disk, or a pipe whose reader has gone."""

from __future__ import annotations

import errno
import os
import sys
from contextlib import suppress
from typing import TYPE_CHECKING, Final

from .exit_codes import ExitCode

if TYPE_CHECKING:
    from collections.abc import Callable

_FULL: Final = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EIO, errno.EPIPE)
"""What a write fails with; such an error names no file."""


def write_out(work: Callable[[], int]) -> int:
    """Return the exit code of the work, once all that it printed is written.

    Code 141 where the reader has gone, as after `| head`: that is no mistake and says nothing.
    Code 1 with one sentence where the output cannot be written for another reason.
    """
    try:
        code = work()
        _flush()
    except SystemExit as ended:
        # click and rich end the process so after a pipe was closed
        if not isinstance(ended.__context__, BrokenPipeError):
            raise
        return _without_output(ended.__context__)
    except OSError as error:
        if not _is_of_output(error):
            raise
        return _without_output(error)
    return code


def _flush() -> None:
    for stream in (sys.stdout, sys.stderr):
        if stream is not None:  # `>&-` closes it
            stream.flush()


def _is_of_output(error: OSError) -> bool:
    """Return whether the output could not be written: what waits cannot be written either."""
    if error.filename is None and error.errno in _FULL:
        return True
    try:
        _flush()
    except OSError:
        return True
    return False


def _without_output(error: OSError) -> ExitCode:
    """Return the exit code, and let the interpreter write nothing more to the broken stream."""
    is_closed = isinstance(error, BrokenPipeError)
    if not is_closed:
        with suppress(OSError):
            os.write(2, f"collection-search: {_sentence(error)}\n".encode())
    with suppress(OSError, ValueError):
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, sys.stdout.fileno())
        os.close(nowhere)
    return ExitCode.READER_GONE if is_closed else ExitCode.NOT_WRITTEN


def _sentence(error: OSError) -> str:
    return f"The output cannot be written ({error.strerror}). Make room, or write it elsewhere."
