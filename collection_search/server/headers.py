"""Headers that keep a browser from loading, framing or keeping what it should not."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from .asgi import API, PAGE, is_below, path_of

if TYPE_CHECKING:
    from starlette.types import ASGIApp, Message, Receive, Scope, Send

POLICY: Final = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:;"
    " connect-src 'self'; font-src 'self'; form-action 'none'; frame-ancestors 'none';"
    " base-uri 'none'"
)
"""The page's Content-Security-Policy: nothing from elsewhere, nothing inline."""
_EVERYWHERE: Final = {
    "x-content-type-options": "nosniff",
    "referrer-policy": "no-referrer",
    "cross-origin-resource-policy": "same-origin",
}
_PAGE: Final = {
    "content-security-policy": POLICY,
    "cross-origin-opener-policy": "same-origin",
    "permissions-policy": "camera=(), geolocation=(), microphone=(), payment=(), usb=()",
    "x-frame-options": "DENY",
}
_OVER_TLS: Final = {"strict-transport-security": "max-age=31536000"}
_API: Final = {"cache-control": "no-store"}


class SecurityHeaders:
    """A middleware that adds the headers to each answer.

    The pages of a LangGraph server load scripts of others, so the policy is for ours alone.
    """

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request, or pass it on."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        added = [(name.encode(), value.encode()) for name, value in headers_for(scope).items()]
        names = {name for name, _ in added}

        async def send_with_headers(message: Message) -> None:
            if message["type"] == "http.response.start":
                given = [
                    pair for pair in message.get("headers", ()) if pair[0].lower() not in names
                ]
                message = {**message, "headers": [*given, *added]}
            await send(message)

        await self._app(scope, receive, send_with_headers)


def headers_for(scope: Scope) -> dict[str, str]:
    """Return the headers of the answer to a request."""
    path = path_of(scope)
    return {
        **_EVERYWHERE,
        **(_PAGE if is_below(path, PAGE) else {}),
        **(_API if is_below(path, API) else {}),
        **(_OVER_TLS if scope.get("scheme") == "https" else {}),
    }
