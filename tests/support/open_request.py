"""A server on the loopback address that takes a request, never answers, and sees the client go."""

from __future__ import annotations

import asyncio
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import AsyncIterator


class OpenRequest:
    """What the server sees, as events."""

    def __init__(self) -> None:
        self.url = ""
        self.arrived = asyncio.Event()
        self.left = asyncio.Event()
        """The client has closed the connection."""

    async def take(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Read the request, then wait until the other side closes."""
        try:
            await reader.readuntil(b"\r\n\r\n")
            self.arrived.set()
            while await reader.read(1024):
                pass
        except (OSError, asyncio.IncompleteReadError):
            pass
        finally:
            self.left.set()
            writer.close()


@asynccontextmanager
async def open_request() -> AsyncIterator[OpenRequest]:
    """Serve inside the block."""
    seen = OpenRequest()
    server = await asyncio.start_server(seen.take, "127.0.0.1", 0)
    seen.url = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"
    try:
        yield seen
    finally:
        server.close()
