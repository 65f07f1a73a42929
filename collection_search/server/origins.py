"""Refuses requests that another website made a browser send."""

from __future__ import annotations

import ipaddress
from typing import TYPE_CHECKING, Final
from urllib.parse import urlsplit

from .asgi import PAGE, headers_of, is_below, is_of_process, path_of, refuse
from .authentication import HEALTH

if TYPE_CHECKING:
    from starlette.types import ASGIApp, Receive, Scope, Send

    from ..settings import Settings

STUDIO: Final = "https://smith.langchain.com"
"""LangGraph's page for development; it calls a LangGraph server's own paths."""
_READING: Final = frozenset({"GET", "HEAD"})


class OriginCheck:
    """A middleware that checks `Host` and `Origin`.

    Without tokens whoever reaches the server may do everything, and a browser on the same machine
    reaches it. Then the host must be this machine or one of `server_allowed_hosts`: another name
    that leads here is an attack by DNS rebinding. A request that another website sends is refused,
    except by Studio and other pages of this machine to a LangGraph server's own paths. With tokens,
    which no browser sends by itself, only hosts are checked, and only if the setting names some.
    """

    def __init__(self, app: ASGIApp, *, settings: Settings) -> None:
        self._app = app
        self._needs_token = settings.server_auth
        self._allowed = frozenset(settings.server_allowed_hosts)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request, or pass it on."""
        if scope["type"] not in {"http", "websocket"} or is_of_process(scope):
            await self._app(scope, receive, send)
        elif refusal := self._refusal(scope):
            await refuse(scope, send, 403, refusal)
        else:
            await self._app(scope, receive, send)

    def _refusal(self, scope: Scope) -> str | None:
        headers, path = headers_of(scope), path_of(scope)
        host = headers.get("host", "")
        if path in HEALTH:
            return None
        is_checked = not self._needs_token or bool(self._allowed)
        if is_checked and not self._is_known(_name(host)):
            return (
                "The server is not called by this name. Where that is right, put it into"
                " COLLECTION_SEARCH_SERVER_ALLOWED_HOSTS."
            )
        if self._needs_token or not self._is_foreign(scope, host, path):
            return None
        return "Another website sent this request, so it is refused."

    def _is_foreign(self, scope: Scope, host: str, path: str) -> bool:
        headers = headers_of(scope)
        origin, site = headers.get("origin"), headers.get("sec-fetch-site", "none")
        if origin is not None:
            parts = _split(origin)
            if parts is None:
                return True
            netloc, name = parts
            if netloc == host.lower() or name in self._allowed:
                return False
            return is_below(path, PAGE) or not (origin == STUDIO or _is_loopback(name))
        is_opened = headers.get("sec-fetch-mode") == "navigate" and scope["method"] in _READING
        return site in {"cross-site", "same-site"} and not is_opened

    def _is_known(self, name: str) -> bool:
        return name in self._allowed or (not self._needs_token and _is_loopback(name))


def _split(origin: str) -> tuple[str, str] | None:
    """Return an origin's host with its port, and without; None for one that is no address."""
    try:
        parts = urlsplit(origin.lower())
        name = parts.hostname
    except ValueError:
        return None
    return (parts.netloc, name) if name else None


def _name(host: str) -> str:
    found = _split(f"//{host}")
    return found[1] if found else ""


def _is_loopback(name: str) -> bool:
    try:
        return ipaddress.ip_address(name).is_loopback
    except ValueError:
        return name == "localhost" or name.endswith(".localhost")
