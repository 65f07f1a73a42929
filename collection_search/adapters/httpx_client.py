"""HTTP requests through the caller's own `httpx.AsyncClient`.

The rules of `http.send` apply. The client's certificates, proxies, default headers and hooks are
used, and its `auth` where a request has no credentials. Its cookies are neither sent nor changed.
The client is never closed here.
"""

from __future__ import annotations

import asyncio
import copy
import logging
import os
import re
import socket
import ssl
import weakref
from contextvars import ContextVar
from typing import TYPE_CHECKING, Final, TypeAlias
from urllib.parse import urlsplit

from ..errors import ConfigError
from ..ports.http_client import validate_http_client
from ..runtime.concurrency import is_blocked, on_loop
from .http import MAX_ANSWER_BYTES, USER_AGENT, HttpError, HttpResponse, read_body, send, wire_form

if TYPE_CHECKING:
    from collections.abc import Iterator

    import httpx

    from .http import HttpRequest, Transmit

_Home: TypeAlias = "tuple[int, weakref.ref[asyncio.AbstractEventLoop]]"
"""A process and a loop in it."""
_home_loops: weakref.WeakKeyDictionary[httpx.AsyncClient, _Home] = weakref.WeakKeyDictionary()
_is_our_call: ContextVar[bool] = ContextVar("is_our_call", default=False)


def choose_transmit(http_client: httpx.AsyncClient | None) -> Transmit:
    """Return the function that makes calls: with the caller's client, else with the own session.

    Raises InputError for anything but an `httpx.AsyncClient`.
    """
    given = validate_http_client(http_client)
    return send if given is None else ClientTransmit(given)


class ClientTransmit:
    """Makes calls through one client, always on the event loop that used it first."""

    def __init__(self, client: httpx.AsyncClient) -> None:
        self._client = client
        logging.getLogger("httpx").addFilter(_WITHOUT_SECRETS)  # once, however often it is called

    async def __call__(
        self, request: HttpRequest, *, timeout_s: float, max_bytes: int = MAX_ANSWER_BYTES
    ) -> HttpResponse:
        """Return the answer. Raises HttpError, and ConfigError for an unusable client."""
        if self._client.is_closed:
            raise ConfigError("The httpx client is closed. Keep it open until all work is done.")
        home = self._home_loop()
        try:
            async with asyncio.timeout(timeout_s):
                return await on_loop(home, self._exchange(request, timeout_s, max_bytes))
        except TimeoutError:
            failure = HttpError.of("timeout", request, f"{timeout_s:.3g}")
        raise failure

    def _home_loop(self) -> asyncio.AbstractEventLoop:
        running = asyncio.get_running_loop()
        here = os.getpid(), weakref.ref(running)
        process, loop = _home_loops.setdefault(self._client, here)
        home = loop()
        if home is None or not home.is_running() or process != os.getpid():
            raise ConfigError(
                "The event loop that used the httpx client first has ended, or is in another"
                " process. Make a new client for each event loop."
            )
        if home is not running and is_blocked(home):
            raise ConfigError(
                "A synchronous call blocks the event loop that its httpx client belongs to. Await"
                " the asynchronous function instead, or give the synchronous call its own client."
            )
        return home

    async def _exchange(
        self, request: HttpRequest, timeout_s: float, max_bytes: int
    ) -> HttpResponse:
        import httpx

        heads: list[httpx.Response] = []
        try:
            response = await self._head(self._build(request, timeout_s), heads)
        except (httpx.HTTPError, httpx.InvalidURL, OSError, _UnfitError) as error:
            if heads and _is_unread_answer(error, heads[-1]):
                return _answer(heads[-1], b"")
            failure = _failure(error, request, timeout_s)
        else:
            try:
                body = await read_body(response.aiter_bytes(), request, max_bytes)
                return _answer(response, body)
            except (httpx.TimeoutException, TimeoutError):
                failure = HttpError.of("timeout", request, f"{timeout_s:.3g}")
            except (httpx.HTTPError, OSError):
                failure = HttpError.of("broke_off", request)
            finally:
                await response.aclose()
        raise failure  # not from an error that holds address and headers, and in them keys

    def _build(self, request: HttpRequest, timeout_s: float) -> httpx.Request:
        import httpx

        try:
            url, headers, body = wire_form(request)
            address = urlsplit(url)
            if not address.hostname or address.port == 0:  # an impossible port raises here
                raise _UnfitError
            return httpx.Request(
                request.method,
                url,
                headers=_with_defaults(headers, self._client.headers),
                content=body,
                extensions={"timeout": httpx.Timeout(timeout_s).as_dict()},
            )
        except ValueError:
            raise _UnfitError from None

    async def _head(self, built: httpx.Request, heads: list[httpx.Response]) -> httpx.Response:
        """Return the answer with its body unread, also appended to `heads` before any hook."""
        import httpx

        async def remember(response: httpx.Response) -> None:
            heads.append(response)

        given = self._client
        once = copy.copy(given)  # it shares the connections, but not the jar of cookies
        once.cookies = httpx.Cookies()
        hooks = given.event_hooks
        once.event_hooks = {**hooks, "response": [remember, *hooks["response"]]}
        own_login = "authorization" in built.headers or built.url.userinfo
        auth = None if own_login else httpx.USE_CLIENT_DEFAULT
        token = _is_our_call.set(True)
        try:
            return await once.send(built, stream=True, follow_redirects=False, auth=auth)
        finally:
            _is_our_call.reset(token)


class _UnfitError(Exception):
    """An invalid request; its cause may show a key."""


def _with_defaults(headers: dict[str, str], given: httpx.Headers) -> httpx.Headers:
    """Return our headers with the client's as defaults, without cookies."""
    import httpx

    merged = httpx.Headers(given)
    merged.pop("cookie", None)
    if merged.get("user-agent") == f"python-httpx/{httpx.__version__}":
        merged["user-agent"] = USER_AGENT
    merged["accept-encoding"] = "gzip, deflate"  # others unfold too far to be read bit by bit
    merged.update(headers)
    return merged


def _is_unread_answer(error: Exception, head: httpx.Response) -> bool:
    """Return whether an answer came: an invalid redirect, or one for which a hook raised."""
    import httpx

    is_redirect = isinstance(error, httpx.RemoteProtocolError) and head.has_redirect_location
    return is_redirect or isinstance(error, httpx.HTTPStatusError)


def _answer(response: httpx.Response, body: bytes) -> HttpResponse:
    headers = {name.lower(): value for name, value in response.headers.multi_items()}
    return HttpResponse(response.status_code, headers, body)


def _failure(error: Exception, request: HttpRequest, timeout_s: float) -> HttpError:
    """Return the HttpError for an error before the answer."""
    import httpx

    if isinstance(error, httpx.TimeoutException | TimeoutError):
        return HttpError.of("timeout", request, f"{timeout_s:.3g}")
    if isinstance(error, httpx.ProxyError):
        status = re.match(r"\d{3}", str(error))
        return HttpError.of("proxy", request, status[0] if status else "unknown")
    if isinstance(error, httpx.RemoteProtocolError) and "disconnected" not in str(error):
        return HttpError.of("no_http", request)
    if isinstance(error, httpx.NetworkError | httpx.RemoteProtocolError | OSError):
        return HttpError.of("unreachable", request, _reason(error))
    return HttpError.of("no_request", request)


def _reason(error: BaseException) -> str:
    causes = list(_causes(error))
    if any(isinstance(cause, socket.gaierror) for cause in causes):
        return "the name is not known"
    if any(isinstance(cause, ssl.SSLCertVerificationError) for cause in causes):
        return "its certificate is not trusted"
    errors = (cause.errno for cause in causes if isinstance(cause, OSError) and cause.errno)
    known = next((errno for errno in errors if errno > 0), None)
    return os.strerror(known).lower() if known else "the connection was closed"


def _causes(error: BaseException | None) -> Iterator[BaseException]:
    while error is not None:
        yield error
        if isinstance(error, BaseExceptionGroup):
            for each in error.exceptions:
                yield from _causes(each)
        error = error.__cause__ or error.__context__


class _WithoutSecrets(logging.Filter):
    """Removes queries and passwords from the addresses that httpx logs for our calls."""

    def filter(self, record: logging.LogRecord) -> bool:
        import httpx

        if _is_our_call.get() and isinstance(record.args, tuple):
            record.args = tuple(
                arg.copy_with(query=None, userinfo=b"") if isinstance(arg, httpx.URL) else arg
                for arg in record.args
            )
        return True


_WITHOUT_SECRETS: Final = _WithoutSecrets()
