"""The MCP server over HTTP: the official client, and who is turned away."""

from __future__ import annotations

import asyncio
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any

import httpx
import httpx2
import pytest
import uvicorn
from mcp import Client
from mcp.client.streamable_http import streamable_http_client
from pydantic import SecretStr
from support.waiting import wait_until_async

from collection_search import SearchContext, Settings
from collection_search.contracts.functions import FUNCTIONS
from collection_search.errors import ConfigError, InputError
from collection_search.testing import ScriptedAdapter, rows
from collection_search.tools.mcp.streamable_http import PATH, HttpAddress, http_app
from collection_search.tools.mcp.tool_server import mcp_server

if TYPE_CHECKING:
    from collections.abc import AsyncIterator
    from pathlib import Path

MODES = ("auto", "legacy")
TOKEN = SecretStr("a-token-of-the-operator")
PING = {"jsonrpc": "2.0", "id": 1, "method": "ping"}
HEADERS = {"Accept": "application/json, text/event-stream"}


class Hanging(ScriptedAdapter):
    """Answers no search, and notes when one is cancelled."""

    asked = cancelled = False

    async def asearch(self, *_: Any, **__: Any) -> Any:
        self.asked = True
        try:
            await asyncio.sleep(600)
        except asyncio.CancelledError:
            self.cancelled = True
            raise


@asynccontextmanager
async def served(
    home: Path, adapter: ScriptedAdapter, token: SecretStr | None = None
) -> AsyncIterator[str]:
    """Run the server on a free port and yield its address."""
    context = SearchContext(provider=adapter, settings=Settings(home=home))
    address = HttpAddress("127.0.0.1", 0)
    app = http_app(mcp_server(context), address, token)
    listener = address.listen()
    config = uvicorn.Config(app, log_config=None, timeout_graceful_shutdown=1)
    server = uvicorn.Server(config)
    task = asyncio.ensure_future(server.serve(sockets=[listener]))
    await wait_until_async(lambda: server.started)
    try:
        yield f"http://127.0.0.1:{listener.getsockname()[1]}{PATH}"
    finally:
        server.should_exit = True
        await task


@pytest.mark.slow
@pytest.mark.parametrize("mode", MODES)
async def test_the_official_client_lists_and_calls(tmp_path: Path, mode: str) -> None:
    """Tools, results and errors are as over stdio."""
    async with (
        served(tmp_path, ScriptedAdapter(rows(3))) as url,
        Client(url, mode=mode) as client,
    ):
        names = [tool.name for tool in (await client.list_tools()).tools]
        found = await client.call_tool("web_search", {"query": "asyncio", "max_results": 2})
        wrong = await client.call_tool("web_search", {})
    assert names == list(FUNCTIONS)
    assert len(found.structured_content["results"]) == 2
    assert wrong.is_error


@pytest.mark.slow
@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize(
    ("tool", "given"),
    [
        ("web_search", {"query": "asyncio"}),
        ("collection_search", {"question": "asyncio", "collection": "py"}),
    ],
)
async def test_cancelling_reaches_the_search(
    tmp_path: Path, mode: str, tool: str, given: dict[str, str]
) -> None:
    """The one protocol closes the answer's stream, the other sends a notification."""
    adapter = Hanging()
    async with served(tmp_path, adapter) as url, Client(url, mode=mode) as client:
        call = asyncio.ensure_future(client.call_tool(tool, given))
        await wait_until_async(lambda: adapter.asked)
        call.cancel()
        await asyncio.gather(call, return_exceptions=True)
        await wait_until_async(lambda: adapter.cancelled)


@pytest.mark.slow
async def test_a_token_opens_the_server(tmp_path: Path) -> None:
    """With the token a client calls; without it, or with another one, it gets 401."""
    async with served(tmp_path, ScriptedAdapter(rows(1)), TOKEN) as url:
        authorization = {"Authorization": f"Bearer {TOKEN.get_secret_value()}"}
        async with (
            httpx2.AsyncClient(headers=authorization) as http,
            Client(streamable_http_client(url, http_client=http)) as client,
        ):
            found = await client.call_tool("web_search", {"query": "asyncio"})
        async with httpx.AsyncClient(headers=HEADERS) as http:
            for headers in (
                {},
                {"Authorization": "Bearer x"},
                {"Authorization": "a-token-of-the-operator"},
            ):
                refused = await http.post(url, json=PING, headers=headers)
                assert refused.status_code == 401
                assert refused.headers["WWW-Authenticate"] == "Bearer"
                assert TOKEN.get_secret_value() not in refused.text
    assert not found.is_error


@asynccontextmanager
async def asked(address: HttpAddress, **choices: Any) -> AsyncIterator[httpx.AsyncClient]:
    """Yield a client of the application alone."""
    server = mcp_server(SearchContext(provider=ScriptedAdapter()))
    app = http_app(server, address, choices.get("token"))
    transport = httpx.ASGITransport(app=app)
    async with (
        server.session_manager.run(),
        httpx.AsyncClient(transport=transport, base_url="http://127.0.0.1:80") as client,
    ):
        yield client


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        ({"Host": "127.0.0.1:8765"}, 200),
        ({"Host": "localhost:8765", "Origin": "http://localhost:8765"}, 200),
        ({"Host": "evil.example:8765"}, 421),
        ({"Host": "127.0.0.1.evil.example:8765"}, 421),
        ({"Host": "127.0.0.1:8765", "Origin": "https://evil.example"}, 403),
    ],
)
async def test_pages_in_a_browser_are_turned_away(headers: dict[str, str], status: int) -> None:
    """A name that was bound anew to this machine is no name of the server."""
    async with asked(HttpAddress("127.0.0.1", 8765)) as client:
        given = {
            "jsonrpc": "2.0",
            "id": 1,
            "method": "initialize",
            "params": {
                "protocolVersion": "2025-06-18",
                "capabilities": {},
                "clientInfo": {"name": "test", "version": "1"},
            },
        }
        answered = await client.post(PATH, json=given, headers=HEADERS | headers)
    assert answered.status_code == status


def test_other_machines_need_a_token() -> None:
    """Without one the server does not start, and the message names the variable."""
    server = mcp_server(SearchContext(provider=ScriptedAdapter()))
    for host in ("0.0.0.0", "192.0.2.1", "::", "mcp.example"):
        for token in (None, SecretStr(" ")):
            with pytest.raises(ConfigError, match="COLLECTION_SEARCH_MCP_TOKEN"):
                http_app(server, HttpAddress(host, 1), token)
    for host in ("127.0.0.1", "127.0.0.2", "::1", "localhost"):
        assert http_app(server, HttpAddress(host, 1), None)


@pytest.mark.parametrize("text", ["", ":", "localhost", ":80", "127.0.0.1:x", "a:99999", "a:-1"])
def test_what_is_no_address_is_refused(text: str) -> None:
    """The message shows how an address is written."""
    with pytest.raises(InputError, match=r"write HOST:PORT, such as 127\.0\.0\.1:8765"):
        HttpAddress.parse(text)


def test_a_port_in_use_is_told() -> None:
    """The address is named."""
    with HttpAddress("127.0.0.1", 0).listen() as listener:
        port = listener.getsockname()[1]
        with pytest.raises(ConfigError, match=rf"cannot listen on 127\.0\.0\.1:{port}"):
            HttpAddress("127.0.0.1", port).listen()
