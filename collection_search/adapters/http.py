"""The one way to the addresses that the operator configured: providers, models, embedders.

A request and its answer are plain data, so that an adapter is pure functions around one call.
Connections are kept alive, one session per event loop, and end with their loop. Redirects are not
followed and cookies are not kept. `HTTPS_PROXY`, `HTTP_PROXY` and `NO_PROXY` are honoured as
usual, netrc files are not.
"""

from __future__ import annotations

import asyncio
import atexit
import json
import os
import socket
import threading
import weakref
from contextlib import suppress
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final, Literal, NamedTuple
from urllib.parse import urlencode, urlsplit
from urllib.request import getproxies_environment, proxy_bypass

import aiohttp
import orjson
from yarl import URL

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Mapping

MAX_ANSWER_BYTES: Final = 16 * 1024 * 1024
"""Decoded bytes of one answer that are read at most."""
KEEP_ALIVE_S: Final = 60.0
"""How long an unused connection is kept."""
_GOODBYE_S: Final = 1.0
USER_AGENT: Final = "collection-search (+https://github.com/collection-search/collection-search)"

FailureKind = Literal["timeout", "unreachable", "too_large", "unreadable"]
"""`unreachable`: no answer began, another attempt may help. `unreadable`: an answer broke off or
is no HTTP."""


@dataclass(frozen=True, slots=True)
class HttpRequest:
    """One call, ready to be made; what may hold a key or a password does not show in its `repr`."""

    method: Literal["GET", "POST"]
    url: str = field(repr=False)
    params: Mapping[str, str | int] = field(default_factory=dict, repr=False)
    headers: Mapping[str, str] = field(default_factory=dict, repr=False)
    json: Any = field(default=None, repr=False)
    """Sent as the body of a POST."""


@dataclass(frozen=True, slots=True)
class HttpResponse:
    """One answer, whatever its status."""

    status: int
    headers: Mapping[str, str]
    """Names in lower case; of a repeated header the last one."""
    body: bytes = field(repr=False)

    def json(self) -> Any:
        """Return the body's JSON value. Raises ValueError when it is none."""
        return json_value(self.body)

    def text(self) -> str:
        """Return the body as text, undecodable bytes replaced."""
        return self.body.decode("utf-8", "replace")


class HttpError(Exception):
    """No complete answer came; the message names the host, never an address with its query."""

    def __init__(self, kind: FailureKind, message: str) -> None:
        super().__init__(message)
        self.kind: FailureKind = kind


async def send(
    request: HttpRequest, *, timeout_s: float, max_bytes: int = MAX_ANSWER_BYTES
) -> HttpResponse:
    """Return the answer, read within `timeout_s` seconds in all. Raises HttpError."""
    host = _host(request.url)
    try:
        async with _call(await _connections(), request, timeout_s) as answer:
            body = await _body(answer, max_bytes, host)
    except TimeoutError:
        failure = HttpError("timeout", f"{host} did not answer within {timeout_s:.3g} s")
    except (aiohttp.InvalidURL, aiohttp.NonHttpUrlClientError, ValueError):
        failure = HttpError(
            "unreachable",
            f"no request to {host!r} can be made: its address, the key or the proxy is not valid",
        )
    except aiohttp.ClientHttpProxyError as error:
        failure = HttpError(
            "unreachable", f"the proxy refused the way to {host} (HTTP status {error.status})"
        )
    except aiohttp.ClientResponseError:
        failure = HttpError("unreadable", f"the answer of {host} is no valid HTTP")
    except aiohttp.ClientPayloadError as error:
        raise HttpError("unreadable", f"the answer of {host} broke off") from error
    except (aiohttp.ClientError, OSError) as error:
        raise HttpError("unreachable", f"{host} cannot be reached: {_reason(error)}") from error
    else:
        headers = {name.lower(): value for name, value in answer.headers.items()}
        return HttpResponse(answer.status, headers, body)
    raise failure  # not from an error that shows address and headers, and in them keys


def joined(base: str, path: str) -> str:
    """Return the address of a vendor's documented path under a base of scheme, host and prefix.

    >>> joined("https://api.example/", "/search"), joined("http://proxy:8080/vendor", "v1/search")
    ('https://api.example/search', 'http://proxy:8080/vendor/v1/search')
    """
    return f"{base.rstrip('/')}/{path.lstrip('/')}"


def json_value(body: bytes) -> Any:
    """Return the JSON value of a body. Raises ValueError when it holds none.

    What the standard library takes and RFC 8259 does not is taken too: NaN, half a surrogate pair,
    UTF-16.

    >>> json_value(b'{"score": 1}'), json_value(b"NaN")
    ({'score': 1}, nan)
    """
    try:
        return orjson.loads(body)
    except ValueError:
        pass
    try:
        return json.loads(body)
    except RecursionError as error:
        raise ValueError("the JSON value is nested too deeply") from error


def _call(connections: _Connections, request: HttpRequest, timeout_s: float) -> Any:
    url = request.url + (f"?{urlencode(request.params)}" if request.params else "")
    headers = dict(request.headers)
    data = None
    if request.json is not None:
        headers.setdefault("Content-Type", "application/json")
        try:
            data = orjson.dumps(request.json)
        except orjson.JSONEncodeError as error:
            raise ValueError("the body is no JSON value") from error
    return connections.session.request(
        request.method,
        URL(url, encoded=True),
        headers=headers,
        data=data,
        allow_redirects=False,
        proxy=connections.proxy_for(request.url),
        timeout=aiohttp.ClientTimeout(total=timeout_s),
    )


async def _body(answer: aiohttp.ClientResponse, max_bytes: int, host: str) -> bytes:
    parts: list[bytes] = []
    size = 0
    async for part in answer.content.iter_any():
        parts.append(part)
        size += len(part)
        if size > max_bytes:
            answer.close()
            raise HttpError("too_large", f"the answer of {host} is over {max_bytes} bytes")
    return b"".join(parts)


def _host(url: str) -> str:
    try:
        return urlsplit(url).netloc.rpartition("@")[2]
    except ValueError:
        return ""


def _reason(error: Exception) -> str:
    if isinstance(error, aiohttp.ClientProxyConnectionError):
        return "the proxy of the environment does not answer"
    if isinstance(error, aiohttp.ClientConnectorDNSError):
        return "the name is not known"
    if isinstance(error, aiohttp.ClientConnectorCertificateError):
        return "its certificate is not trusted"
    if isinstance(error, aiohttp.ClientConnectorError) and error.errno:
        return os.strerror(error.errno).lower()
    return "the connection was closed"


class _Connections(NamedTuple):
    session: aiohttp.ClientSession
    proxies: Mapping[str, str]
    lifetime: AsyncGenerator[aiohttp.ClientSession]
    sockets: weakref.WeakSet[socket.socket]
    process: int

    def proxy_for(self, url: str) -> str | None:
        if not self.proxies:
            return None
        address = urlsplit(url)
        host = address.hostname or ""
        if host in {"localhost", "127.0.0.1", "::1"} or proxy_bypass(host):
            return None
        proxy = self.proxies.get(address.scheme) or self.proxies.get("all")
        return f"http://{proxy}" if proxy and "://" not in proxy else proxy


_by_loop: weakref.WeakKeyDictionary[asyncio.AbstractEventLoop, _Connections] = (
    weakref.WeakKeyDictionary()
)
_lock = threading.Lock()


async def _connections() -> _Connections:
    """Return the running loop's connections; the first call of a loop makes them."""
    loop = asyncio.get_running_loop()
    known = _by_loop.get(loop)
    if known is None:
        sockets: weakref.WeakSet[socket.socket] = weakref.WeakSet()
        lifetime = _lifetime(sockets)
        known = _Connections(
            await anext(lifetime), getproxies_environment(), lifetime, sockets, os.getpid()
        )
        with _lock:
            _by_loop[loop] = known
        await _forget_closed()
    return known


async def _forget_closed() -> None:
    """Close what belongs to loops that were closed without shutting their generators down."""
    with _lock:
        closed = [loop for loop in _by_loop if loop.is_closed()]
        left = [_by_loop.pop(loop) for loop in closed]
    for each in left:
        for one in list(each.sockets):  # a transport cannot be closed without its loop
            one.close()
        with suppress(RuntimeError):
            await each.session.close()


async def _lifetime(
    sockets: weakref.WeakSet[socket.socket],
) -> AsyncGenerator[aiohttp.ClientSession]:
    """Give a session that ends with its loop: a loop that shuts down closes its generators."""

    def opened(address: aiohttp.AddrInfoType) -> socket.socket:
        made = socket.socket(*address[:3])
        sockets.add(made)
        return made

    connector = aiohttp.TCPConnector(limit=0, keepalive_timeout=KEEP_ALIVE_S, socket_factory=opened)
    session = aiohttp.ClientSession(
        connector=connector,
        cookie_jar=aiohttp.DummyCookieJar(),  # tenants share the session
        headers={"User-Agent": USER_AGENT},
        trust_env=False,
    )
    session._retry_connection = False  # noqa: SLF001 - whoever pays for requests counts attempts
    try:
        yield session
    finally:
        with _lock:  # the session knows its loop, which would be kept for ever
            _by_loop.pop(asyncio.get_running_loop(), None)
        with suppress(RuntimeError):  # the loop may be closing already
            await session.close()


@atexit.register
def _close_running() -> None:
    """Close the sessions of loops that run until the process ends, such as the bridge's."""
    for loop, known in list(_by_loop.items()):
        if known.process == os.getpid() and loop.is_running():
            with suppress(RuntimeError, TimeoutError):
                closed = asyncio.run_coroutine_threadsafe(known.lifetime.aclose(), loop)
                closed.result(_GOODBYE_S)
