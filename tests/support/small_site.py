"""A web server on the loopback address, scripted in a few lines."""

from __future__ import annotations

import asyncio
from collections import Counter
from contextlib import suppress
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NamedTuple, Self

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    Answer = bytes | list[bytes] | Callable[["Asked"], Awaitable[bytes]]

PAGE = b"<!doctype html><title>Herons</title><p>the heron waits"


class Asked(NamedTuple):
    """A request as it arrived; names of headers in lower case."""

    target: str
    headers: dict[str, str]


def answer(body: bytes = PAGE, status: int = 200, **headers: str) -> bytes:
    """Return the bytes of an HTTP answer; `_` in the names of headers stands for `-`."""
    headers = {"Content-Type": "text/html", "Content-Length": str(len(body))} | {
        name.replace("_", "-"): value for name, value in headers.items()
    }
    lines = "".join(f"{name}: {value}\r\n" for name, value in headers.items())
    return f"HTTP/1.1 {status} Any\r\n{lines}\r\n".encode() + body


def moved(location: str, status: int = 302) -> bytes:
    """Return a redirect."""
    return answer(b"", status, Location=location)


NOTHING = answer(b"none", 404)


@dataclass
class SmallSite:
    """Serves `routes`: the answer's bytes, a list of them in turn, or a coroutine.

    An empty answer ends the connection.
    """

    routes: dict[str, Any] = field(default_factory=dict)
    asked: list[Asked] = field(default_factory=list)
    connections: int = 0
    most_open: int = 0
    port: int = 0
    _open: int = 0
    _count: Counter[str] = field(default_factory=Counter)
    _tasks: set[asyncio.Task[None]] = field(default_factory=set)

    async def __aenter__(self) -> Self:
        self._server = await asyncio.start_server(self._connected, "127.0.0.1", 0)
        self.port = self._server.sockets[0].getsockname()[1]
        return self

    async def __aexit__(self, *exc_info: object) -> None:
        self._server.close()
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    @property
    def address(self) -> str:
        return f"127.0.0.1:{self.port}"

    def url(self, path: str = "/page") -> str:
        return f"http://{self.address}{path}"

    def paths(self) -> list[str]:
        return [asked.target for asked in self.asked]

    def _connected(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.get_running_loop().create_task(self._serve(reader, writer))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.connections += 1
        self._open += 1
        self.most_open = max(self.most_open, self._open)
        try:
            with suppress(ConnectionError, asyncio.IncompleteReadError):
                while await self._answered(await reader.readuntil(b"\r\n\r\n"), writer):
                    pass
        finally:
            self._open -= 1
            writer.close()
            with suppress(OSError):
                await writer.wait_closed()

    async def _answered(self, head: bytes, writer: asyncio.StreamWriter) -> bool:
        first, *lines = head.decode("latin-1").rstrip().split("\r\n")
        fields = (line.partition(":") for line in lines)
        asked = Asked(first.split()[1], {name.lower(): text.strip() for name, _, text in fields})
        self.asked.append(asked)
        path = asked.target.partition("?")[0]
        route = self.routes.get(path, NOTHING)
        if isinstance(route, list):
            route = route[min(self._count[path], len(route) - 1)]
            self._count[path] += 1
        said = route if isinstance(route, bytes) else await route(asked)
        writer.write(said)
        await writer.drain()
        return bool(said)
