"""An MCP server over streamable HTTP, for clients of this machine or with a token.

A page in a browser cannot use it: `Host` and `Origin` are checked on a loopback address, and every
other address needs a token.
"""

from __future__ import annotations

import asyncio
import hmac
import ipaddress
import socket
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Final, NamedTuple, Self

import uvicorn
from mcp.server.transport_security import TransportSecuritySettings
from starlette.datastructures import Headers
from starlette.responses import PlainTextResponse

from ...errors import ConfigError, InputError
from ...text.urls import MAX_PORT

if TYPE_CHECKING:
    from collections.abc import Iterator

    from mcp.server.lowlevel import Server
    from pydantic import SecretStr
    from starlette.types import ASGIApp, Receive, Scope, Send

PATH: Final = "/mcp"
DEFAULT_HOST: Final = "127.0.0.1"
SHUTDOWN_S: Final = 2
"""How long open requests may take to end when the server is stopped."""
MIN_TOKEN_CHARS: Final = 16
_UNAUTHORIZED: Final = 401


class HttpAddress(NamedTuple):
    """Where the server listens; port 0 takes a free one."""

    host: str
    port: int

    @classmethod
    def parse(cls, text: str) -> Self:
        """Return the address of `HOST:PORT`, or of a port of this machine. Raises InputError.

        >>> HttpAddress.parse("[::1]:8765"), HttpAddress.parse("8765").host
        (HttpAddress(host='::1', port=8765), '127.0.0.1')
        """
        host, _, port = text.rpartition(":") if ":" in text else (DEFAULT_HOST, "", text)
        host = host.removeprefix("[").removesuffix("]")
        if not (host and port.isascii() and port.isdecimal() and int(port) <= MAX_PORT):
            raise InputError(f"{text!r} is no address: write HOST:PORT, such as 127.0.0.1:8765.")
        return cls(host, int(port))

    @property
    def is_loopback(self) -> bool:
        """Whether only this machine reaches it."""
        try:
            return ipaddress.ip_address(self.host).is_loopback
        except ValueError:
            return self.host == "localhost"

    @property
    def url_host(self) -> str:
        """The host as it stands in a URL."""
        return f"[{self.host}]" if ":" in self.host else self.host

    def listen(self) -> socket.socket:
        """Return a socket that listens here. Raises ConfigError."""
        family = socket.AF_INET6 if ":" in self.host else socket.AF_INET
        try:
            return socket.create_server((self.host, self.port), family=family, backlog=128)
        except OSError as error:
            raise ConfigError(
                f"The MCP server cannot listen on {self.url_host}:{self.port}:"
                f" {error.strerror or error}. Choose another address with --http."
            ) from error


async def serve_http(app: ASGIApp, listener: socket.socket) -> None:
    """Serve until it is cancelled, then end what clients are sent; closes the listener."""
    config = uvicorn.Config(
        app, log_config=None, server_header=False, timeout_graceful_shutdown=SHUTDOWN_S
    )
    server = _Server(config)
    serving = asyncio.ensure_future(server.serve(sockets=[listener]))
    try:
        await asyncio.shield(serving)
    except asyncio.CancelledError:
        server.should_exit = True
        await serving
        raise


class _Server(uvicorn.Server):
    """A server that leaves the signals to its caller."""

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        """Capture none."""
        yield


def http_app(server: Server[Any], address: HttpAddress, token: SecretStr | None) -> ASGIApp:
    """Return the ASGI application with the endpoint `/mcp`; with a token only for who sends it.

    A blank token is none. Raises ConfigError for an address that others reach, without a token,
    and for a short token.
    """
    secret = token.get_secret_value().strip() if token else ""
    if secret and len(secret) < MIN_TOKEN_CHARS:
        raise ConfigError(
            f"COLLECTION_SEARCH_MCP_TOKEN has fewer than {MIN_TOKEN_CHARS} characters, which can be"
            " guessed. Set one such as 'openssl rand -hex 32' gives."
        )
    if not secret and not address.is_loopback:
        raise ConfigError(
            f"Other machines reach {address.host}, so the MCP server needs a token there: set"
            " COLLECTION_SEARCH_MCP_TOKEN, or listen on 127.0.0.1."
        )
    app = server.streamable_http_app(
        streamable_http_path=PATH, transport_security=_accepted_headers(address)
    )
    return _TokenGuard(app, secret) if secret else app


def _accepted_headers(address: HttpAddress) -> TransportSecuritySettings:
    """Return which `Host` and `Origin` are accepted: on loopback only its own names."""
    if not address.is_loopback:  # its names are not known here, and the token keeps browsers away
        return TransportSecuritySettings(enable_dns_rebinding_protection=False)
    hosts = dict.fromkeys([f"{address.url_host}:*", "127.0.0.1:*", "localhost:*", "[::1]:*"])
    return TransportSecuritySettings(
        allowed_hosts=[*hosts], allowed_origins=[f"http://{host}" for host in hosts]
    )


class _TokenGuard:
    """Lets a request pass that has the token as `Authorization: Bearer`."""

    def __init__(self, app: ASGIApp, secret: str) -> None:
        self._app = app
        self._expected = secret.encode()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        app = self._app
        if scope["type"] != "lifespan" and not self._has_token(Headers(scope=scope)):
            app = PlainTextResponse(
                "Send the token of this MCP server as 'Authorization: Bearer ...'.",
                _UNAUTHORIZED,
                {"WWW-Authenticate": "Bearer"},
            )
        await app(scope, receive, send)

    def _has_token(self, headers: Headers) -> bool:
        scheme, _, given = headers.get("authorization", "").partition(" ")
        is_equal = hmac.compare_digest(given.strip().encode("latin-1"), self._expected)
        return scheme.lower() == "bearer" and is_equal
