"""An MCP server over the standard streams of this process."""

from __future__ import annotations

import asyncio
import io
import os
import threading
from contextlib import suppress
from typing import TYPE_CHECKING, Any, Final, Self

import anyio
from mcp.server.stdio import stdio_server
from mcp_types import JSONRPCError, JSONRPCNotification, JSONRPCRequest, JSONRPCResponse

if TYPE_CHECKING:
    from collections.abc import AsyncIterator
    from types import TracebackType

    from mcp.server.lowlevel import Server
    from mcp.shared.message import SessionMessage

ANSWER_S: Final = 10.0
"""How long calls are still answered after the end of stdin."""
_CANCELLED: Final = "notifications/cancelled"


async def serve_stdio(server: Server[Any]) -> None:
    """Serve one client until it closes stdin and has its answers; once in a process.

    Only the protocol is written to stdout: whatever else the process prints there goes to stderr.
    """
    lines = _Lines(_private_stdin())
    async with stdio_server(stdin=lines) as (received, sent):
        calls = _OpenCalls()
        await server.run(
            _Received(received, calls), _Sent(sent, calls), server.create_initialization_options()
        )


class _OpenCalls:
    """The ids of the requests that have no answer yet."""

    def __init__(self) -> None:
        self._ids: set[Any] = set()
        self._none = asyncio.Event()
        self._none.set()

    def note(self, item: SessionMessage | Exception) -> None:
        """Add a request, or remove one that is answered or cancelled."""
        message = None if isinstance(item, Exception) else item.message
        if isinstance(message, JSONRPCRequest):
            self._ids.add(message.id)
        elif isinstance(message, JSONRPCResponse | JSONRPCError):
            self._ids.discard(message.id)
        elif isinstance(message, JSONRPCNotification) and message.method == _CANCELLED:
            self._ids.discard((message.params or {}).get("requestId"))
        if self._ids:
            self._none.clear()
        else:
            self._none.set()

    async def wait_for_answers(self) -> None:
        """Return when every request is answered, or after `ANSWER_S`."""
        with anyio.move_on_after(ANSWER_S):
            await self._none.wait()


class _Stream:
    """What both directions share: the stream that is wrapped, and the open calls."""

    def __init__(self, stream: Any, calls: _OpenCalls) -> None:
        self._stream, self._calls = stream, calls

    async def aclose(self) -> None:
        await self._stream.aclose()

    async def __aenter__(self) -> Self:
        await self._stream.__aenter__()
        return self

    async def __aexit__(
        self,
        exc_type: type[BaseException] | None,
        exc_val: BaseException | None,
        exc_tb: TracebackType | None,
    ) -> bool | None:
        ended: bool | None = await self._stream.__aexit__(exc_type, exc_val, exc_tb)
        return ended


class _Received(_Stream):
    """Messages of the client; their end waits for the answers, since it cancels what is open."""

    @property
    def last_context(self) -> Any:
        """The context of the sender of the last message."""
        return getattr(self._stream, "last_context", None)

    async def receive(self) -> SessionMessage | Exception:
        try:
            item: SessionMessage | Exception = await self._stream.receive()
        except anyio.EndOfStream:
            await self._calls.wait_for_answers()
            raise
        self._calls.note(item)
        return item

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> SessionMessage | Exception:
        try:
            return await self.receive()
        except anyio.EndOfStream:
            raise StopAsyncIteration from None


class _Sent(_Stream):
    """Messages to the client."""

    async def send(self, item: SessionMessage, /) -> None:
        await self._stream.send(item)
        self._calls.note(item)


class _Lines(anyio.AsyncFile[str]):
    """Lines that a daemon thread reads, which does not keep the process from ending.

    By default, after Ctrl-C, the process would wait for one more line or the end of stdin.
    """

    def __init__(self, file: io.TextIOWrapper) -> None:
        super().__init__(file)
        self._loop = asyncio.get_running_loop()
        self._read: asyncio.Queue[str] = asyncio.Queue()
        threading.Thread(target=self._read_all, name="stdin", daemon=True).start()

    async def readline(self) -> str:
        return await self._read.get()

    async def __aiter__(self) -> AsyncIterator[str]:
        while line := await self.readline():
            yield line

    def _read_all(self) -> None:
        with suppress(RuntimeError):  # the loop has ended
            line = "\n"
            while line:
                line = self.wrapped.readline()
                self._loop.call_soon_threadsafe(self._read.put_nowait, line)


def _private_stdin() -> io.TextIOWrapper:
    """Return stdin under another descriptor; child processes read from nothing instead of it."""
    private = os.dup(0)
    nothing = os.open(os.devnull, os.O_RDONLY)
    os.dup2(nothing, 0)
    os.close(nothing)
    file = os.fdopen(private, "rb", closefd=False)  # a thread may be reading it at the end
    return io.TextIOWrapper(file, encoding="utf-8", errors="replace")
