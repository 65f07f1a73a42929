"""What the middlewares share: a request's headers and path, and a refusal."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import orjson
from starlette.datastructures import Headers

if TYPE_CHECKING:
    from collections.abc import Mapping

    from starlette.types import Scope, Send

API: Final = "/app/api"
"""Path of the API."""
PAGE: Final = "/app"
"""Path of the page."""
_POLICY_VIOLATION: Final = 1008
"""Code with which a web socket is closed."""


def headers_of(scope: Scope) -> Headers:
    """Return the headers of a request."""
    return Headers(scope=scope)


def path_of(scope: Scope) -> str:
    """Return the path within the app, without the prefix under which it is mounted."""
    path: str = scope["path"]
    root: str = scope.get("root_path", "")
    return path[len(root) :] if root and path.startswith(f"{root}/") else path


def is_below(path: str, folder: str) -> bool:
    """Return whether the path is the folder or lies below it.

    >>> is_below("/app/api/me", "/app"), is_below("/app", "/app"), is_below("/apple", "/app")
    (True, True, False)
    """
    return path == folder or path.startswith(f"{folder}/")


def is_of_process(scope: Scope) -> bool:
    """Return whether a graph of this process asks, by a client of LangGraph's without an address.

    No request over the network can have this root path.
    """
    root: str = scope.get("root_path", "")
    return is_below(root, "/noauth")


async def refuse(
    scope: Scope, send: Send, status: int, message: str, headers: Mapping[str, str] | None = None
) -> None:
    """Answer with an error in the API's form; a web socket is closed."""
    if scope["type"] == "websocket":
        await send({"type": "websocket.close", "code": _POLICY_VIOLATION, "reason": message})
        return
    kind = {401: "NotAuthenticated", 403: "NotAllowed", 413: "TooLarge", 429: "TooManyRequests"}
    body = orjson.dumps({"error": {"type": kind.get(status, "Refused"), "message": message}})
    sent = {"content-type": "application/json", "content-length": str(len(body)), **(headers or {})}
    await send(
        {
            "type": "http.response.start",
            "status": status,
            "headers": [(name.encode(), value.encode()) for name, value in sent.items()],
        }
    )
    await send({"type": "http.response.body", "body": body})
