"""Refuses bodies that no request needs."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from .asgi import PAGE, headers_of, is_below, path_of, refuse

if TYPE_CHECKING:
    from starlette.types import ASGIApp, Message, Receive, Scope, Send

MAX_BYTES: Final = 1 << 20
"""Limit of a body to a path of ours."""
MAX_BYTES_OF_HOST: Final = 16 << 20
"""Limit of a body to a path of a LangGraph server, such as the state of a thread."""


class BodyLimit:
    """A middleware that answers 413 to a larger body, told or found to be so."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request, or pass it on."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        limit = MAX_BYTES if is_below(path_of(scope), PAGE) else MAX_BYTES_OF_HOST
        told = headers_of(scope).get("content-length", "0")
        if not told.isdecimal() or int(told) > limit:
            await _refuse(scope, send, limit)
            return
        counted = _CountedBody(receive, send, limit)
        try:
            await self._app(scope, counted.receive, counted.send)
        except Exception:  # an app without the rest of its body may end as it likes
            if not counted.is_too_large:
                raise
        if counted.is_too_large and not counted.has_started:
            await _refuse(scope, send, limit)


async def _refuse(scope: Scope, send: Send, limit: int) -> None:
    await refuse(scope, send, 413, f"The body is too large: the limit is {limit >> 20} MiB.")


class _CountedBody:
    """The two channels of a request; once its body is too large, the app gets and says no more."""

    def __init__(self, receive: Receive, send: Send, limit: int) -> None:
        self._receive = receive
        self._send = send
        self._left = limit
        self.has_started = False

    @property
    def is_too_large(self) -> bool:
        return self._left < 0

    async def receive(self) -> Message:
        message = await self._receive()
        self._left -= len(message.get("body", b""))
        return {"type": "http.disconnect"} if self.is_too_large else message

    async def send(self, message: Message) -> None:
        if self.is_too_large and not self.has_started:
            return
        self.has_started = True
        await self._send(message)
