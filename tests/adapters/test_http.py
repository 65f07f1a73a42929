"""The HTTP client: connections, limits, what it does not do, and what it never tells."""

from __future__ import annotations

import asyncio
import gc
import os
import subprocess
import sys
import textwrap
import traceback
import weakref
from contextvars import ContextVar, copy_context
from typing import TYPE_CHECKING, Any

import pytest
from support.http_calls import PATIENCE_S, assert_no_key, request_to

from collection_search.adapters import http
from collection_search.adapters.http import HttpError, HttpRequest, HttpResponse, join_url, send
from collection_search.runtime.concurrency import run_blocking
from collection_search.testing import ProviderServer
from collection_search.testing.providers.wire import KEY, Reply

if TYPE_CHECKING:
    from collections.abc import Iterator


@pytest.fixture
def server() -> Iterator[ProviderServer]:
    """A server that answers everything with `ok`."""
    with ProviderServer("brave") as server:
        server.reply(Reply(200, b"ok", {"Set-Cookie": "seen=1; Path=/", "X-One": "1"}))
        yield server


async def get(
    server: ProviderServer,
    *,
    timeout_s: float = PATIENCE_S,
    max_bytes: int = 10_000,
    **changes: Any,
) -> HttpResponse:
    return await send(request_to(server, **changes), timeout_s=timeout_s, max_bytes=max_bytes)


async def error_of(server: ProviderServer, **options: Any) -> HttpError:
    with pytest.raises(HttpError) as caught:
        await get(server, **options)
    return caught.value


# --- requests and answers


@pytest.mark.parametrize(
    ("body", "value"),
    [
        (b'{"a": 1}', {"a": 1}),
        ('{"a": "ä"}'.encode("utf-8-sig"), {"a": "ä"}),
        ('{"a": "ä"}'.encode("utf-16"), {"a": "ä"}),
        (b"null", None),
    ],
)
def test_json_is_read(body, value):
    """In every encoding that JSON may have."""
    assert HttpResponse(200, {}, body).json() == value


@pytest.mark.parametrize("body", [b"", b"<html>", b"{", b'"\xff"', b"[" * 200_000])
def test_what_is_no_json_is_a_value_error(body):
    """Never another exception, however deep it is nested."""
    with pytest.raises(ValueError):
        HttpResponse(200, {}, body).json()


def test_undecodable_text_is_shown_all_the_same():
    """With marks where bytes mean nothing."""
    assert HttpResponse(200, {}, b"gr\xfc\xdfe").text() == "gr��e"


def test_a_base_may_end_in_a_slash_or_hold_a_path():
    """There is one slash between base and path."""
    assert join_url("http://a.example/x/", "/y") == join_url("http://a.example/x", "y")


# --- connections


async def test_a_loop_has_one_session():
    """Calls that come at once share it too."""
    sessions = await asyncio.gather(*(http._connections.get() for _ in range(20)))
    assert len({id(one.session) for one in sessions}) == 1


async def test_kept_connections_keep_nothing_of_who_opened_or_read_them(server):
    """A run's state hangs on its context; the connections live on for other runs."""
    server.reply(Reply(200, b"x" * 2_000_000, {}))

    class State:
        pass

    state: ContextVar[State] = ContextVar("state")

    async def call() -> weakref.ref[State]:
        state.set(State())
        await get(server, max_bytes=3_000_000)
        return weakref.ref(state.get())

    loop = asyncio.get_running_loop()
    calls = [loop.create_task(call(), context=copy_context()) for _ in range(8)]
    known = await asyncio.gather(*calls)
    calls.clear()
    await get(server, max_bytes=3_000_000)  # the loop itself remembers its latest task
    gc.collect()
    assert [each() for each in known] == [None] * 8


@pytest.mark.slow
def test_a_session_ends_with_its_loop(server, caplog):
    """Each loop has its own; nothing is left open, warned about or remembered."""
    loops = []

    async def call() -> None:
        loops.append(weakref.ref(asyncio.get_running_loop()))
        await get(server)

    before = len(http._connections._lives)
    for _ in range(2):
        asyncio.run(call())
    gc.collect()  # an open session would warn, and warnings are errors here
    assert server.connections == 2
    assert len(http._connections._lives) == before
    assert [loop() for loop in loops] == [None, None]
    assert caplog.text == ""


@pytest.mark.slow
def test_a_loop_that_is_only_closed_leaves_nothing(server):
    """Its generators were not shut down; the next loop closes its sockets and lets it go."""
    loops, sockets = [], []
    before = set(http._connections._lives)

    def call() -> None:
        loop = asyncio.new_event_loop()
        loops.append(weakref.ref(loop))
        assert loop.run_until_complete(get(server)).status == 200
        sockets.extend(http._connections._lives[loop].sockets)
        loop.close()

    def calls() -> None:
        for _ in range(5):
            call()
        asyncio.run(get(server))
        assert [each.fileno() for each in sockets] == [-1] * 5
        gc.collect()

    with pytest.warns(ResourceWarning, match="unclosed transport"):  # such a loop's own
        calls()
    assert set(http._connections._lives) == before
    assert [loop() for loop in loops] == [None] * 5


def test_threads_do_not_share_sessions(server):
    """A session belongs to the loop that made it."""
    assert run_blocking(get(server)).status == 200
    assert asyncio.run(get(server)).status == 200
    assert run_blocking(get(server)).status == 200
    assert server.connections == 2


@pytest.mark.slow
def test_a_process_ends_in_silence(server):
    """The loop behind synchronous calls never ends, but its session does."""
    script = f"""
        import logging
        from collection_search.adapters.http import HttpRequest, send
        from collection_search.runtime.concurrency import run_blocking

        logging.getLogger("asyncio").setLevel(logging.ERROR)  # not how long a callback took
        call = send(HttpRequest("GET", {server.base_url!r}), timeout_s=30)
        print(run_blocking(call).status)
    """
    run = subprocess.run(
        [sys.executable, "-X", "dev", "-W", "error", "-c", textwrap.dedent(script)],
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert (run.returncode, run.stdout, run.stderr) == (0, "200\n", "")


def test_a_request_does_not_show_its_key():
    """In a log or a traceback with values."""
    request = HttpRequest("POST", "http://a.example/", {"key": KEY}, {"X-Key": KEY}, {"key": KEY})
    assert_no_key(repr(request))
    assert_no_key(repr(HttpResponse(200, {}, KEY.encode())))


# --- proxies of the environment


@pytest.fixture
def proxy(server, monkeypatch) -> ProviderServer:
    """The server as the proxy of every other host."""
    monkeypatch.setenv("http_proxy", server.base_url)
    monkeypatch.setenv("https_proxy", server.base_url)
    return server


async def test_the_proxy_is_asked(proxy):
    """It gets the whole address."""
    url = "http://search.example/find"
    assert (await get(proxy, url=url, params={"q": "x"})).text() == "ok"
    assert proxy.requests[0].target == "http://search.example/find?q=x"
    assert proxy.requests[0].headers["host"] == "search.example"


async def test_no_proxy_for_this_machine(proxy):
    """A local server is asked itself."""
    await get(proxy)
    assert proxy.requests[0].target.startswith("/search?")
    port = proxy.base_url.rpartition(":")[2]
    await get(proxy, url=f"http://localhost:{port}/search")
    assert proxy.requests[1].target.startswith("/search?")


async def test_no_proxy_where_it_says_so(proxy, monkeypatch):
    """Such hosts are asked themselves."""
    monkeypatch.setenv("no_proxy", "other.example,.invalid")
    error = await error_of(proxy, url="http://search.invalid/find")
    assert "the name is not known" in str(error)
    assert proxy.requests == []


async def test_a_proxy_without_a_scheme(server, monkeypatch):
    """It is an HTTP proxy, as for other programs."""
    monkeypatch.setenv("http_proxy", server.base_url.removeprefix("http://"))
    assert (await get(server, url="http://search.example/find")).text() == "ok"


async def test_a_password_of_the_proxy(server, monkeypatch):
    """It is sent to the proxy and told nobody."""
    host = server.base_url.removeprefix("http://")
    monkeypatch.setenv("http_proxy", f"http://me:hidden@{host}")
    await get(server, url="http://search.example/find")
    assert server.requests[0].headers["proxy-authorization"].startswith("Basic ")
    server.fail("garbled")
    error = await error_of(server, url="http://search.example/find")
    assert "hidden" not in "".join(traceback.format_exception(error))


@pytest.mark.parametrize(
    ("url", "said"),
    [
        ("http://search.example/", "the proxy of the environment does not answer"),
        ("https://search.example/", "the proxy of the environment does not answer"),
    ],
)
async def test_a_proxy_that_is_down(server, monkeypatch, url, said):
    """It is not the provider that is down."""
    for name in ("http_proxy", "https_proxy"):
        monkeypatch.setenv(name, "http://127.0.0.1:1")
    error = await error_of(server, url=url)
    assert (error.kind, said in str(error)) == ("unreachable", True)
    assert_no_key(error)


async def test_a_proxy_that_refuses_the_way(proxy):
    """This one knows no CONNECT."""
    error = await error_of(proxy, url="https://search.example/")
    assert error.kind == "unreachable"
    assert "the proxy refused the way to search.example (HTTP status 501)" in str(error)
    assert_no_key(error)


async def test_the_netrc_file_is_not_read(server, monkeypatch, tmp_path):
    """Passwords of this machine are sent to nobody."""
    (tmp_path / "netrc").write_text("machine 127.0.0.1 login me password hidden")
    monkeypatch.setenv("NETRC", os.fspath(tmp_path / "netrc"))
    await get(server, headers={})
    assert "authorization" not in server.requests[0].headers
