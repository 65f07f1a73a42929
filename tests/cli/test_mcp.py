"""`collection-search mcp`: processes of their own, and the official client."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import httpx2
import pytest
from mcp import Client, StdioServerParameters
from mcp.client.streamable_http import streamable_http_client

from collection_search.contracts.functions import FUNCTIONS

if TYPE_CHECKING:
    from collections.abc import Callable

    from support.command_line import Invoke

ROOT = Path(__file__).parents[2]
ABOUT = "How to cancel an asyncio task after a timeout"
MODES = ("auto", "legacy")
TOKEN = "a-token-of-the-operator"
PING = json.dumps({"jsonrpc": "2.0", "id": 1, "method": "ping"}) + "\n"


@pytest.fixture
def over_stdio(plugin_path: list[str]) -> Callable[..., StdioServerParameters]:
    """Say how a client starts the server."""

    def parameters(*arguments: str) -> StdioServerParameters:
        path = os.pathsep.join([str(ROOT), *plugin_path])
        ours = {k: v for k, v in os.environ.items() if k.startswith("COLLECTION_SEARCH_")}
        return StdioServerParameters(
            command=sys.executable,
            args=["-m", "collection_search", "mcp", *arguments],
            env={"PYTHONPATH": path, **ours},
        )

    return parameters


@pytest.mark.slow
@pytest.mark.parametrize("mode", MODES)
async def test_every_tool_over_stdio(over_stdio: Callable[..., Any], mode: str) -> None:
    """The official client lists the defined tools, fills a collection, asks it, and sees errors."""
    steps: list[float] = []

    async def on_progress(done: float, _total: float | None, _message: str | None) -> None:
        steps.append(done)

    async with Client(over_stdio("--provider", "scripted"), mode=mode) as client:
        tools = (await client.list_tools()).tools
        searched = await client.call_tool("web_search", {"query": ABOUT, "max_results": 3})
        filled = await client.call_tool(
            "collection_search",
            {"question": ABOUT, "collection": "py", "max_pages": 2},
            progress_callback=on_progress,
        )
        found = await client.call_tool("retrieve", {"question": ABOUT, "collection": "py"})
        refused = await client.call_tool("read_page", {"url": "http://127.0.0.1:9/"})
    assert [tool.name for tool in tools] == list(FUNCTIONS)
    assert len(searched.structured_content["results"]) == 3
    assert filled.structured_content["stored"] == 2
    assert steps == [1, 2, 3, 4, 5]
    assert found.structured_content["passages"]
    assert refused.is_error


@pytest.mark.slow
@pytest.mark.usefixtures("offline_index")
async def test_the_offline_provider_over_stdio(over_stdio: Callable[..., Any]) -> None:
    """Without any key the documentation of this machine is searched; one tool may be enough."""
    server = over_stdio("--provider", "offline", "--tools", "web_search")
    async with Client(server) as client:
        (tool,) = (await client.list_tools()).tools
        found = await client.call_tool("web_search", {"query": "asyncio timeout"})
    assert tool.name == "web_search"
    assert found.structured_content["outcome"]["meta"]["provider"] == "offline"
    assert not found.is_error


@pytest.mark.slow
def test_stdout_is_the_protocol_s_alone(started: Callable[..., Any]) -> None:
    """What a library prints goes to stderr; the server ends when its client closes stdin."""
    process = started("-v", "mcp", "--provider", "talkative", stdin=subprocess.PIPE)
    meta = {
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientCapabilities": {},
    }
    call = {"name": "web_search", "arguments": {"query": ABOUT}, "_meta": meta}
    with process:
        request = {"jsonrpc": "2.0", "id": 7, "method": "tools/call", "params": call}
        process.stdin.write(json.dumps(request) + "\n")
        process.stdin.flush()
        answered = json.loads(process.stdout.readline())
        rest, err = process.communicate(timeout=60)
    assert answered["id"] == 7
    assert answered["result"]["structuredContent"]["results"]
    assert rest == ""
    assert "a line that a library printed" in err
    assert process.returncode == 0


@pytest.mark.slow
def test_what_was_asked_before_the_end_of_stdin_is_answered(started: Callable[..., Any]) -> None:
    """As in `collection-search mcp < requests`, with the client's handshake before."""
    who = {"protocolVersion": "2025-06-18", "capabilities": {}}
    who["clientInfo"] = {"name": "lines", "version": "1"}
    call = {"name": "web_search", "arguments": {"query": ABOUT}}
    asked: list[dict[str, Any]] = [
        {"id": 1, "method": "initialize", "params": who},
        {"method": "notifications/initialized"},
        {"id": 2, "method": "tools/list"},
        {"id": 3, "method": "tools/call", "params": call},
    ]
    lines = "".join(json.dumps({"jsonrpc": "2.0", **one}) + "\n" for one in asked)
    with started("mcp", "--provider", "scripted", stdin=subprocess.PIPE) as process:
        out, _ = process.communicate(lines, timeout=60)
    answers = {one["id"]: one for one in map(json.loads, out.splitlines())}
    assert [one["name"] for one in answers[2]["result"]["tools"]] == list(FUNCTIONS)
    assert answers[3]["result"]["structuredContent"]["results"]
    assert process.returncode == 0


@pytest.mark.slow
@pytest.mark.parametrize(("by", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 0)])
def test_a_signal_ends_it_while_stdin_is_open(
    started: Callable[..., Any], by: signal.Signals, code: int
) -> None:
    """Ctrl-C does not wait for one more line; the exit codes are the worker's."""
    with started("mcp", "--provider", "scripted", stdin=subprocess.PIPE) as process:
        process.stdin.write(PING)
        process.stdin.flush()
        assert process.stdout.readline()
        process.send_signal(by)
        assert process.wait(timeout=60) == code
        assert "Traceback" not in process.stderr.read()


def listening(process: Any) -> str:
    """Return the address that the server tells."""
    for line in process.stderr:
        if told := re.search(r"Serving MCP at (\S+) until", line):
            return told[1]
    raise AssertionError("the server ended")


@pytest.mark.slow
@pytest.mark.parametrize("by", [signal.SIGINT, signal.SIGTERM])
async def test_over_http_until_a_signal(started: Callable[..., Any], by: signal.Signals) -> None:
    """The official client calls with the token; a signal ends the server, an open client or not."""
    with started(
        "mcp", "--provider", "scripted", "--http", "0", COLLECTION_SEARCH_MCP_TOKEN=TOKEN
    ) as process:
        url = listening(process)
        assert url.startswith("http://127.0.0.1:")
        async with httpx2.AsyncClient(headers={"Authorization": f"Bearer {TOKEN}"}) as http:
            refused = await http.post(url, json={}, headers={"Authorization": "Bearer t-2"})
            transport = streamable_http_client(url, http_client=http)
            async with Client(transport, mode="legacy") as client:
                found = await client.call_tool("web_search", {"query": ABOUT})
                process.send_signal(by)
                code = process.wait(timeout=60)
        err = process.stderr.read()
    assert refused.status_code == 401
    assert found.structured_content["results"]
    assert code == (130 if by == signal.SIGINT else 0)
    assert "Traceback" not in err
    assert TOKEN not in err


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        (("--http", "0.0.0.0:0"), "set COLLECTION_SEARCH_MCP_TOKEN"),
        (("--http", "here"), "'here' is no address: write HOST:PORT"),
        (("--tools", "web_search,ask"), "There is no function 'ask'. Known: web_search, retrieve"),
        (("--tools", ","), "--tools names no tool"),
        (("--provider", "keyless"), "KEYLESS_API_KEY is not set"),
        (("--tenant", ""), "--tenant '' cannot be used"),
    ],
)
def test_mistakes_are_told_before_serving(
    command: Invoke, arguments: tuple[str, ...], complaint: str
) -> None:
    """A wrong option is 2, in one sentence on stderr."""
    ended = command("mcp", *arguments)
    assert (ended.code, ended.out) == (2, "")
    assert complaint in ended.complaints[0]


@pytest.mark.parametrize(
    ("entry", "complaint"),
    [
        ({"backend": "serxng"}, "there is no such search provider; did you mean searxng?"),
        ({"url": "http://searxng:8080"}, "web_search.settings.url: it needs a backend beside it"),
        (
            {"backend": "searxng"},
            "The backend searxng of web_search cannot be used: SearXNG needs the address of a server.",
        ),
        ({"backend": "brave"}, "Set BRAVE_API_KEY."),
        ({"backend": "keyless"}, "KEYLESS_API_KEY is not set"),
    ],
)
def test_a_backend_that_cannot_be_used_is_told_before_serving(
    command: Invoke, monkeypatch: pytest.MonkeyPatch, entry: dict[str, str], complaint: str
) -> None:
    """Before any client comes; a server without the tool has no need of it."""
    monkeypatch.setenv("COLLECTION_SEARCH_WEB_SEARCH", json.dumps({"settings": entry}))
    ended = command("mcp")
    assert (ended.code, ended.out) == (2, "")
    [told] = ended.complaints
    assert complaint in told


def test_a_backend_of_a_tool_that_is_not_offered_is_not_looked_at(
    command: Invoke, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The next mistake is told."""
    monkeypatch.setenv("COLLECTION_SEARCH_WEB_SEARCH", '{"settings": {"backend": "brave"}}')
    ended = command("mcp", "--tools", "read_page", "--http", "here")
    assert "'here' is no address" in ended.complaints[0]


def test_without_the_package_the_extra_is_named(
    command: Invoke, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The message is the command that installs it."""
    for name in [name for name in sys.modules if name.startswith("collection_search.tools.mcp")]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "mcp_types", None)
    ended = command("mcp")
    assert ended.code == 2
    assert "pip install 'collection-search[mcp]'" in ended.complaints[0]
