"""An MCP server over the standard streams of this process."""

from __future__ import annotations

import asyncio
import io
import os
import threading
from contextlib import suppress
from typing import TYPE_CHECKING, Any

import anyio
from mcp.server.stdio import stdio_server

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from mcp.server.lowlevel import Server


async def serve_stdio(server: Server[Any]) -> None:
    """Serve one client until it closes stdin; once in a process.

    Only the protocol is written to stdout: whatever else the process prints there goes to stderr.
    """
    lines = _Lines(_private_stdin())
    async with stdio_server(stdin=lines) as (received, sent):
        await server.run(received, sent, server.create_initialization_options())


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
