"""Who holds a row of the ledger: a process of some host, and whether it still lives."""

from __future__ import annotations

import os
import socket
import uuid
from typing import Final

_PROCESS: Final = uuid.uuid4().hex[:12]


def this_process() -> str:
    """Return the owner that this process writes into the rows that it takes."""
    return f"{socket.gethostname()}:{os.getpid()}:{_PROCESS}"


def is_gone(owner: str) -> bool:
    """Tell whether the owner of a row is provably dead: a process of this host that has ended.

    >>> is_gone("another-host:1:abc"), is_gone(f"{socket.gethostname()}:{os.getpid()}:earlier")
    (False, True)
    """
    host, _, process = owner.partition(":")
    pid, _, token = process.partition(":")
    if host != socket.gethostname() or not pid.isdigit():
        return False
    if int(pid) == os.getpid():  # a container's processes often get the same id again
        return token != _PROCESS
    return os.name == "posix" and not _exists(int(pid))


def _exists(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except OSError:
        return True
    return True
