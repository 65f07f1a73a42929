"""Which modules of the package execute a frame for one search, one question and one page.

`python benchmarks/frames.py` prints JSON, of the package that this interpreter imports. Each task
runs twice, with the built-in defaults and doubles on loopback addresses; the second run counts, in
all threads and in the process that extracts texts. A request is at the wire when the HTTP client is
called: then the package's frames on the stack are counted.
"""

from __future__ import annotations

import json
import socket
import sys
import tempfile
import threading
from contextlib import ExitStack
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Self

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from types import FrameType

PACKAGE: Final = "collection_search"
CLIENTS: Final = {
    "aiohttp/client.py": ("_request", "str_or_url"),
    "httpx/_client.py": ("send", "request"),
}
"""File of an HTTP client, its function that sends a request, and that function's argument of it."""
CHILD: Final = """
import sys
sys.path[:0] = [{folder!r}]
from frames import record_child
record_child({port})
"""


class Recorder:
    """Notes the package's modules that execute a frame, in every thread that starts after it."""

    def __init__(self) -> None:
        self.modules: set[str] = set()
        self.in_children: set[str] = set()
        self.wire: dict[str, int] = {}
        """Path of a request, and the most frames of the package above it."""
        self._inlet = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self._inlet.bind(("127.0.0.1", 0))
        self.port = self._inlet.getsockname()[1]
        self._on = False
        self._places: dict[str, str | None] = {}

    def install(self) -> None:
        """Watch this thread and those to come."""
        threading.Thread(target=self._listen, daemon=True).start()
        threading.setprofile(self)
        sys.setprofile(self)

    def __enter__(self) -> Self:
        self.modules, self.in_children, self.wire = set(), set(), {}
        self._on = True
        return self

    def __exit__(self, *exc_info: object) -> None:
        self._on = False

    def __call__(self, frame: FrameType, event: str, _: Any) -> None:
        """Take one event of the interpreter."""
        if event != "call" or not self._on:
            return
        file = frame.f_code.co_filename
        if module := self._module(file):
            self.modules.add(module)
            return
        for client, (function, argument) in CLIENTS.items():
            if frame.f_code.co_name == function and file.endswith(client):
                self._sent(frame, argument)

    def _listen(self) -> None:
        while True:
            module = self._inlet.recv(1000).decode()
            if self._on:
                self.in_children.add(module)

    def _sent(self, frame: FrameType, argument: str) -> None:
        sent = frame.f_locals.get(argument)
        path = getattr(getattr(sent, "url", sent), "path", None) or str(sent).partition("?")[0]
        path = path.rpartition("/")[2] or path
        depth = sum(1 for each in _stack(frame) if self._module(each.f_code.co_filename))
        self.wire[path] = max(depth, self.wire.get(path, 0))

    def _module(self, file: str) -> str | None:
        if file not in self._places:
            self._places[file] = _module_of(file)
        return self._places[file]


def record_child(port: int) -> None:
    """Send the module of every frame that a process executes to a port of this machine.

    The socket is opened at once: what extracts texts takes from itself the right to open more.
    """
    outlet = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    outlet.connect(("127.0.0.1", port))

    def send(frame: FrameType, event: str, _: Any) -> None:
        if event == "call" and (module := _module_of(frame.f_code.co_filename)):
            outlet.send(module.encode())

    sys.setprofile(send)


def _module_of(file: str) -> str | None:
    """Return a file's place in the package; None for other files and for the doubles."""
    place = file.rpartition(f"/{PACKAGE}/")[2]
    return None if place == file or place.startswith("testing/") else place


def _stack(frame: FrameType | None) -> Iterator[FrameType]:
    while frame is not None:
        yield frame
        frame = frame.f_back


class _Site(BaseHTTPRequestHandler):
    """Any path but robots.txt is an article of its own."""

    protocol_version = "HTTP/1.1"

    def do_GET(self) -> None:
        """Answer with the page of this path."""
        said = f"The page {self.path} says that patience is a friend of everything that grows."
        text = "".join(f"<p>{said} Part {part}.</p>" for part in range(9))
        body = f"<!doctype html><title>{self.path}</title><main><h1>Growth</h1>{text}".encode()
        found = self.path != "/robots.txt"
        self.send_response(200 if found else 404)
        self.send_header("Content-Type", "text/html; charset=utf-8")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: Any) -> None:
        """Print nothing."""


def search(stack: ExitStack, _home: str) -> Callable[[str], object]:
    """Return a search by the worker alone, over HTTP."""
    from collection_search import ScopeContext, ToolContext, WebSearchWorker
    from collection_search.adapters.search.tavily import TavilySearch
    from collection_search.testing import ProviderServer

    server = stack.enter_context(ProviderServer("tavily"))
    worker = WebSearchWorker(TavilySearch(api_key=server.key, base_url=server.base_url))
    names = dict.fromkeys(("tenant_id", "trace_id", "invocation_id", "run_id"), "benchmark")
    context = ToolContext(scope=ScopeContext(**names))

    def once(words: str) -> object:
        response = worker.run(query=f"asyncio {words}", context=context)
        assert response.results, response
        return response

    return once


def question(stack: ExitStack, home: str) -> Callable[[str], object]:
    """Return a question to the graph: plan, searches, embeddings, ranking."""
    from collection_search import CollectionSearchGraph, SearchContext, Settings
    from collection_search.testing import OpenAIServer, ProviderServer

    words = ("asyncio", "sqlite", "python")
    plans = ({"queries": [f"{word} {number}" for word in words]} for number in (1, 2))
    server = stack.enter_context(ProviderServer("tavily"))
    openai = stack.enter_context(OpenAIServer(*plans))
    settings = Settings(
        home=home,
        providers={"tavily": {"api_key": server.key, "base_url": server.base_url}},
        openai_api_key="any",
        openai_base_url=openai.base_url,
    )
    graph = CollectionSearchGraph(
        SearchContext(
            settings=settings,
            provider="tavily",
            model="openai:gpt-4o-mini",
            embeddings="openai:text-embedding-3-small",
        )
    )

    def once(words: str) -> object:
        given = {"collection_scope": "benchmark", "purpose": "a measurement"}
        _, result = graph.run(given | {"question": f"How do I cancel an asyncio task {words}?"})
        assert result["outcome"] == "search_completed", result
        return result

    return once


def page(stack: ExitStack, home: str) -> Callable[[str], object]:
    """Return the ingestion of one page: fetch, extract, cut, store."""
    from collection_search import SearchContext, Settings, ingest, wait

    site = ThreadingHTTPServer(("127.0.0.1", 0), _Site)
    threading.Thread(target=site.serve_forever, daemon=True).start()
    stack.callback(site.server_close)
    stack.callback(site.shutdown)
    address = f"127.0.0.1:{site.server_port}"
    context = SearchContext(settings=Settings(home=home, fetch_allowed=[address]))

    def once(words: str) -> object:
        ticket = ingest([f"http://{address}/{words}"], collection="benchmark", context=context)
        status = wait(ticket, 60.0, context=context)
        assert status.stored == 1, status
        return status

    return once


TASKS: Final = {"search": search, "question": question, "page": page}


def measured(home: Path) -> dict[str, Any]:
    """Return the modules and the depths at the wire of each task's second run."""
    recorder = Recorder()
    recorder.install()
    startup = home / "startup"
    startup.mkdir()
    code = CHILD.format(folder=str(Path(__file__).parent), port=recorder.port)
    (startup / "sitecustomize.py").write_text(code, "utf-8")
    sys.path.append(str(startup))  # the processes that the package starts get this path
    found = {}
    for name, task in TASKS.items():
        with ExitStack() as stack:
            once = task(stack, str(home / name))
            once("first")
            with recorder:
                once("second")
        found[name] = {
            "modules": sorted(recorder.modules | recorder.in_children),
            "in a process of their own": sorted(recorder.in_children - recorder.modules),
            "wire": recorder.wire,
        }
    return found


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as folder:
        print(json.dumps(measured(Path(folder))))
