"""`collection-search serve`: the page and its API on this machine."""

from __future__ import annotations

import asyncio
import errno
import importlib
import signal
import socket
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Annotated, Any, Final

import typer

from ..errors import ConfigError
from ..text.urls import MAX_PORT
from .shared.context_options import search_context
from .shared.exit_codes import Interrupted
from .shared.preparation import flush_on_exit
from .shared.signals import handle_signals
from .shared.terminal import Screen

if TYPE_CHECKING:
    from collections.abc import Iterator

    from ..context import SearchContext
    from ..settings import Settings

STOPPED: Final = "Stopped. Runs under way, if there are any, go on at the next start."
SHUTDOWN_S: Final = 5
"""How long open requests may take to end."""
_SERVER: Final = f"{__name__.rpartition('.cli')[0]}.server"


def serve(
    *,
    host: Annotated[
        str, typer.Option(help="Address to listen on; others than this machine's need tokens.")
    ] = "127.0.0.1",
    port: Annotated[
        int, typer.Option(min=0, max=MAX_PORT, help="Port to listen on; 0 takes a free one.")
    ] = 8080,
    open_page: Annotated[
        bool, typer.Option("--open", help="Open the page in the browser.")
    ] = False,
) -> None:
    """Serve the page and its API on this machine until Ctrl-C."""
    context, screen = search_context(), Screen()
    _refuse_open_host(host, has_tokens=context.using().server_auth)
    listener = _listen(host, port)
    address = f"http://{_url_host(host)}:{listener.getsockname()[1]}/app/"
    stop = _Stop()
    with listener, flush_on_exit(context), handle_signals(stop):
        asyncio.run(_served(listener, stop, context, screen, address, opens=open_page))
    if stop.by not in {None, signal.SIGTERM}:  # SIGTERM is a server's usual end
        raise Interrupted(STOPPED)


class _Stop:
    """Ends the serving on a signal; `by` is its number."""

    by: int | None = None
    server: Any = None

    def __call__(self, number: int, _frame: object) -> None:
        self.by = number
        if self.server is not None:
            self.server.should_exit = True


async def _served(
    listener: socket.socket,
    stop: _Stop,
    context: SearchContext,
    screen: Screen,
    address: str,
    *,
    opens: bool,
) -> None:
    """Serve until the stop. Raises what kept the app from its start."""
    import uvicorn

    class Server(uvicorn.Server):
        """A server that leaves signals to the command, and ends the streams when it stops."""

        @contextmanager
        def capture_signals(self) -> Iterator[None]:
            """Capture none."""
            yield

        async def startup(self, sockets: list[socket.socket] | None = None) -> None:
            """Start, and tell it."""
            await super().startup(sockets)
            if not self.should_exit:
                _tell(context, screen, address, opens=opens)

        async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
            """Stop."""
            importlib.import_module(f"{_SERVER}.lifespan").close_streams(app)
            await super().shutdown(sockets)

    app = importlib.import_module(f"{_SERVER}.app").serve_app()
    failures: list[Exception] = []
    stop.server = server = Server(
        uvicorn.Config(
            _keep_failures(app, failures),
            log_config=None,
            access_log=False,
            server_header=False,
            proxy_headers=False,
            lifespan="on",
            timeout_graceful_shutdown=SHUTDOWN_S,
        )
    )
    server.should_exit = stop.by is not None
    with suppress(asyncio.CancelledError, SystemExit):  # it exits where the app cannot start
        await server.serve(sockets=[listener])
    if failures:
        raise failures[0]
    if not server.started and stop.by is None:
        raise ConfigError("The server could not start; what is above says why.")


def _keep_failures(app: Any, failures: list[Exception]) -> Any:
    """Return the app, with the failures of its start and end added to the list.

    uvicorn writes them to a log that the command does not show.
    """

    async def kept(scope: Any, receive: Any, send: Any) -> None:
        try:
            await app(scope, receive, send)
        except Exception as error:
            if scope["type"] == "lifespan":
                failures.append(error)
            raise

    return kept


def _place_of(settings: Settings) -> str:
    if settings.database_url is None:
        return str(settings.home)
    from ..adapters.stores.postgres.store_errors import server_of

    return server_of(settings.postgres_url())


def _tell(context: SearchContext, screen: Screen, address: str, *, opens: bool) -> None:
    settings = context.using()
    who = "with tokens" if settings.server_auth else f"tenant {settings.tenant}, without tokens"
    screen.note(f"Serving {address} until Ctrl-C ({who}).")
    screen.note(
        f"Provider {settings.provider}, model {settings.model or 'none'}, embeddings"
        f" {settings.embeddings}, data in {_place_of(settings)}"
    )
    if opens:
        typer.launch(address)


def _refuse_open_host(host: str, *, has_tokens: bool) -> None:
    """Raise ConfigError where others reach a server without tokens."""
    if not has_tokens and not _is_loopback(host):
        raise ConfigError(
            f"Others reach {host}, and the server asks for no tokens. Set"
            " COLLECTION_SEARCH_SERVER_AUTH=true, and make tokens by 'collection-search tokens"
            " add', or leave --host out."
        )


def _is_loopback(host: str) -> bool:
    import ipaddress

    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


def _url_host(host: str) -> str:
    return f"[{host}]" if ":" in host else host


def _listen(host: str, port: int) -> socket.socket:
    """Return a socket that listens there. Raises ConfigError."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    try:
        socket.getaddrinfo(host or None, port, family)  # the next call hides that a name is unknown
        return socket.create_server((host, port), family=family, backlog=2048)
    except OSError as error:
        is_elsewhere = isinstance(error, socket.gaierror) or error.errno == errno.EADDRNOTAVAIL
        advice = (
            "Give --host a name or an address of this machine."
            if is_elsewhere
            else "Choose another port with --port."
        )
        raise ConfigError(
            f"The server cannot listen on {_url_host(host)}:{port}: {error.strerror or error}."
            f" {advice}"
        ) from error
