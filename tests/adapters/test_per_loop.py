"""Connections belong to a loop and end with it."""

from __future__ import annotations

import asyncio
import gc
import subprocess
import sys
import textwrap
import threading
import weakref
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import TYPE_CHECKING

import pytest
from support.waiting import wait_until_async

from collection_search.adapters.crawl.fetch.fetcher import FetchPolicy, SafeFetcher
from collection_search.adapters.per_loop import PerLoop, Sockets
from collection_search.runtime.concurrency import run_blocking

if TYPE_CHECKING:
    from collections.abc import Iterator


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_GET(self):
        self.send_response(200)
        self.send_header("Content-Length", "5")
        self.end_headers()
        self.wfile.write(b"heron")

    def log_message(self, *args):
        pass


@pytest.fixture
def address() -> Iterator[str]:
    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        server.daemon_threads = True
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        yield f"127.0.0.1:{server.server_port}"
        server.shutdown()
        thread.join()


@pytest.fixture
def fetcher(address) -> SafeFetcher:
    return SafeFetcher(FetchPolicy(min_delay_s=0.0, allowed_addresses=frozenset({address})))


@pytest.mark.slow
def test_a_loop_takes_its_connections_along(fetcher, address, caplog):
    loops = []

    async def call() -> None:
        loops.append(weakref.ref(asyncio.get_running_loop()))
        await fetcher.fetch(f"http://{address}/")

    for _ in range(2):
        asyncio.run(call())
    gc.collect()  # an open session would warn, and warnings are errors here
    assert [loop() for loop in loops] == [None, None]
    assert not fetcher._homes._lives
    assert caplog.text == ""


@pytest.mark.slow
def test_a_loop_that_is_only_closed_leaves_nothing(fetcher, address):
    sockets = []

    def call() -> None:
        loop = asyncio.new_event_loop()
        loop.run_until_complete(fetcher.fetch(f"http://{address}/"))
        sockets.extend(fetcher._homes._lives[loop].sockets)
        loop.close()

    def calls() -> None:
        for _ in range(3):
            call()
        asyncio.run(fetcher.fetch(f"http://{address}/"))
        assert sockets
        assert {each.fileno() for each in sockets} == {-1}
        gc.collect()

    with pytest.warns(ResourceWarning, match="unclosed transport"):  # such a loop's own
        calls()
    assert not fetcher._homes._lives


@pytest.mark.slow
async def test_a_closed_fetcher_opens_again(fetcher, address):
    for _ in range(2):
        await fetcher.fetch(f"http://{address}/")
        await fetcher.aclose()
        await fetcher.aclose()


@pytest.mark.slow
def test_two_loops_at_once(fetcher, address):
    async def call() -> None:
        await fetcher.fetch(f"http://{address}/")

    run_blocking(call())
    asyncio.run(call())
    run_blocking(call())
    run_blocking(fetcher.aclose())


@pytest.mark.slow
def test_a_process_ends_in_silence(address):
    script = f"""
        from collection_search.adapters.crawl.fetch.fetcher import FetchPolicy, SafeFetcher
        from collection_search.runtime.concurrency import run_blocking

        fetcher = SafeFetcher(FetchPolicy(allowed_addresses=frozenset({{{address!r}}}), robots=False))
        print(run_blocking(fetcher.fetch("http://{address}/")).body.decode())
    """
    run = subprocess.run(
        [sys.executable, "-X", "dev", "-W", "error", "-c", textwrap.dedent(script)],
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert (run.returncode, run.stdout, run.stderr) == (0, "heron\n", "")


@pytest.mark.slow
def test_a_forked_child_closes_what_it_opened():
    """The owner was made before the fork, its object after it."""
    script = """
        import atexit, os, sys

        atexit.register(lambda: made and print(made[0].closed))  # runs last, in the child
        made = []

        from collection_search.adapters import http
        from collection_search.runtime.concurrency import run_blocking

        if child := os.fork():
            sys.exit(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
        made.append(run_blocking(http._connections.get()).session)
    """
    run = subprocess.run(
        [sys.executable, "-X", "dev", "-W", "error", "-c", textwrap.dedent(script)],
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert (run.returncode, run.stdout, run.stderr) == (0, "True\n", "")


@pytest.mark.slow
async def test_what_nobody_holds_is_closed_while_its_loop_runs() -> None:
    """A fetcher that is dropped leaves no open connection behind."""
    ended = asyncio.Event()

    class Owner:
        def __init__(self) -> None:
            self.homes = PerLoop(self.make, self.close)

        def make(self, _: Sockets) -> object:
            return object()

        @staticmethod
        async def close(_: object) -> None:
            ended.set()

    owner = Owner()
    await owner.homes.get()
    del owner
    gc.collect()
    await wait_until_async(ended.is_set)


@pytest.mark.slow
async def test_a_fetcher_that_is_dropped_closes_its_connections(recwarn) -> None:
    """The session is closed before anything could complain that it is not."""
    fetcher = SafeFetcher(FetchPolicy(robots=True))
    home = await fetcher._homes.get()
    session, alive = home.session._session, weakref.ref(fetcher)
    del fetcher, home
    gc.collect()
    assert alive() is None
    await wait_until_async(lambda: session.closed)
