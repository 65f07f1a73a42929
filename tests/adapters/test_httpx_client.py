"""What is the caller's own in the calls through an `httpx.AsyncClient`, and what is not."""

from __future__ import annotations

import asyncio
import logging
import ssl
import subprocess
import threading
from http.server import BaseHTTPRequestHandler, HTTPServer
from typing import TYPE_CHECKING, Any

import httpx
import pytest
from support.http_calls import PATIENCE_S, assert_no_key, request_to
from support.httpx_clients import loopback_client, mock_client

from collection_search.adapters.http import HttpError, HttpRequest, send
from collection_search.adapters.httpx_client import choose_transmit
from collection_search.adapters.search.brave import BraveSearch
from collection_search.errors import ConfigError, InputError
from collection_search.runtime.concurrency import run_blocking
from collection_search.testing import ProviderServer
from collection_search.testing.providers.wire import KEY, Reply

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


@pytest.fixture
def server() -> Iterator[ProviderServer]:
    """A server that answers everything with `ok`, and sets a cookie."""
    with ProviderServer("brave") as server:
        server.reply(Reply(200, b"ok", {"Set-Cookie": "seen=1; Path=/"}))
        yield server


async def call(client: httpx.AsyncClient, server: ProviderServer, **changes: Any) -> Any:
    transmit = choose_transmit(client)
    return await transmit(request_to(server, **changes), timeout_s=PATIENCE_S)


async def test_its_cookies_are_neither_sent_nor_changed(server):
    """Neither its jar nor its default headers; the caller's own calls have them as before."""
    async with loopback_client(cookies={"mine": "1"}) as client:
        for _ in range(2):
            await call(client, server)
        assert "cookie" not in server.requests[1].headers
        assert dict(client.cookies) == {"mine": "1"}
        await client.get(server.base_url)
        assert server.requests[2].headers["cookie"] == "mine=1"
        assert dict(client.cookies) == {"mine": "1", "seen": "1"}
    async with loopback_client(headers={"Cookie": "mine=2"}) as client:
        await call(client, server)
    assert "cookie" not in server.requests[3].headers


async def test_its_headers_are_below_ours(server):
    """An address of its own and parameters are left out: an adapter's address is whole."""
    async with loopback_client(
        headers={"X-Team": "search", "Authorization": "Bearer other"},
        base_url="http://127.0.0.1:1/elsewhere",
        params={"extra": "1"},
    ) as client:
        await call(client, server, params={"q": "x"})
        await call(client, server, headers={})
    first, second = server.requests
    assert (first.headers["x-team"], first.headers["authorization"]) == ("search", f"Bearer {KEY}")
    assert second.headers["authorization"] == "Bearer other"
    assert (first.path, first.params) == ("/search", {"q": "x"})


async def test_the_agent_is_ours_unless_the_client_names_one(server):
    """What httpx sends by itself is no choice of the caller's."""
    for headers in ({}, {"User-Agent": "mine/1"}):
        async with loopback_client(headers=headers) as client:
            await call(client, server)
    agents = [request.headers["user-agent"] for request in server.requests]
    assert agents[0].startswith("collection-search")
    assert agents[1] == "mine/1"


async def test_its_login_is_taken_where_we_have_none(server):
    """A key or a password of ours is never replaced."""
    host = server.base_url.removeprefix("http://")
    async with loopback_client(auth=("gate", "way")) as client:
        await call(client, server)
        await call(client, server, headers={})
        await call(client, server, headers={}, url=f"http://me:hidden@{host}/search")
    logins = [request.headers["authorization"] for request in server.requests]
    own, gateway, address = logins
    assert own == f"Bearer {KEY}"
    assert gateway == httpx.BasicAuth("gate", "way")._auth_header
    assert address == httpx.BasicAuth("me", "hidden")._auth_header


async def test_its_hooks_are_called(server):
    """One that raises for a status changes nothing: the answer is judged by the adapter."""
    seen: list[str] = []

    async def on_request(request: httpx.Request) -> None:
        seen.append(request.url.path)

    async def on_response(response: httpx.Response) -> None:
        await response.aread()
        response.raise_for_status()

    hooks = {"request": [on_request], "response": [on_response]}
    async with loopback_client(event_hooks=hooks) as client:
        assert (await call(client, server)).text() == "ok"
        server.reply(Reply(429, b"slowly", {"Retry-After": "7"}))
        answer = await call(client, server)
        assert client.event_hooks == hooks
    assert (answer.status, answer.headers["retry-after"]) == (429, "7")
    assert seen == ["/search", "/search"]


async def test_the_log_of_httpx_shows_no_key_of_ours(server, caplog):
    """It shows the address of every call; the caller's own calls are logged as before."""
    caplog.set_level(logging.DEBUG)
    caplog.set_level(logging.INFO, logger="httpx")  # others may have made it quiet
    async with loopback_client() as client:
        await call(client, server)
        assert f"{server.base_url}/search " in caplog.text
        assert_no_key("", caplog.text)
        await client.get(f"{server.base_url}/own", params={"page": "1"})
    assert "/own?page=1" in caplog.text


async def test_an_answer_of_a_transport_without_a_network():
    """The usual double: a function from request to response."""
    rows = {"web": {"results": [{"title": "T", "url": "https://a.example/", "description": "d"}]}}

    def answer(request: httpx.Request) -> httpx.Response:
        assert request.headers["x-subscription-token"] == KEY
        return httpx.Response(200, json=rows)

    async with httpx.AsyncClient(transport=httpx.MockTransport(answer)) as client:
        adapter = BraveSearch(api_key=KEY, http_client=client)
        response = await adapter.asearch("question", max_results=3)
    assert [row.url for row in response.results] == ["https://a.example/"]


async def test_an_error_of_the_callers_own_transport_is_his():
    """A mistake in a double is no failure of the provider."""

    def broken(_: httpx.Request) -> httpx.Response:
        raise KeyError("fixture")

    async with httpx.AsyncClient(transport=httpx.MockTransport(broken)) as client:
        with pytest.raises(KeyError):
            await choose_transmit(client)(HttpRequest("GET", "http://a.example/"), timeout_s=1)


@pytest.mark.parametrize("wrong", [httpx.Client(trust_env=False), "https://proxy.example", object])
def test_anything_else_is_refused(wrong):
    """At once, with what is needed."""
    with pytest.raises(InputError, match=r"must be an httpx\.AsyncClient, got"):
        BraveSearch(api_key=KEY, http_client=wrong)


async def test_its_own_authority_and_its_absence(tmp_path):
    """A certificate that only the caller's client trusts."""
    pem = certificate(tmp_path)
    with https_server(pem) as port:
        url = f"https://localhost:{port}/"
        trusting = ssl.create_default_context(cafile=pem)
        async with httpx.AsyncClient(verify=trusting, trust_env=False) as client:
            answer = await choose_transmit(client)(HttpRequest("GET", url), timeout_s=PATIENCE_S)
        assert answer.text() == "secure"
        async with loopback_client() as client:
            for transmit in (send, choose_transmit(client)):
                with pytest.raises(HttpError, match="its certificate is not trusted"):
                    await transmit(HttpRequest("GET", url), timeout_s=PATIENCE_S)


@pytest.mark.slow
async def test_its_proxy(server):
    """It gets the whole address; one that refuses is named as the cause."""
    async with httpx.AsyncClient(proxy=server.base_url, trust_env=False) as client:
        await call(client, server, url="http://search.example/find", params={"q": "x"})
        assert server.requests[0].target == "http://search.example/find?q=x"
        with pytest.raises(HttpError, match=r"the proxy refused the way .* \(HTTP status 501\)"):
            await call(client, server, url="https://search.example/find")


# --- event loops


async def test_another_loop_hands_its_calls_over(server):
    """The client's connections belong to the loop that used it first."""
    async with loopback_client() as client:
        adapter = brave(server, client)
        await adapter.asearch("asyncio", max_results=1)
        found = await asyncio.to_thread(adapter.search, "asyncio", max_results=1)
    assert found.results
    assert server.connections == 1


def test_synchronous_calls_have_a_loop_of_their_own(server):
    """They may come again and again, from any thread, and before asynchronous ones."""
    client = loopback_client()
    adapter = brave(server, client)
    for _ in range(2):
        assert adapter.search("asyncio", max_results=1).results
    found = asyncio.run(adapter.asearch("asyncio", max_results=1))
    run_blocking(client.aclose())
    assert found.results
    assert server.connections == 1


async def test_a_synchronous_call_that_blocks_the_clients_loop_is_refused(server):
    """It would wait for itself."""
    async with loopback_client() as client:
        adapter = brave(server, client)
        await adapter.asearch("asyncio", max_results=1)
        with pytest.raises(ConfigError, match="blocks the event loop"):
            adapter.search("asyncio", max_results=1)
        assert (await adapter.asearch("asyncio", max_results=1)).results


def test_a_client_of_a_loop_that_has_ended_is_refused(server):
    """Its connections have ended as well."""
    client = mock_client(server)
    adapter = brave(server, client)
    assert asyncio.run(adapter.asearch("asyncio", max_results=1)).results
    for search in (asyncio.run, run_blocking):
        with pytest.raises(ConfigError, match="Make a new client for each event loop"):
            search(adapter.asearch("asyncio", max_results=1))


async def test_a_closed_client_is_refused(server):
    """Nothing here closes one."""
    client = loopback_client()
    await call(client, server)
    assert not client.is_closed
    await client.aclose()
    with pytest.raises(ConfigError, match="client is closed"):
        await call(client, server)


def brave(server: ProviderServer, client: httpx.AsyncClient) -> BraveSearch:
    server.recover()
    return BraveSearch(api_key=KEY, base_url=server.base_url, http_client=client, timeout=10.0)


def certificate(folder: Path) -> Path:
    """Return a file with a certificate for localhost that signs itself, and its key."""
    pem = folder / "localhost.pem"
    command = (
        "openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -days 2"
        f" -subj /CN=localhost -addext subjectAltName=DNS:localhost -keyout {pem} -out {folder}/c"
    )
    try:
        subprocess.run(command.split(), check=True, capture_output=True)
    except FileNotFoundError:
        pytest.skip("there is no openssl here")
    pem.write_text(pem.read_text() + (folder / "c").read_text())
    return pem


class https_server:  # noqa: N801 - used as a function
    """A TLS server on the loopback address; gives its port."""

    def __init__(self, pem: Path) -> None:
        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                self.send_response(200)
                self.send_header("Content-Length", "6")
                self.end_headers()
                self.wfile.write(b"secure")

            def log_message(self, *_: object) -> None:
                pass

        class Listener(HTTPServer):
            def handle_error(self, *_: object) -> None:
                """A client that does not trust the certificate leaves."""

        self._server = Listener(("127.0.0.1", 0), Handler)
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(pem)
        self._server.socket = context.wrap_socket(self._server.socket, server_side=True)
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.01,))

    def __enter__(self) -> int:
        self._thread.start()
        return self._server.server_port

    def __exit__(self, *_: object) -> None:
        self._server.shutdown()
        self._thread.join()
        self._server.server_close()
