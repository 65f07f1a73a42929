"""The HTTP client: connections, limits, what it does not do, and what it never tells."""

from __future__ import annotations

import asyncio
import gc
import logging
import os
import socket
import subprocess
import sys
import textwrap
import traceback
import weakref
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

import pytest
from support.waiting import wait_until_async

from collection_search.adapters import http
from collection_search.adapters.http import HttpError, HttpRequest, HttpResponse, joined, send
from collection_search.runtime.concurrency import run_blocking
from collection_search.testing import ProviderServer
from collection_search.testing.providers.wire import KEY, Reply

if TYPE_CHECKING:
    from collections.abc import Iterator

PATIENCE_S = 30.0


@pytest.fixture
def server() -> Iterator[ProviderServer]:
    """A server that answers everything with `ok`."""
    with ProviderServer("brave") as server:
        server.reply(Reply(200, b"ok", {"Set-Cookie": "seen=1; Path=/", "X-One": "1"}))
        yield server


def request_to(server: ProviderServer, **changes: Any) -> HttpRequest:
    fields: dict[str, Any] = {
        "method": "GET",
        "url": f"{server.base_url}/search",
        "params": {"q": "a & b", "key": KEY},
        "headers": {"Authorization": f"Bearer {KEY}"},
    }
    return HttpRequest(**fields | changes)


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


async def test_a_get_and_its_answer(server):
    """Parameters are quoted, headers sent; the answer is status, headers and body."""
    answer = await get(server, params={"q": "größe & x+y", "n": 3})
    received = server.requests[0]
    assert (received.method, received.path) == ("GET", "/search")
    assert received.params == {"q": "größe & x+y", "n": "3"}
    assert received.headers["authorization"] == f"Bearer {KEY}"
    assert received.headers["user-agent"] == http.USER_AGENT
    assert (answer.status, answer.text(), answer.headers["x-one"]) == (200, "ok", "1")


async def test_a_post_sends_json(server):
    """The body is UTF-8 JSON, said so in its type."""
    body = {"query": "größe", "n": [1, None]}
    await get(server, method="POST", json=body, params={})
    received = server.requests[0]
    assert (received.method, received.body) == ("POST", body)
    assert received.headers["content-type"] == "application/json"


@pytest.mark.parametrize("status", [204, 301, 404, 429, 500])
async def test_a_failing_status_is_an_answer(server, status):
    """The client judges nothing."""
    server.reply(Reply(status, headers={"Retry-After": "7"}))
    answer = await get(server)
    assert (answer.status, answer.headers["retry-after"]) == (status, "7")


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
    assert joined("http://a.example/x/", "/y") == joined("http://a.example/x", "y")


# --- connections


async def test_connections_are_kept(server):
    """Ten calls one after another, ten at once, and again: no more than at once."""
    for _ in range(10):
        await get(server)
    assert server.connections == 1
    await asyncio.gather(*(get(server) for _ in range(10)))
    opened = server.connections
    assert opened <= 10
    await asyncio.gather(*(get(server) for _ in range(opened)))
    assert server.connections == opened


async def test_a_loop_has_one_session():
    """Calls that come at once share it too."""
    sessions = await asyncio.gather(*(http._connections() for _ in range(20)))
    assert len({id(one.session) for one in sessions}) == 1


async def test_failures_with_a_body_keep_the_connection(server):
    """An error's answer is read to its end."""
    server.reply(Reply.of_text("x" * 9_000, 500))
    for _ in range(3):
        await get(server)
    assert server.connections == 1


def test_a_session_ends_with_its_loop(server, caplog):
    """Each loop has its own; nothing is left open, warned about or remembered."""
    loops = []

    async def call() -> None:
        loops.append(weakref.ref(asyncio.get_running_loop()))
        await get(server)

    before = len(http._by_loop)
    for _ in range(2):
        asyncio.run(call())
    gc.collect()  # an open session would warn, and warnings are errors here
    assert server.connections == 2
    assert len(http._by_loop) == before
    assert [loop() for loop in loops] == [None, None]
    assert caplog.text == ""


def test_a_loop_that_is_only_closed_leaves_nothing(server):
    """Its generators were not shut down; the next loop closes its sockets and lets it go."""
    loops, sockets = [], []
    before = set(http._by_loop)

    def call() -> None:
        loop = asyncio.new_event_loop()
        loops.append(weakref.ref(loop))
        assert loop.run_until_complete(get(server)).status == 200
        sockets.extend(http._by_loop[loop].sockets)
        loop.close()

    def calls() -> None:
        for _ in range(5):
            call()
        asyncio.run(get(server))
        assert [each.fileno() for each in sockets] == [-1] * 5
        gc.collect()

    with pytest.warns(ResourceWarning, match="unclosed transport"):  # such a loop's own
        calls()
    assert set(http._by_loop) == before
    assert [loop() for loop in loops] == [None] * 5


def test_threads_do_not_share_sessions(server):
    """A session belongs to the loop that made it."""
    assert run_blocking(get(server)).status == 200
    assert asyncio.run(get(server)).status == 200
    assert run_blocking(get(server)).status == 200
    assert server.connections == 2


def test_a_process_ends_in_silence(server):
    """The loop behind synchronous calls never ends, but its session does."""
    script = f"""
        from collection_search.adapters.http import HttpRequest, send
        from collection_search.runtime.concurrency import run_blocking

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


async def test_redirects_are_not_followed(server):
    """The answer is the redirect itself, wherever it leads."""
    for address in ("/elsewhere", "http://[::bad/", "http://docs.example@169.254.169.254/"):
        server.requests.clear()
        server.reply(Reply(302, headers={"Location": address}))
        assert (await get(server)).status == 302
        assert len(server.requests) == 1


async def test_cookies_are_not_kept(server):
    """Tenants share the session."""
    for _ in range(2):
        await get(server)
    assert "cookie" not in server.requests[1].headers


# --- failures


async def test_a_slow_answer_is_a_timeout(server):
    """The limit is one for the whole call."""
    server.fail("held")
    error = await error_of(server, timeout_s=0.05)
    assert error.kind == "timeout"
    assert "did not answer within 0.05 s" in str(error)


async def test_a_connection_that_is_not_accepted_is_a_timeout():
    """The limit holds while connecting; the address with its key is not told."""
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        listener.listen(0)
        waiting = [socket.socket() for _ in range(8)]
        for each in waiting:  # until the queue is full
            each.setblocking(False)
            each.connect_ex(listener.getsockname())
        port = listener.getsockname()[1]
        request = HttpRequest("GET", f"http://127.0.0.1:{port}/", {"key": KEY})
        with pytest.raises(HttpError) as caught:
            await send(request, timeout_s=0.2)
        for each in waiting:
            each.close()
    assert caught.value.kind == "timeout"
    assert_no_key(caught.value)


async def test_a_cancelled_call_is_cancelled(server):
    """Cancellation is no failure."""
    server.fail("held")
    task = asyncio.create_task(get(server))
    await wait_until_async(lambda: server.requests)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task


@pytest.mark.parametrize(
    ("url", "said"),
    [
        ("http://127.0.0.1:1/search", "127.0.0.1:1 cannot be reached: connection refused"),
        ("http://no-such-host.invalid/x", "no-such-host.invalid cannot be reached: the name"),
        ("http://me:pass@127.0.0.1:1/", "127.0.0.1:1 cannot be reached"),
        ("http://127.0.0.1:99999/", "no request to '127.0.0.1:99999' can be made"),
        ("http://[::bad/search", "no request to '' can be made"),
        ("ftp://files.example/x", "no request to 'files.example' can be made"),
        ("http:///search", "no request to '' can be made"),
        ("", "no request to '' can be made"),
    ],
)
async def test_out_of_reach(url, said):
    """Refused, unknown or not valid: the host is named, passwords and keys are not."""
    with pytest.raises(HttpError) as caught:
        await send(HttpRequest("GET", url, {"key": KEY}), timeout_s=PATIENCE_S)
    assert caught.value.kind == "unreachable"
    assert said in str(caught.value)
    assert "pass" not in str(caught.value)
    assert_no_key(caught.value)


async def test_a_key_that_is_no_header(server):
    """A line break in a key adds no header; the message says where to look."""
    error = await error_of(server, headers={"X-Key": f"{KEY}\r\nX-Evil: 1"})
    assert error.kind == "unreachable"
    assert "the key" in str(error)
    assert server.requests == []


@pytest.mark.parametrize(
    ("name", "kind"),
    [
        ("reset", "unreachable"),
        ("cut_off", "unreadable"),
        ("garbled", "unreadable"),
        ("broken_gzip", "unreadable"),
        ("oversized", "too_large"),
        ("gzip_bomb", "too_large"),
    ],
)
async def test_broken_answers(server, caplog, name, kind):
    """Each has its kind, and none tells the key: not in messages, causes or logs."""
    caplog.set_level(logging.DEBUG)
    server.fail(name)
    error = await error_of(server)
    assert error.kind == kind
    assert server.base_url.removeprefix("http://") in str(error)
    assert_no_key(error, caplog.text)


async def test_the_limit_of_bytes_is_exact(server):
    """As many bytes are read, one more is too many, also where no length is given before."""
    server.reply(Reply(200, b"x" * 100))
    assert len((await get(server, max_bytes=100)).body) == 100
    assert (await error_of(server, max_bytes=99)).kind == "too_large"
    server.reply(Reply(200, b"x" * 100).zipped())
    assert len((await get(server, max_bytes=100)).body) == 100
    assert (await error_of(server, max_bytes=99)).kind == "too_large"


async def test_a_request_is_sent_once(server):
    """Also where the connection breaks: each one may be billed, and attempts are counted."""
    await get(server)
    for _ in range(2):  # on a connection that was kept, then on a new one
        server.requests.clear()
        server.fail("reset")
        await error_of(server)
        assert len(server.requests) == 1


async def test_a_call_after_a_failure_works(server):
    """A broken connection is not used again."""
    for name in ("reset", "cut_off", "garbled", "oversized"):
        server.fail(name)
        await error_of(server)
        server.reply(Reply(200, b"ok"))
        assert (await get(server)).text() == "ok"


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


def assert_no_key(error: Any, *told: str) -> None:
    texts = [*told, str(error), repr(error)]
    if isinstance(error, BaseException):
        texts += traceback.format_exception(error)
    for form in (KEY, quote(KEY), quote(KEY, safe="")):
        assert form not in " ".join(texts)
