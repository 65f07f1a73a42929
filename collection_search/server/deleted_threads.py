"""Withdraws the reviews whose thread is deleted on the LangGraph server of this process."""

from __future__ import annotations

import logging
import re
from typing import TYPE_CHECKING, Final
from uuid import UUID

from ..runtime.concurrency import offload
from ..runtime.failure_log import log_failure
from .asgi import path_of
from .opened import context_of

if TYPE_CHECKING:
    from starlette.types import ASGIApp, Message, Receive, Scope, Send

    from ..context import SearchContext
    from .access import Caller

_SUCCESS: Final = range(200, 300)
_THREAD: Final = re.compile(r"/threads/([^/]+)/?")

logger = logging.getLogger(__name__)


class DeletedThreads:
    """A middleware that withdraws the open reviews of a thread once it is deleted.

    Here it is certain that the thread was this server's and is no more. A failure is logged; the
    server's answer stays as it is.
    """

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass on a request and its answer."""
        thread_id = thread_to_delete(scope)
        caller: Caller | None = scope.get("state", {}).get("caller")
        if thread_id is None or caller is None or not _is_in_server():
            await self._app(scope, receive, send)
            return
        base: SearchContext = scope["app"].state.context

        async def withdraw_and_send(message: Message) -> None:
            if message["type"] == "http.response.start" and message["status"] in _SUCCESS:
                await _attempt_withdrawal(thread_id, caller, base)
            await send(message)

        await self._app(scope, receive, withdraw_and_send)


def thread_to_delete(scope: Scope) -> str | None:
    """Return the id of the thread that a request deletes; None for any other request."""
    if scope["type"] != "http" or scope["method"] != "DELETE":
        return None
    if not (found := _THREAD.fullmatch(path_of(scope))):
        return None
    try:
        return str(UUID(found[1]))
    except ValueError:
        return None


async def withdraw_reviews(thread_id: str, caller: Caller, base: SearchContext) -> None:
    """Withdraw the tenant's open reviews of a LangGraph thread. Raises StoreError."""
    store = (await context_of(base, caller).storage()).gates
    for gate in await offload(store.gates, caller.tenant, state="open"):
        if gate.host == "server" and gate.thread_id == thread_id:
            await offload(store.withdraw, caller.tenant, gate.gate_id)
            logger.info("the review %s is withdrawn: its thread was deleted", gate.gate_id)


def _is_in_server() -> bool:
    from ..adapters.langgraph_loopback import is_in_server

    return is_in_server()


async def _attempt_withdrawal(thread_id: str, caller: Caller, base: SearchContext) -> None:
    try:
        await withdraw_reviews(thread_id, caller, base)
    except Exception as error:  # noqa: BLE001 - the thread is deleted, whatever happens here
        log_failure(logger, f"the reviews of the deleted thread {thread_id} stay", error)
