"""HTTP requests to the addresses that the operator configured: providers, models, embedders.

There is one session with persistent connections per event loop, which ends with its loop.
Redirects are not followed and cookies are not stored. `HTTPS_PROXY`, `HTTP_PROXY` and `NO_PROXY`
have their usual effect, netrc files have none. `httpx_client` uses the caller's own client instead.
"""

from __future__ import annotations

import asyncio
import json
import os
import socket
from contextvars import Context
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final, Literal, NamedTuple, Protocol
from urllib.parse import urlencode, urlsplit
from urllib.request import getproxies_environment, proxy_bypass

import aiohttp
import orjson
from yarl import URL

from ..errors import ConfigError
from .per_loop import PerLoop

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Awaitable, Mapping

    from .per_loop import Sockets

MAX_ANSWER_BYTES: Final = 16 * 1024 * 1024
"""Limit of the decoded bytes of one answer."""
_LEAST_S: Final = 0.001
"""Time of a call that has none left: to aiohttp 0 means no limit."""
KEEP_ALIVE_S: Final = 60.0
"""After this time an unused connection is closed."""
USER_AGENT: Final = "collection-search"

FailureKind = Literal["timeout", "unreachable", "too_large", "unreadable"]
"""`unreachable`: no answer began, another attempt may help. `unreadable`: an answer broke off or
is no HTTP."""

Problem = Literal[
    "timeout", "no_request", "proxy", "no_http", "broke_off", "unreachable", "too_large"
]
_PROBLEMS: Final[Mapping[Problem, tuple[FailureKind, str]]] = {
    "timeout": ("timeout", "{host} did not answer within {detail} s"),
    "no_request": (
        "unreachable",
        "no request to {host!r} can be made: its address, the key or the proxy is not valid",
    ),
    "proxy": ("unreachable", "the proxy refused the way to {host} (HTTP status {detail})"),
    "no_http": ("unreadable", "the answer of {host} is no valid HTTP"),
    "broke_off": ("unreadable", "the answer of {host} broke off"),
    "unreachable": ("unreachable", "{host} cannot be reached: {detail}"),
    "too_large": ("too_large", "the answer of {host} is over {detail} bytes"),
}


@dataclass(frozen=True, slots=True)
class HttpRequest:
    """One call; its `repr` does not show parts with a possible key or password."""

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
        """Return the body's JSON value. Raises ValueError for invalid JSON."""
        return parse_json(self.body)

    def text(self) -> str:
        """Return the body as text, undecodable bytes replaced."""
        return self.body.decode("utf-8", "replace")


class HttpError(Exception):
    """A call without a complete answer; the message names the host, never the query."""

    def __init__(self, kind: FailureKind, message: str) -> None:
        super().__init__(message)
        self.kind: FailureKind = kind

    @classmethod
    def of(cls, problem: Problem, request: HttpRequest, detail: object = "") -> HttpError:
        """Return the error of a request's problem."""
        kind, sentence = _PROBLEMS[problem]
        return cls(kind, sentence.format(host=_host(request.url), detail=detail))


class Transmit(Protocol):
    """A function that makes one call and returns its answer with any status. Raises HttpError.

    It takes at most `timeout_s` seconds and reads at most `max_bytes` decoded bytes. It does not
    follow redirects, send or store cookies, or retry.
    """

    def __call__(
        self, request: HttpRequest, *, timeout_s: float, max_bytes: int = MAX_ANSWER_BYTES
    ) -> Awaitable[HttpResponse]:
        """Make the call."""
        ...


async def send(
    request: HttpRequest, *, timeout_s: float, max_bytes: int = MAX_ANSWER_BYTES
) -> HttpResponse:
    """Return the answer, read within `timeout_s` seconds in all. Raises HttpError.

    A connection keeps the context in which it was opened or read, and with it the state of a run,
    for as long as it is kept alive. So a task with an empty context makes the call.
    """
    exchange = _exchange(await _connections.get(), request, timeout_s, max_bytes)
    return await asyncio.get_running_loop().create_task(exchange, context=Context())


async def _exchange(
    connections: _Connections, request: HttpRequest, timeout_s: float, max_bytes: int
) -> HttpResponse:
    try:
        async with _call(connections, request, timeout_s) as answer:
            body = await read_body(answer.content.iter_any(), request, max_bytes)
    except TimeoutError:
        failure = HttpError.of("timeout", request, f"{timeout_s:.3g}")
    except aiohttp.ClientConnectorCertificateError as error:  # a ValueError too
        raise HttpError.of("unreachable", request, _reason(error)) from error
    except (aiohttp.InvalidURL, aiohttp.NonHttpUrlClientError, ValueError):
        failure = HttpError.of("no_request", request)
    except aiohttp.ClientHttpProxyError as error:
        failure = HttpError.of("proxy", request, error.status)
    except aiohttp.ClientResponseError:
        failure = HttpError.of("no_http", request)
    except aiohttp.ClientPayloadError as error:
        raise HttpError.of("broke_off", request) from error
    except (aiohttp.ClientError, OSError) as error:
        raise HttpError.of("unreachable", request, _reason(error)) from error
    else:
        headers = {name.lower(): value for name, value in answer.headers.items()}
        return HttpResponse(answer.status, headers, body)
    raise failure  # not from an error that shows address and headers, and in them keys


def join_url(base: str, path: str) -> str:
    """Return the address of a vendor's documented path under a base of scheme, host and prefix.

    >>> (join_url("https://api.example/", "/search"),
    ...  join_url("http://proxy:8080/vendor", "v1/search"))
    ('https://api.example/search', 'http://proxy:8080/vendor/v1/search')
    """
    return f"{base.rstrip('/')}/{path.lstrip('/')}"


def parse_json(body: bytes) -> Any:
    """Return the JSON value of a body. Raises ValueError for invalid JSON.

    Like the standard library, it accepts NaN, half a surrogate pair and UTF-16.

    >>> parse_json(b'{"score": 1}'), parse_json(b"NaN")
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


def user_agent(contact: str | None) -> str:
    """Return the User-Agent header, with the contact of the operator if it is set.

    >>> user_agent("crawler@example.com").endswith(" (crawler@example.com)")
    True
    """
    if contact is None:
        return USER_AGENT
    if not contact.isascii() or not contact.isprintable() or set(contact) & set("()"):
        raise ConfigError("fetch_contact needs printable ASCII without brackets.")
    return f"{USER_AGENT} ({contact})"


def wire_form(request: HttpRequest) -> tuple[str, dict[str, str], bytes | None]:
    """Return address, headers and body as they are sent. Raises ValueError for an invalid body.

    >>> wire_form(HttpRequest("GET", "https://api.example/find", {"q": "a b"}))
    ('https://api.example/find?q=a+b', {}, None)
    """
    url = request.url + (f"?{urlencode(request.params)}" if request.params else "")
    headers = dict(request.headers)
    if request.json is None:
        return url, headers, None
    headers.setdefault("Content-Type", "application/json")
    try:
        return url, headers, orjson.dumps(request.json)
    except orjson.JSONEncodeError as error:
        raise ValueError("the body is no JSON value") from error


async def read_body(parts: AsyncIterator[bytes], request: HttpRequest, max_bytes: int) -> bytes:
    """Return the whole body. Raises HttpError as soon as it is too large."""
    read: list[bytes] = []
    size = 0
    async for part in parts:
        read.append(part)
        size += len(part)
        if size > max_bytes:
            raise HttpError.of("too_large", request, max_bytes)
    return b"".join(read)


def _call(connections: _Connections, request: HttpRequest, timeout_s: float) -> Any:
    url, headers, data = wire_form(request)
    return connections.session.request(
        request.method,
        URL(url, encoded=True),
        headers=headers,
        data=data,
        allow_redirects=False,
        proxy=connections.proxy_for(request.url),
        timeout=aiohttp.ClientTimeout(total=max(timeout_s, _LEAST_S)),
    )


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

    def proxy_for(self, url: str) -> str | None:
        if not self.proxies:
            return None
        address = urlsplit(url)
        host = address.hostname or ""
        if host in {"localhost", "127.0.0.1", "::1"} or proxy_bypass(host):
            return None
        proxy = self.proxies.get(address.scheme) or self.proxies.get("all")
        return f"http://{proxy}" if proxy and "://" not in proxy else proxy

    async def aclose(self) -> None:
        await self.session.close()


def _connect(sockets: Sockets) -> _Connections:
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
    return _Connections(session, getproxies_environment())


_connections: Final = PerLoop(_connect, _Connections.aclose)
