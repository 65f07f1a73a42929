"""Ports that nobody else on this machine takes meanwhile."""

from __future__ import annotations

import socket
from contextlib import contextmanager
from random import SystemRandom
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Iterator

PORTS: Final = range(10_000, 30_000)
"""Below those that a system gives to whoever asks for any port, each client included."""
_RANDOM: Final = SystemRandom()
"""Not seeded: tests that run at the same time choose different ones."""


def free_port(host: str = "127.0.0.1") -> int:
    """Return a port for a server that binds it later, or again after an outage."""
    while True:
        port = _RANDOM.choice(PORTS)
        with socket.socket() as probe:
            try:
                probe.bind((host, port))
            except OSError:
                continue
            return port


@contextmanager
def closed_port() -> Iterator[int]:
    """Yield a port that is ours inside the block, and at which nobody listens."""
    with socket.socket() as held:
        held.bind(("127.0.0.1", 0))
        yield held.getsockname()[1]
