"""Both ways to a provider keep one contract: the product's session and the caller's own client."""

from __future__ import annotations

import asyncio
import logging
import socket
from typing import TYPE_CHECKING, Any

import pytest
from support.http_calls import PATIENCE_S, assert_no_key, request_to
from support.httpx_clients import loopback_client, mock_client
from support.waiting import wait_until_async

from collection_search.adapters.http import USER_AGENT, HttpError, HttpRequest, HttpResponse, send
from collection_search.adapters.httpx_client import choose_transmit
from collection_search.testing import ProviderServer
from collection_search.testing.providers.wire import KEY, Reply

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Iterator

    from collection_search.adapters.http import Transmit

over_the_wire = pytest.mark.parametrize("way", ["session", "client"])
"""For what a transport without a network does not show."""


@pytest.fixture
def server() -> Iterator[ProviderServer]:
    """A server that answers everything with `ok`."""
    with ProviderServer("brave") as server:
        server.reply(Reply(200, b"ok", {"Set-Cookie": "seen=1; Path=/", "X-One": "1"}))
        yield server


@pytest.fixture(params=["session", "client", "mock"])
def way(request) -> str:
    """Who sends: the product's session, or the caller's client with or without a network."""
    return str(request.param)


@pytest.fixture
async def transmit(way, server) -> AsyncIterator[Transmit]:
    if way == "session":
        yield send
        return
    async with (loopback_client if way == "client" else mock_client)(server) as client:
        yield choose_transmit(client)


async def get(
    transmit: Transmit,
    server: ProviderServer,
    *,
    timeout_s: float = PATIENCE_S,
    max_bytes: int = 10_000,
    **changes: Any,
) -> HttpResponse:
    return await transmit(request_to(server, **changes), timeout_s=timeout_s, max_bytes=max_bytes)


async def error_of(transmit: Transmit, server: ProviderServer, **options: Any) -> HttpError:
    with pytest.raises(HttpError) as caught:
        await get(transmit, server, **options)
    return caught.value


async def test_a_get_and_its_answer(server, transmit):
    """Parameters are quoted, headers sent; the answer is status, headers and body."""
    answer = await get(transmit, server, params={"q": "größe & x+y", "n": 3})
    received = server.requests[0]
    assert (received.method, received.path) == ("GET", "/search")
    assert received.params == {"q": "größe & x+y", "n": "3"}
    assert received.headers["authorization"] == f"Bearer {KEY}"
    assert received.headers["user-agent"] == USER_AGENT
    assert (answer.status, answer.text(), answer.headers["x-one"]) == (200, "ok", "1")


async def test_a_post_sends_json(server, transmit):
    """The body is UTF-8 JSON, said so in its type."""
    body = {"query": "größe", "n": [1, None]}
    await get(transmit, server, method="POST", json=body, params={})
    received = server.requests[0]
    assert (received.method, received.body) == ("POST", body)
    assert received.headers["content-type"] == "application/json"


@pytest.mark.parametrize("status", [204, 301, 404, 429, 500])
async def test_a_failing_status_is_an_answer(server, transmit, status):
    """The client judges nothing."""
    server.reply(Reply(status, headers={"Retry-After": "7"}))
    answer = await get(transmit, server)
    assert (answer.status, answer.headers["retry-after"]) == (status, "7")


@over_the_wire
async def test_connections_are_kept(server, transmit):
    """Ten calls one after another, ten at once, and again: no more than at once."""
    for _ in range(10):
        await get(transmit, server)
    assert server.connections == 1
    await asyncio.gather(*(get(transmit, server) for _ in range(10)))
    opened = server.connections
    assert opened <= 10
    await asyncio.gather(*(get(transmit, server) for _ in range(opened)))
    assert server.connections == opened


@over_the_wire
async def test_failures_with_a_body_keep_the_connection(server, transmit):
    """An error's answer is read to its end."""
    server.reply(Reply.of_text("x" * 9_000, 500))
    for _ in range(3):
        await get(transmit, server)
    assert server.connections == 1


async def test_redirects_are_not_followed(server, transmit):
    """The answer is the redirect itself, wherever it leads."""
    for address in ("/elsewhere", "http://[::bad/", "http://docs.example@169.254.169.254/"):
        server.requests.clear()
        server.reply(Reply(302, headers={"Location": address}))
        assert (await get(transmit, server)).status == 302
        assert len(server.requests) == 1


async def test_cookies_are_not_kept(server, transmit):
    """Tenants share the session, or the client."""
    for _ in range(2):
        await get(transmit, server)
    assert "cookie" not in server.requests[1].headers


async def test_a_slow_answer_is_a_timeout(server, transmit):
    """The limit is one for the whole call."""
    server.fail("held")
    error = await error_of(transmit, server, timeout_s=0.05)
    assert error.kind == "timeout"
    assert "did not answer within 0.05 s" in str(error)


@pytest.mark.parametrize("timeout_s", [0.0, -1.0])
async def test_no_time_left_is_a_timeout(server, transmit, timeout_s):
    """It is never a call without a limit."""
    server.fail("held")
    async with asyncio.timeout(PATIENCE_S):
        error = await error_of(transmit, server, timeout_s=timeout_s)
    assert error.kind == "timeout"


@pytest.mark.slow
@over_the_wire
async def test_a_connection_that_is_not_accepted_is_a_timeout(transmit):
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
            await transmit(request, timeout_s=0.2)
        for each in waiting:
            each.close()
    assert caught.value.kind == "timeout"
    assert_no_key(caught.value)


async def test_a_cancelled_call_is_cancelled(server, transmit):
    """Cancellation is no failure."""
    server.fail("held")
    task = asyncio.create_task(get(transmit, server))
    await wait_until_async(lambda: server.requests)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task


@over_the_wire
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
async def test_out_of_reach(transmit, url, said):
    """Refused, unknown or not valid: the host is named, passwords and keys are not."""
    with pytest.raises(HttpError) as caught:
        await transmit(HttpRequest("GET", url, {"key": KEY}), timeout_s=PATIENCE_S)
    assert caught.value.kind == "unreachable"
    assert said in str(caught.value)
    assert "pass" not in str(caught.value)
    assert_no_key(caught.value)


@over_the_wire
async def test_a_key_that_is_no_header(server, transmit):
    """A line break in a key adds no header; the message says where to look."""
    error = await error_of(transmit, server, headers={"X-Key": f"{KEY}\r\nX-Evil: 1"})
    assert error.kind == "unreachable"
    assert "the key" in str(error)
    assert server.requests == []


@pytest.mark.slow
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
async def test_broken_answers(server, transmit, caplog, name, kind):
    """Each has its kind, and none tells the key: not in messages, causes or logs."""
    caplog.set_level(logging.DEBUG)
    server.fail(name)
    error = await error_of(transmit, server)
    assert error.kind == kind
    assert server.base_url.removeprefix("http://") in str(error)
    assert_no_key(error, caplog.text)


async def test_the_limit_of_bytes_is_exact(server, transmit):
    """As many bytes are read, one more is too many, also where no length is given before."""
    server.reply(Reply(200, b"x" * 100))
    assert len((await get(transmit, server, max_bytes=100)).body) == 100
    assert (await error_of(transmit, server, max_bytes=99)).kind == "too_large"
    server.reply(Reply(200, b"x" * 100).zipped())
    assert len((await get(transmit, server, max_bytes=100)).body) == 100
    assert (await error_of(transmit, server, max_bytes=99)).kind == "too_large"


@over_the_wire
async def test_a_request_is_sent_once(server, transmit):
    """Also where the connection breaks: each one may be billed, and attempts are counted."""
    await get(transmit, server)
    for _ in range(2):  # on a connection that was kept, then on a new one
        server.requests.clear()
        server.fail("reset")
        await error_of(transmit, server)
        assert len(server.requests) == 1


async def test_a_call_after_a_failure_works(server, transmit):
    """A broken connection is not used again."""
    for name in ("reset", "cut_off", "garbled", "oversized"):
        server.fail(name)
        await error_of(transmit, server)
        server.reply(Reply(200, b"ok"))
        assert (await get(transmit, server)).text() == "ok"


@pytest.mark.slow
async def test_answers_do_not_mix(server, transmit):
    """Each of many calls at once gets its own answer."""
    server.reply(Reply(200, b"", shows_request=True))
    answers = await asyncio.gather(*(get(transmit, server, params={"n": n}) for n in range(40)))
    assert ["".join(c for c in a.text().split("</p>")[0] if c.isdigit()) for a in answers] == [
        str(n) for n in range(40)
    ]
