"""An MCP server over the standard streams of this process."""

from __future__ import annotations

import io
import os
from typing import TYPE_CHECKING, Any

import anyio
import anyio.to_thread
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
    """Lines of a stream; a cancelled wait for the next one ends at once.

    The waiting thread is left behind. By default it would keep Ctrl-C waiting for the next line.
    """

    async def readline(self) -> str:
        return await anyio.to_thread.run_sync(self.wrapped.readline, abandon_on_cancel=True)

    async def __aiter__(self) -> AsyncIterator[str]:
        while line := await self.readline():
            yield line


def _private_stdin() -> io.TextIOWrapper:
    """Return stdin under another descriptor; child processes read from nothing instead of it."""
    private = os.dup(0)
    nothing = os.open(os.devnull, os.O_RDONLY)
    os.dup2(nothing, 0)
    os.close(nothing)
    file = os.fdopen(private, "rb", closefd=False)  # a thread may be reading it at the end
    return io.TextIOWrapper(file, encoding="utf-8", errors="replace")
