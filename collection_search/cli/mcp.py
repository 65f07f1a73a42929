"""`collection-search mcp`: the functions for models as tools of an MCP server."""

from __future__ import annotations

import asyncio
import signal
import sys
from contextlib import suppress
from typing import TYPE_CHECKING, Annotated, Any, Final

import typer

from .. import __version__
from ..errors import InputError
from .shared.context_options import Provider, Tenant, search_context
from .shared.exit_codes import Interrupted
from .shared.preparation import flush_on_exit, prepare_provider
from .shared.signals import handle_signals
from .shared.terminal import Screen

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine

    from mcp.server.lowlevel import Server

    from ..context import SearchContext

STOPPED: Final = "Stopped."


def mcp(
    *,
    http: Annotated[
        str | None,
        typer.Option(
            metavar="HOST:PORT",
            help="Serve over HTTP at this address, path /mcp; by default over stdin and stdout.",
        ),
    ] = None,
    tools: Annotated[
        str | None, typer.Option(metavar="NAMES", help="Tools, separated by commas; default: all.")
    ] = None,
    tenant: Tenant = None,
    provider: Provider = None,
) -> None:
    """Serve web search and collections to agents, as an MCP server.

    Tools: web_search, retrieve, collection_search, read_page. An address that other machines reach
    needs a token: set COLLECTION_SEARCH_MCP_TOKEN.
    """
    from ..contracts.functions import WEB_SEARCH
    from ..tools.mcp.tool_server import choose_functions, mcp_server
    from ..tools.search.function_entry import refuse_unusable_backend

    context = search_context(tenant_id=tenant, provider=provider)
    functions = choose_functions(context, None if tools is None else _listed(tools))
    if WEB_SEARCH in functions:
        asyncio.run(refuse_unusable_backend(context))
    server = mcp_server(context, functions, version=__version__)
    serving = _over_stdio(server, context) if http is None else _over_http(server, context, http)
    stop = _Stop()
    with flush_on_exit(context), handle_signals(stop):
        asyncio.run(stop.run(serving))
    if stop.by not in {None, signal.SIGTERM}:  # SIGTERM is a server's usual end
        raise Interrupted(STOPPED)


def _listed(tools: str) -> list[str]:
    if not (names := [name.strip() for name in tools.split(",") if name.strip()]):
        raise InputError("--tools names no tool. Leave it out to offer all.")
    return names


class _Stop:
    """Ends the serving on a signal; `by` is its number."""

    by: int | None = None

    def __init__(self) -> None:
        self._cancel: Callable[[], Any] = lambda: None

    def __call__(self, number: int, _frame: object) -> None:
        self.by = number
        self._cancel()

    async def run(self, serving: Coroutine[Any, Any, None]) -> None:
        """Wait until the serving ends or a signal ends it."""
        task, loop = asyncio.ensure_future(serving), asyncio.get_running_loop()
        self._cancel = lambda: loop.call_soon_threadsafe(task.cancel)
        if self.by is not None:
            task.cancel()
        with suppress(asyncio.CancelledError):
            await task


def _over_stdio(server: Server[Any], context: SearchContext) -> Coroutine[Any, Any, None]:
    from ..tools.mcp.stdio import serve_stdio

    asyncio.run(context.search_provider())  # what the settings lack is told now
    if sys.stdin.isatty():
        Screen().note("Serving MCP over stdin and stdout, for a client. Ctrl-C ends it.")
    return serve_stdio(server)


def _over_http(
    server: Server[Any], context: SearchContext, given: str
) -> Coroutine[Any, Any, None]:
    from ..tools.mcp.streamable_http import PATH, HttpAddress, http_app, serve_http

    address, screen = HttpAddress.parse(given), Screen()
    app = http_app(server, address, context.using().mcp_token)
    listener = address.listen()
    prepare_provider(context, screen)
    port = listener.getsockname()[1]
    screen.note(f"Serving MCP at http://{address.url_host}:{port}{PATH} until Ctrl-C.")
    return serve_http(app, listener)
