"""A web of a few sites and a search engine over it, for a page that a browser drives.

A word of the query chooses what the search engine does: `herons` finds six pages that can be read,
`catalogue` sixty, `advert` one more on a host that is blocked, `hostile` pages with hostile titles
and addresses; `patience` answers once `release()` was called, and `outage` fails.
"""

from __future__ import annotations

import json
import threading
from contextlib import suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import TYPE_CHECKING, Any, Final, NamedTuple
from urllib.parse import parse_qs, urlsplit

if TYPE_CHECKING:
    from types import TracebackType
    from typing import Self

PAGES_OF_A_SEARCH: Final = 20
HOLD_S: Final = 120.0
"""Longest wait of a held search: only a test that fails waits so long."""
HELD: Final = "patience"
FAILING: Final = "outage"
ADVERT: Final = "advert"
BLOCKED_HOST: Final = "adverts.example"

HOSTILE_TITLES: Final = (
    "<script>window.harmed = 'script'</script>Cranes one",
    "<img src=x onerror=\"window.harmed='image'\">Cranes two",
    "</title></script><svg onload=\"window.harmed='svg'\">Cranes three",
    "\u202egnp.exe\u202c \u2066Cranes\u2069 four\u200f",
    "Cranes \x07\x1b[31m five\x00",
    "{{constructor.constructor('window.harmed=1')()}} ${window.harmed=1} Cranes six",
    "&lt;b onmouseover=window.harmed=1&gt;Cranes seven&lt;/b&gt;",
    '"><a href=javascript:window.harmed=1>Cranes eight</a>',
)
HOSTILE_ADDRESSES: Final = (
    "javascript:window.harmed='address'",
    "JaVaScRiPt://example.org/%0awindow.harmed='address'",
    "data:text/html,<script>window.harmed='data'</script>",
    "vbscript:msgbox(1)",
    "file:///etc/passwd",
    "//evil.example/protocol-relative",
)


class WebPage(NamedTuple):
    """A page as the search engine lists it."""

    path: str
    title: str
    snippet: str


def _bird_pages(kind: str, count: int) -> tuple[WebPage, ...]:
    """Return pages about herons, the best ones first."""
    return tuple(
        WebPage(
            f"/{kind}/{n}",
            f"How do herons catch fish: {kind} part {n}",
            f"How herons catch fish: they stand still in shallow water and strike. {kind} {n}.",
        )
        for n in range(1, count + 1)
    )


HERONS: Final = _bird_pages("herons", 6)
ADVERT_TEXTS: Final = ("How herons catch fish: an advert", "Buy a rod: herons catch fish with it.")
CATALOGUE: Final = _bird_pages("catalogue", 60)
HELD_PAGES: Final = _bird_pages(HELD, 4)


def _article(page: WebPage) -> bytes:
    sentence = "Herons catch fish by standing still in shallow water and striking with their bill."
    parts = "".join(
        f"<h2>Part {n}</h2><p>{page.snippet} {sentence} This is paragraph {n} of {page.path}: the"
        " bird waits until the fish is near, bends its neck, and takes the prey head first.</p>"
        for n in range(1, 4)
    )
    return (
        f"<!doctype html><html lang=en><head><title>{page.title}</title></head><body><main>"
        f"<article><h1>{page.title}</h1>{parts}</article></main></body></html>"
    ).encode()


class PageWorld:
    """The sites and the search engine, served inside a `with` block."""

    def __init__(self) -> None:
        self._released = threading.Event()
        self._released.set()
        self._held = threading.Event()
        self._server = _Listener(("127.0.0.1", 0), _Handler)
        self._server.world = self
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.02,))

    @property
    def address(self) -> str:
        """Host and port."""
        return f"127.0.0.1:{self._server.server_port}"

    @property
    def url(self) -> str:
        return f"http://{self.address}"

    def hold(self) -> None:
        """Let the next searches for `patience` wait for `release()`."""
        self._held.clear()
        self._released.clear()

    def release(self) -> None:
        self._released.set()

    def wait_until_held(self) -> None:
        """Return once a search waits."""
        assert self._held.wait(HOLD_S), "no search arrived"

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.release()
        self._server.shutdown()
        self._thread.join()
        self._server.server_close()

    def found(self, words: str, number: int) -> list[dict[str, Any]]:
        """Return the rows of one page of the search engine's answer."""
        if HELD in words:
            self._held.set()
            self._released.wait(HOLD_S)
        rows = self._hostile() if "hostile" in words else self._rows(words)
        if ADVERT in words:
            rows.append(self._row(f"http://{BLOCKED_HOST}/herons", *ADVERT_TEXTS))
        return rows[PAGES_OF_A_SEARCH * (number - 1) : PAGES_OF_A_SEARCH * number]

    def _rows(self, words: str) -> list[dict[str, Any]]:
        kinds = {"catalogue": CATALOGUE, HELD: HELD_PAGES, "herons": HERONS}
        pages = next((pages for word, pages in kinds.items() if word in words), ())
        if pages is CATALOGUE:  # each query begins elsewhere, so that together they find them all
            first = len(words) % len(pages)
            pages = pages[first:] + pages[:first]
        return [self._row(self.url + page.path, page.title, page.snippet) for page in pages]

    def _hostile(self) -> list[dict[str, Any]]:
        titles = [
            self._row(f"{self.url}/hostile/{n}", title, f"{title} How do hostile cranes dance?")
            for n, title in enumerate(HOSTILE_TITLES)
        ]
        addresses = [
            self._row(address, f"Cranes at {n}", "How do hostile cranes dance?")
            for n, address in enumerate(HOSTILE_ADDRESSES)
        ]
        return titles + addresses

    def _row(self, url: str, title: str, snippet: str) -> dict[str, Any]:
        given = {"url": url, "title": title, "content": snippet}
        return given | {"engine": "sample", "engines": ["sample"], "score": 1.0}


PAGES: Final = {page.path: page for page in (*HERONS, *CATALOGUE, *HELD_PAGES)}


class _Listener(ThreadingHTTPServer):
    daemon_threads = True
    world: PageWorld


class _Handler(BaseHTTPRequestHandler):
    """Answers searches as SearXNG does, and everything else as a site."""

    server: _Listener

    def handle(self) -> None:
        """Answer, unless the client leaves."""
        with suppress(ConnectionError):
            super().handle()

    def do_GET(self) -> None:
        parts = urlsplit(self.path)
        if parts.path == "/search":
            self._search(parse_qs(parts.query))
        elif page := PAGES.get(parts.path):
            self._send(200, _article(page), "text/html; charset=utf-8")
        else:
            self._send(404, b"<title>Not found</title>", "text/html; charset=utf-8")

    def _search(self, asked: dict[str, list[str]]) -> None:
        words = asked.get("q", [""])[0]
        if FAILING in words:
            self._send(500, b"{}", "application/json")
            return
        rows = self.server.world.found(words, int(asked.get("pageno", ["1"])[0]))
        lists = ("answers", "corrections", "infoboxes", "suggestions", "unresponsive_engines")
        answer = {"query": words, "results": rows} | {name: [] for name in lists}
        self._send(200, json.dumps(answer).encode(), "application/json")

    def _send(self, status: int, body: bytes, kind: str) -> None:
        self.send_response(status)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: object) -> None:
        """Log nothing."""
