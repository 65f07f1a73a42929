"""A web of fixed pages, a search engine over it and a model, served for the kept screens.

`python -m support.screen_world` serves it: it prints its addresses as one line of JSON, and ends
with its standard input.
"""

from __future__ import annotations

import json
import sys
import threading
from contextlib import suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Final, NamedTuple
from urllib.parse import parse_qs, urlsplit


class SamplePage(NamedTuple):
    """A page of the web as a search engine lists it."""

    path: str
    title: str
    snippet: str
    status: int = 200


_DOCS: Final = "Python 3.14.2 documentation"
SEARCH_PAGES: Final = (
    SamplePage(
        "/3/library/asyncio-task.html",
        f"Coroutines and tasks: cancel a task after a timeout, wait for several — {_DOCS}",
        "How to cancel an asyncio task after a timeout: asyncio.timeout() limits the time of a"
        " block, asyncio.wait_for() the time of one awaitable. The task is cancelled, and"
        " TimeoutError is raised where the block ends.",
    ),
    SamplePage(
        "/questions/52245922/is-it-more-efficient-to-use-create-task-or-gather-with-a-timeout",
        "How do I cancel an asyncio task after a timeout without losing its result? - Questions",
        "I want to cancel an asyncio task after a timeout, but keep what it has found until then."
        " Shielding it with asyncio.shield() lets the task go on while the wait ends.",
    ),
    SamplePage(
        "/blog/2025/timeouts-and-cancellation-for-humans",
        "Timeouts and cancellation for humans",
        "Most libraries get timeouts wrong. A task that is cancelled after a timeout should clean"
        " up, and the asyncio caller should know which of several timeouts it was.",
    ),
    SamplePage(
        "/3/library/asyncio-sync.html",
        f"Synchronization primitives — {_DOCS}",
        "Locks, events and semaphores of asyncio have no timeout of their own: use"
        " asyncio.wait_for() to cancel the task that waits for one.",
    ),
    SamplePage(
        "/3/whatsnew/3.11.html",
        f"What's new in asyncio: task groups, and how to cancel a task after a timeout — {_DOCS}",
        "asyncio.timeout() and asyncio.TaskGroup are new: a timeout cancels the task, a group"
        " cancels all of its tasks when one fails.",
        404,
    ),
    SamplePage(
        "/wiki/Cancel-an-asyncio-task-after-a-timeout-with-examples-for-every-version",
        "Cancel an asyncio task after a timeout, with examples for every version",
        "Examples of how to cancel an asyncio task after a timeout in every version since 3.4.",
        403,
    ),
)
OTHER_PAGES: Final = (
    SamplePage(
        "/soup/potato",
        "Grandmother's potato soup",
        "Peel the potatoes, chop the onions and let them simmer gently for half an hour.",
    ),
)
_PARAGRAPH: Final = (
    "An asyncio task is cancelled after a timeout by asyncio.timeout() or by asyncio.wait_for()."
    " The first limits a whole block, the second one awaitable. Where the time is over the task"
    " gets a CancelledError at its next await, may clean up in a finally clause, and the caller"
    " gets a TimeoutError. A task that catches CancelledError and goes on is not cancelled."
)


def article(page: SamplePage) -> bytes:
    """Return the page as HTML."""
    parts = "".join(
        f"<h2>Part {n}</h2><p>{page.snippet}</p><p>{_PARAGRAPH}</p>" for n in range(1, 4)
    )
    return (
        f"<!doctype html><html lang=en><head><title>{page.title}</title></head><body><main>"
        f"<article><h1>{page.title}</h1>{parts}</article></main></body></html>"
    ).encode()


class _Web(BaseHTTPRequestHandler):
    """Answers searches as SearXNG does, and everything else as a site."""

    protocol_version = "HTTP/1.1"

    def handle(self) -> None:
        """Answer until the client leaves."""
        with suppress(ConnectionError):
            super().handle()

    def do_GET(self) -> None:
        """Answer a search or a page."""
        parts = urlsplit(self.path)
        if parts.path == "/search":
            self._send(200, json.dumps(self._found(parse_qs(parts.query))).encode(), "json")
            return
        if parts.path == "/config":
            self._send(200, json.dumps({"engines": []}).encode(), "json")
            return
        pages = {page.path: page for page in (*SEARCH_PAGES, *OTHER_PAGES)}
        page = pages.get(parts.path)
        status = 404 if page is None else page.status
        body = article(page) if page and status == 200 else b"<title>Error</title>"
        self._send(status, body, "html")

    def _found(self, query: dict[str, list[str]]) -> dict[str, Any]:
        words = query.get("q", [""])[0]
        pages = () if "qwertz" in words else OTHER_PAGES if "soup" in words else SEARCH_PAGES
        if int(query.get("pageno", ["1"])[0]) > 1:
            pages = ()
        rows = [
            {
                "url": f"http://{self.headers['Host']}{page.path}",
                "title": page.title,
                "content": page.snippet,
                "engine": "sample",
                "engines": ["sample"],
                "positions": [n],
                "score": 1 / n,
                "category": "general",
            }
            for n, page in enumerate(pages, start=1)
        ]
        return {
            "query": words,
            "number_of_results": 0,
            "results": rows,
            "answers": [],
            "corrections": [],
            "infoboxes": [],
            "suggestions": [],
            "unresponsive_engines": [],
        }

    def _send(self, status: int, body: bytes, kind: str) -> None:
        self.send_response(status)
        types = {"json": "application/json", "html": "text/html; charset=utf-8"}
        self.send_header("Content-Type", types[kind])
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: Any) -> None:  # noqa: A002 - given
        """Log nothing."""


def serve() -> None:
    """Serve until the standard input ends."""
    from collection_search.testing import OpenAIServer
    from collection_search.testing.provider_server import ProviderServer

    queries = {"queries": ["cancel asyncio task", "asyncio timeout", "python asyncio wait_for"]}
    prose = (
        "A task is cancelled after a timeout by asyncio.timeout() or asyncio.wait_for() [1]."
        " The task gets a CancelledError at its next await, and the caller a TimeoutError [2]."
        " A task that catches it and goes on is not cancelled."
    )
    web = ThreadingHTTPServer(("127.0.0.1", 0), _Web)
    web.daemon_threads = True
    threading.Thread(target=web.serve_forever, args=(0.02,), daemon=True).start()
    with (
        OpenAIServer(queries) as planner,
        OpenAIServer(prose) as writer,
        ProviderServer("tavily") as paid,
    ):
        addresses = {
            "web": f"http://127.0.0.1:{web.server_port}",
            "planner": planner.base_url,
            "writer": writer.base_url,
            "paid": paid.base_url,
            "paid_key": paid.dialect.key,
        }
        sys.stdout.write(f"{json.dumps(addresses)}\n")
        sys.stdout.flush()
        sys.stdin.read()
    web.shutdown()


if __name__ == "__main__":
    serve()
