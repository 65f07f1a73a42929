"""Replies of the hostile site's servers, as data."""

from __future__ import annotations

from dataclasses import dataclass, field
from itertools import chain
from typing import TYPE_CHECKING, Final, Literal, TypeAlias

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

Ending: TypeAlias = Literal["close", "reset", "hold"]
"""After the last byte the connection is closed, reset, or open until the server stops."""

HTML: Final = "text/html; charset=utf-8"
MARKER: Final = "the heron waits in the shallow water"
"""Is in every page whose text must be found."""


@dataclass(frozen=True, slots=True)
class SiteReply:
    """One answer.

    In headers `{host}` becomes host and port of the case, and `{forbidden}` the port of the
    listener that nobody may reach.
    """

    body: bytes | Callable[[], Iterable[bytes]] = b""
    """The whole body, or its pieces, which may never end."""
    status: int = 200
    kind: str | None = HTML
    """The content type; None sends none."""
    headers: Mapping[str, str] = field(default_factory=dict)
    length: int | None = None
    """The Content-Length; None for the true one, or for no header with pieces."""
    pause_s: float = 0.0
    """Before each piece."""
    head: Callable[[], Iterable[bytes]] | None = None
    """Sent in place of status line and headers, with the same pauses."""
    ending: Ending = "close"
    if_known: SiteReply | None = None
    """The reply to requests with a validator."""

    def writes(self) -> Iterable[bytes]:
        """Return what is written at once, one write after the other.

        Without a pause the headers and a whole body are one write: what a client makes of bytes
        that may not follow depends on when they arrive.
        """
        head = [self._lines()] if self.head is None else self.head()
        if not isinstance(self.body, bytes):
            return chain(head, self.body())
        if self.head is None and not self.pause_s:
            return [self._lines() + self.body]
        return chain(head, [self.body])

    def _lines(self) -> bytes:
        """Return status line and headers."""
        length = self.length
        if length is None and isinstance(self.body, bytes):
            length = len(self.body)
        fields = {
            **({} if self.kind is None else {"Content-Type": self.kind}),
            **({} if length is None else {"Content-Length": str(length)}),
            "Connection": "close",
            **self.headers,
        }
        text = "".join(f"{name}: {value}\r\n" for name, value in fields.items())
        return f"HTTP/1.1 {self.status} Any\r\n{text}\r\n".encode("latin-1")


def article(text: str = MARKER, *, title: str = "Herons", head: str = "", more: str = "") -> str:
    """Return an HTML page with `text` in an article long enough to be one."""
    return f"""<!doctype html>
<html><head><title>{title}</title>{head}</head><body>
<nav><a href="/">Home</a></nav><main><h1>{title}</h1>
<p>On the bank of the river {text}, and nothing moves for a long time. Then the neck goes forward,
quicker than the eye can follow, and the fish is gone.</p>
<p>Herons stand on one leg to keep warm; their nests lie high in the trees, many of them close
together, and are used again year after year.</p>{more}</main></body></html>
"""


PAGE: Final = article().encode()


def redirect(target: str, status: int = 302) -> SiteReply:
    """Return a redirect."""
    return SiteReply(status=status, headers={"Location": target})
