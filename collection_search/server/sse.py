"""Server-sent events."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, Final

import orjson
from fastapi.responses import StreamingResponse

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

KEEP_ALIVE: Final = ": alive\n\n"
"""A comment, which clients skip; it keeps proxies from closing the connection."""
KEEP_ALIVE_S: Final = 15.0


def write_event(kind: str, data: Any, *, number: int | None = None) -> str:
    r"""Return one event; `data` is JSON-plain, or JSON as text.

    >>> write_event("end", {"status": "done"}, number=3)
    'id: 3\nevent: end\ndata: {"status":"done"}\n\n'
    """
    text = data if isinstance(data, str) else orjson.dumps(data).decode()
    name = re.sub(r"[^\w.-]", "_", kind)
    first = "" if number is None else f"id: {number}\n"
    return f"{first}event: {name}\ndata: {text}\n\n"


def stream_events(events: AsyncIterator[str]) -> StreamingResponse:
    """Return the response that sends the events as they come."""
    return StreamingResponse(
        events,
        media_type="text/event-stream",
        headers={"Cache-Control": "no-store", "X-Accel-Buffering": "no"},
    )
