"""Server-sent events."""

from __future__ import annotations

import re
import time
from contextlib import aclosing
from typing import TYPE_CHECKING, Any, Final

import orjson
from fastapi.responses import StreamingResponse

from .problems import describe_late_error

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable

    from .places import Places

KEEP_ALIVE: Final = ": alive\n\n"
"""A comment, which clients skip; it keeps proxies from closing the connection."""
KEEP_ALIVE_S: Final = 15.0
"""Longest silence; what a caller may do is asked again as often."""


def write_event(kind: str, data: Any, *, number: int | None = None) -> str:
    r"""Return one event; `data` is JSON-plain, or JSON as text.

    >>> write_event("end", {"status": "done"}, number=3)
    'id: 3\nevent: end\ndata: {"status":"done"}\n\n'
    """
    text = data if isinstance(data, str) else orjson.dumps(data).decode()
    name = re.sub(r"[^\w.-]", "_", kind)
    first = "" if number is None else f"id: {number}\n"
    return f"{first}event: {name}\ndata: {text}\n\n"


def stream_events(
    events: AsyncGenerator[str, None], is_allowed: Callable[[], Awaitable[bool]], places: Places
) -> StreamingResponse:
    """Return the response that sends the events as they come.

    It ends when `is_allowed`, which is asked at least as often as the connection is kept alive,
    says no. An error is the last event, `error`, with the API's form of errors.
    """
    return StreamingResponse(
        _guarded(events, is_allowed, places),
        media_type="text/event-stream",
        headers={"Cache-Control": "no-store", "X-Accel-Buffering": "no"},
    )


async def _guarded(
    events: AsyncGenerator[str, None], is_allowed: Callable[[], Awaitable[bool]], places: Places
) -> AsyncIterator[str]:
    asked_at = time.monotonic()
    try:
        async with aclosing(events):
            async for event in events:
                if event == KEEP_ALIVE or time.monotonic() - asked_at >= KEEP_ALIVE_S:
                    if not await is_allowed():
                        return
                    asked_at = time.monotonic()
                yield event
    except Exception as error:  # noqa: BLE001 - the answer has begun: no status can tell it
        yield write_event("error", describe_late_error(error, "a stream of events", places))
