"""The local servers of the hostile site, one for each case."""

from __future__ import annotations

import asyncio
import socket
import struct
from collections import Counter
from contextlib import suppress
from dataclasses import replace
from typing import TYPE_CHECKING, Final, Self

from .replies import SiteReply

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from .case import Case

HOST: Final = "127.0.0.1"
_HEAD_BYTES: Final = 1 << 18
_RESET_ON_CLOSE: Final = struct.pack("ii", 1, 0)
"""SO_LINGER: on, no time."""


class HostileSite:
    """Servers of all cases inside an `async with` block, each on a port of its own.

    `forbidden` collects the peer of every connection to a listener that no case may lead to.
    """

    def __init__(self, cases: Iterable[Case]) -> None:
        self.cases: Mapping[str, Case] = {case.name: case for case in cases}
        self.requests: list[tuple[str, str, Mapping[str, str]]] = []
        """Name of the case, target and headers (names in lower case), in order of arrival."""
        self.forbidden: list[str] = []
        self._ports: dict[str, int] = {}
        self._servers: list[asyncio.Server] = []
        self._asked: Counter[tuple[str, str]] = Counter()
        self._stopping = asyncio.Event()
        self._handlers: set[asyncio.Task[None]] = set()
        self.forbidden_port = 0

    async def __aenter__(self) -> Self:
        self.forbidden_port = await self._listen_forbidden()
        for case in self.cases.values():
            server = await asyncio.start_server(self._handler(case), HOST, 0, limit=_HEAD_BYTES)
            self._servers.append(server)
            self._ports[case.name] = server.sockets[0].getsockname()[1]
        return self

    async def __aexit__(self, *exc_info: object) -> None:
        self._stopping.set()
        for server in self._servers:
            server.close()
        for task in tuple(self._handlers):
            task.cancel()
        await asyncio.gather(*self._handlers, return_exceptions=True)

    def address(self, name: str) -> str:
        """Return host and port of a case, which a policy must allow."""
        return f"{HOST}:{self._ports[name]}"

    def url(self, name: str) -> str:
        """Return the address to read for a case."""
        return self._filled(self.cases[name].start, name)

    @property
    def names(self) -> Mapping[str, Sequence[str]]:
        """Return the names for a `ScriptedResolver`."""
        cases = self.cases.values()
        return {name: answers for case in cases for name, answers in case.names.items()}

    def _filled(self, text: str, name: str) -> str:
        host, port = self.address(name), str(self.forbidden_port)
        filled = text.replace("{host}", host).replace("{forbidden}", port)
        return filled.replace("{port}", str(self._ports[name]))

    async def _listen_forbidden(self) -> int:
        """Listen on both loopback addresses where the machine has both, on one port."""

        async def record(_: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            self.forbidden.append(str(writer.get_extra_info("sockname")))
            writer.close()

        server = await asyncio.start_server(record, HOST, 0)
        self._servers.append(server)
        port: int = server.sockets[0].getsockname()[1]
        with suppress(OSError):  # no IPv6, or the port is taken there
            self._servers.append(await asyncio.start_server(record, "::1", port))
        return port

    def _handler(self, case: Case) -> _Handler:
        async def handle(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            task = asyncio.current_task()
            assert task is not None
            self._handlers.add(task)
            try:
                with suppress(ConnectionError, asyncio.IncompleteReadError, asyncio.CancelledError):
                    await self._answer(case, reader, writer)
            finally:
                self._handlers.discard(task)
                writer.close()
                with suppress(OSError):
                    await writer.wait_closed()

        return handle

    async def _answer(
        self, case: Case, reader: asyncio.StreamReader, writer: asyncio.StreamWriter
    ) -> None:
        head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1")
        first, *lines = head.rstrip().split("\r\n")
        fields = (line.partition(":") for line in lines)
        headers = {name.lower(): value.strip() for name, _, value in fields}
        target = first.split(" ")[1]
        self.requests.append((case.name, target, headers))
        reply = self._reply(case, target.partition("?")[0])
        if reply.if_known and {"if-none-match", "if-modified-since"} & headers.keys():
            reply = reply.if_known
        await self._send(reply, case.name, writer)

    def _reply(self, case: Case, path: str) -> SiteReply:
        if path == "/robots.txt":
            return case.robots
        replies = case.pages.get(path, SiteReply(b"no such page", status=404))
        if isinstance(replies, SiteReply):
            return replies
        asked = self._asked[case.name, path]
        self._asked[case.name, path] += 1
        return replies[min(asked, len(replies) - 1)]

    async def _send(self, reply: SiteReply, name: str, writer: asyncio.StreamWriter) -> None:
        fields = {key: self._filled(value, name) for key, value in reply.headers.items()}
        for piece in replace(reply, headers=fields).writes():
            if reply.pause_s:
                await asyncio.sleep(reply.pause_s)
            writer.write(piece)
            await writer.drain()
            if writer.is_closing():
                return
        if reply.ending == "hold":
            await self._stopping.wait()
        if reply.ending == "reset":
            sock = writer.get_extra_info("socket")
            sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, _RESET_ON_CLOSE)
            writer.transport.abort()


if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    _Handler = Callable[[asyncio.StreamReader, asyncio.StreamWriter], Awaitable[None]]
