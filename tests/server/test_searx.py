"""The SearXNG adapter on a real searx server, whose engines ask a server on this machine."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import threading
import time
import urllib.request
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import parse_qs, urlsplit

import pytest
import yaml
from support.ports import free_port

from collection_search.adapters.search.searxng import SearxngSearch
from collection_search.contracts.options import SearchOptions
from collection_search.errors import SearchProviderUnavailable
from collection_search.testing import example_context
from collection_search.tools.web_search import WebSearchWorker

if TYPE_CHECKING:
    from collections.abc import Iterator

SEARX = shutil.which("searx-run", path="/usr/bin")
EXAMPLE = Path("/usr/share/doc/searx/examples/settings.yml")
REQUIRED = os.environ.get("TESTS_REQUIRE_SEARX") == "1"
START_S = 60.0

pytestmark = [
    pytest.mark.server,
    pytest.mark.skipif(
        SEARX is None and not REQUIRED, reason="Debian's package searx is not installed"
    ),
]


class Engine(BaseHTTPRequestHandler):
    """A search engine of ten results a page, three pages; `broken` words make it fail."""

    def do_GET(self) -> None:
        asked = parse_qs(urlsplit(self.path).query)
        query, page = asked["q"][0], int(asked["page"][0])
        if "broken" in query or (self.path.startswith("/b") and "half" in query):
            self.send_error(500)
            return
        results = [
            {
                "address": f"https://{name}.example/{page}/{n}?utm_source=searx",
                "heading": f"{query} <b>{n}</b> of {name}",
                "text": f"What page {n} of {page} says about {query}.",
            }
            for name in [self.path[1]]
            for n in range(1, 11)
            if page <= 3
        ]
        body = json.dumps({"hits": results}).encode()
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: object) -> None:
        """Keep quiet."""


@pytest.fixture(scope="module")
def upstream() -> Iterator[str]:
    server = ThreadingHTTPServer(("127.0.0.1", 0), Engine)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    yield f"http://127.0.0.1:{server.server_port}"
    server.shutdown()
    server.server_close()
    thread.join()


@pytest.fixture(scope="module")
def searx(upstream: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    assert SEARX, "CI installs the package searx"
    port = free_port()
    folder = tmp_path_factory.mktemp("searx")
    settings = yaml.safe_load(EXAMPLE.read_text("utf-8"))
    settings["server"] |= {"port": port, "secret_key": "of a test"}
    settings["search"] |= {"ban_time_on_fail": 0, "max_ban_time_on_fail": 0}
    settings["engines"] = [engine(upstream, name) for name in "ab"]
    (folder / "settings.yml").write_text(yaml.safe_dump(settings), "utf-8")
    log = folder / "server.log"
    with log.open("wb") as output:
        process = subprocess.Popen(
            [SEARX],
            cwd=folder,
            env={
                "PATH": "/usr/bin:/bin",
                "HOME": str(folder),
                "SEARX_SETTINGS_PATH": str(folder / "settings.yml"),
            },
            stdout=output,
            stderr=subprocess.STDOUT,
        )
    try:
        address = f"http://127.0.0.1:{port}"
        wait_for(address, process, log)
        yield address
    finally:
        process.terminate()
        process.wait(timeout=90)


def engine(upstream: str, name: str) -> dict[str, object]:
    return {
        "name": f"engine {name}",
        "engine": "json_engine",
        "shortcut": f"e{name}",
        "search_url": f"{upstream}/{name}?q={{query}}&page={{pageno}}",
        "paging": True,
        "first_page_num": 1,
        "results_query": "hits",
        "url_query": "address",
        "title_query": "heading",
        "content_query": "text",
        "enable_http": True,
        "timeout": 20.0,
    }


def wait_for(address: str, process: subprocess.Popen[bytes], log: Path) -> None:
    deadline = time.monotonic() + START_S
    while True:
        try:
            with urllib.request.urlopen(f"{address}/healthz", timeout=5):
                return
        except OSError:
            assert process.poll() is None, log.read_text()
            assert time.monotonic() < deadline, log.read_text()
            time.sleep(0.1)


def test_a_real_server_is_searched(searx: str) -> None:
    """Two engines of ten results each make a page, and further pages are read."""
    worker = WebSearchWorker(SearxngSearch(base_url=searx, timeout=60), max_results=45)
    response = worker.run(query="asyncio timeouts", context=example_context())
    assert response.outcome.rationale == "search_completed"
    assert len(response.results) == 45
    first = response.results[0]
    assert first.url.endswith(".example/1/1")
    assert first.title.startswith("asyncio timeouts 1 of ")
    assert first.snippet == "What page 1 of 1 says about asyncio timeouts."
    assert response.outcome.meta["request_count"] == 3


def test_the_pages_end(searx: str) -> None:
    """A page without results is the last one."""
    answer = SearxngSearch(base_url=searx, timeout=60).search("asyncio", max_results=200)
    assert len(answer.results) == 60


def test_an_engine_that_fails_is_told(searx: str) -> None:
    """What the other engine found is returned, with a notice."""
    answer = SearxngSearch(base_url=searx, timeout=60).search("half of it", max_results=20)
    assert {row.url.partition(".")[0] for row in answer.results} == {"https://a"}
    assert any("engine b" in notice for notice in answer.notices)


def test_all_engines_failing_is_an_error(searx: str) -> None:
    """No results because every engine failed is a failure of the provider."""
    with pytest.raises(SearchProviderUnavailable, match="engine a"):
        SearxngSearch(base_url=searx, timeout=60).search("broken", max_results=20)


def test_domains_and_language(searx: str) -> None:
    """Domains are exact whatever the engines made of the operators; a language is taken."""
    worker = WebSearchWorker(SearxngSearch(base_url=searx, timeout=60), max_results=10)
    wish = SearchOptions(include_domains=("b.example",), domain_mode="restrict", language="de")
    response = worker.run(query="asyncio", context=example_context(), options=wish)
    assert {result.url.split("/")[2] for result in response.results} == {"b.example"}
    assert response.outcome.meta["options"]["language"]["applied"] == "native"
