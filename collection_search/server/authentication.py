"""Closes every path that is not named as open to callers without a token."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from .access import Caller, Role, find_caller
from .asgi import API, PAGE, headers_of, is_below, is_of_process, path_of, refuse

if TYPE_CHECKING:
    from starlette.types import ASGIApp, Receive, Scope, Send

    from ..settings import Settings

HEALTH: Final = frozenset({f"{API}/health", "/ok"})
"""Paths for whoever watches over the server; `/ok` is a LangGraph server's."""
_READING: Final = frozenset({"GET", "HEAD"})
_REFUSAL: Final = (
    "This needs a token: send the header 'Authorization: Bearer TOKEN'."
    " An admin makes one with 'collection-search tokens add USER --role ROLE'."
)


class Authentication:
    """A middleware that finds the caller of each request, for `access.authenticate`.

    With tokens it closes all paths but `HEALTH` and the page's files, also those of a LangGraph
    server into which the app is mounted, and those of routes that are added later.
    """

    def __init__(self, app: ASGIApp, *, settings: Settings) -> None:
        self._app = app
        self._settings = settings

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request, or pass it on."""
        if scope["type"] not in {"http", "websocket"} or is_of_process(scope):
            await self._app(scope, receive, send)
            return
        caller = await self._caller(scope)
        if caller is not None and caller.role < Role.reviewer and runs_graphs(scope):
            await refuse(scope, send, 403, caller.refusal(Role.reviewer))
            return
        if caller is not None:
            scope["state"] = {**scope.get("state", {}), "caller": caller}
        elif not is_open(scope):
            await refuse(scope, send, 401, _REFUSAL, {"www-authenticate": "Bearer"})
            return
        await self._app(scope, receive, send)

    async def _caller(self, scope: Scope) -> Caller | None:
        if not self._settings.server_auth:
            return Caller(self._settings.tenant, "local", Role.admin)
        return await find_caller(headers_of(scope).get("authorization"), self._settings)


def runs_graphs(scope: Scope) -> bool:
    """Return whether the path is one of those by which a LangGraph server's graphs are tools."""
    path = path_of(scope)
    return is_below(path, "/mcp") or is_below(path, "/a2a")


def is_open(scope: Scope) -> bool:
    """Return whether the request needs no token: it reads the page or the server's health.

    A browser asks before a request to another origin, and sends no token with the question; what
    answers it is the LangGraph server's CORS alone.
    """
    if scope["type"] != "http":
        return False
    path, method = path_of(scope), scope["method"]
    if method in _READING:
        is_page = path == "/" or (is_below(path, PAGE) and not is_below(path, API))
        return is_page or path in HEALTH
    return method == "OPTIONS" and "access-control-request-method" in headers_of(scope)
