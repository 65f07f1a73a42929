"""Names of collections in paths: an encoded slash belongs to the name."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final
from urllib.parse import unquote

from .asgi import API, is_below, path_of

if TYPE_CHECKING:
    from starlette.types import ASGIApp, Receive, Scope, Send

_FOLDER: Final = f"{API}/collections/"


class CollectionPaths:
    """A middleware that keeps slashes of names encoded until the route is found.

    A server decodes the path, and `x%2Fdocuments` would be the documents of `x`. Routes decode the
    name by `decode_name`.
    """

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass a request on."""
        if scope["type"] == "http" and is_below(path_of(scope), _FOLDER.rstrip("/")):
            scope = {**scope, "path": encoded_path(scope)}
        await self._app(scope, receive, send)


def encoded_path(scope: Scope) -> str:
    """Return the path of a request about collections, in which `%` and encoded slashes are encoded.

    >>> encoded_path({"path": "/app/api/collections/50%/a/ask",
    ...               "raw_path": b"/app/api/collections/50%25%2Fa/ask"})
    '/app/api/collections/50%25%2Fa/ask'
    """
    path: str = scope["path"]
    before, folder, decoded = path.partition(_FOLDER)
    raw = (scope.get("raw_path") or b"").decode("latin-1").partition(_FOLDER)[2]
    parts = [unquote(part) for part in raw.split("/")]
    if "/".join(parts) != decoded:  # without a raw path slashes are taken as they are
        parts = decoded.split("/")
    return before + folder + "/".join(map(_encode, parts))


def decode_name(name: str) -> str:
    """Return the name of a collection as it stands in an encoded path.

    >>> decode_name("50%25%2Fa")
    '50%/a'
    """
    return unquote(name)


def _encode(part: str) -> str:
    return part.replace("%", "%25").replace("/", "%2F")
