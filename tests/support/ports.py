"""Ports that nobody else on this machine takes meanwhile."""

from __future__ import annotations

import fcntl
import os
import socket
import tempfile
from contextlib import contextmanager
from pathlib import Path
from random import SystemRandom
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Iterator

PORTS: Final = range(10_000, 30_000)
"""Below those that a system gives to whoever asks for any port, each client included."""
LOCKS: Final = Path(tempfile.gettempdir()) / f"collection-search-ports-{os.getuid()}"
_RANDOM: Final = SystemRandom()
"""Not seeded: tests that run at the same time choose different ones."""


def free_port(host: str = "127.0.0.1") -> int:
    """Return a port for a server that binds it later, or again after an outage.

    No other call returns it, in any process, until this process ends.
    """
    while True:
        port = _RANDOM.choice(PORTS)
        with socket.socket() as probe:
            try:
                probe.bind((host, port))
            except OSError:
                continue
            if _is_reserved(port):
                return port


def _is_reserved(port: int) -> bool:
    """Lock the file of a port until the process ends; False where another one has it."""
    LOCKS.mkdir(exist_ok=True)
    file = os.open(LOCKS / str(port), os.O_CREAT | os.O_RDWR)
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        os.close(file)
        return False
    return True


@contextmanager
def closed_port() -> Iterator[int]:
    """Yield a port that is ours inside the block, and at which nobody listens."""
    with socket.socket() as held:
        held.bind(("127.0.0.1", 0))
        yield held.getsockname()[1]
