"""The browser's proxy, which refuses every connection."""

from __future__ import annotations

import asyncio
from collections import deque
from contextlib import suppress
from typing import Final

_LINE_S: Final = 5.0
_KEPT: Final = 1_000
_REFUSAL: Final = b"HTTP/1.1 403 Forbidden\r\nContent-Length: 0\r\nConnection: close\r\n\r\n"


class RefusingProxy:
    """An HTTP proxy on the loopback address that connects to nobody.

    A browser sends here whatever is not answered before: WebSockets, requests of shared workers,
    its own requests for updates.
    """

    def __init__(self) -> None:
        self.refused: deque[str] = deque(maxlen=_KEPT)
        """The last requests, as method and address."""
        self.port = 0
        self._server: asyncio.Server | None = None

    async def start(self) -> int:
        """Return the port at which it listens from now on."""
        self._server = await asyncio.start_server(self._refuse, "127.0.0.1", 0)
        self.port = self._server.sockets[0].getsockname()[1]
        return self.port

    async def aclose(self) -> None:
        """Stop listening."""
        if self._server is not None:
            self._server.close()

    async def _refuse(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with suppress(OSError, ValueError, TimeoutError):
            async with asyncio.timeout(_LINE_S):
                line = await reader.readline()
                if line:
                    self.refused.append(" ".join(line.decode("latin-1").split()[:2]))
                    writer.write(_REFUSAL)
                    await writer.drain()
        writer.close()
