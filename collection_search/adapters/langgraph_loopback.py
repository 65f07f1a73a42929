"""The reviews of the LangGraph server in this process, without a socket."""

from __future__ import annotations

import sys
from importlib import import_module
from typing import TYPE_CHECKING, Any, Final

import httpx
from langgraph_sdk import get_client
from langgraph_sdk.client import LangGraphClient
from starlette.authentication import AuthCredentials

from ..errors import AlreadyDecidedError, ConfigError, InputError
from .langgraph_server import ServerReviews, list_asked

if TYPE_CHECKING:
    from collections.abc import Mapping

    from starlette.types import ASGIApp, Receive, Scope, Send

    from .langgraph_server import AskedReview

_SERVER: Final = "langgraph_api.server"
_ROOT: Final = "/noauth"
"""The root path by which the server knows a request of its own process; it asks for no token."""
_TIMEOUT: Final = httpx.Timeout(connect=5, read=300, write=300, pool=5)
"""The SDK's own."""


class MissingThreadError(InputError):
    """The server of this process has no thread with the review's run."""


class NotWaitingError(InputError):
    """The review's thread is there, and does not wait at the review any more."""


def is_in_server() -> bool:
    """Return whether this process is a LangGraph server."""
    return _SERVER in sys.modules


class LoopbackReviews(ServerReviews):
    """The open reviews of one thread on this process's own LangGraph server.

    `user` is what the server's authentication returns for a request: the run is resumed as that
    user's. With None it is nobody's, as on a server without tokens. The caller has to look up first
    whose review it is.
    """

    def __init__(self, thread_id: str, user: Mapping[str, Any] | None = None) -> None:
        super().__init__("http://api")
        self._thread_id = thread_id
        self._user = user

    async def _find(self, client: LangGraphClient, gate_id: str) -> AskedReview:
        try:
            thread = await client.threads.get(self._thread_id)
        except httpx.HTTPStatusError as error:
            if error.response.status_code != httpx.codes.NOT_FOUND:
                raise
            raise MissingThreadError(
                f"This LangGraph server has no thread with the run of {gate_id}: it was deleted, or"
                " it is on another LangGraph server. Nothing was changed. Decide the review on that"
                " server, or reject it here: then it is listed no more."
            ) from error
        for asked in await list_asked(client, thread):
            if asked.gate.gate_id == gate_id:
                return asked
        if thread["status"] == "busy":
            raise AlreadyDecidedError(
                f"The run of {gate_id} goes on already: somebody has answered. Nothing was changed."
            )
        raise NotWaitingError(
            f"The run of {gate_id} does not wait at this review any more: it has ended, or was"
            " changed and asks anew. The review is withdrawn, and nothing else was changed."
        )

    def _connect(self) -> LangGraphClient:
        if self._user is None:
            return get_client(url=None, api_key=None)
        try:
            app = _AsUser(sys.modules[_SERVER].app, self._user)
            transports = import_module("langgraph_api.asgi_transport")
            transport = transports.ASGITransport(app, root_path=_ROOT)
        except (ImportError, AttributeError) as error:
            raise ConfigError(
                "This version of langgraph_api does not let the page go on with a run for a user."
                " Decide by 'collection-search review --server ADDRESS'. Nothing was changed."
            ) from error
        return LangGraphClient(
            httpx.AsyncClient(base_url=self.address, transport=transport, timeout=_TIMEOUT)
        )


class _AsUser:
    """The server's app with the user that its authentication would find, had it a token to read.

    The server has no public way to go on with a run for a user without his token.
    """

    def __init__(self, app: ASGIApp, user: Mapping[str, Any]) -> None:
        self._app = app
        self._identity = {
            "user": import_module("langgraph_api.auth.custom").normalize_user(dict(user)),
            "auth": AuthCredentials(user["permissions"]),
        }

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        await self._app({**scope, **self._identity}, receive, send)
