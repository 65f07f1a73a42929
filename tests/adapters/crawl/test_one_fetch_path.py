"""Nobody else opens connections, and nothing runs what comes from outside."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

import collection_search

PACKAGE = Path(collection_search.__file__).parent
MODULES = sorted(
    path
    for path in PACKAGE.rglob("*.py")
    if path.relative_to(PACKAGE).parts[0] != "testing"  # servers on the loopback address
)
CLIENTS = {
    "aiohttp", "asyncssh", "ftplib", "http.client", "httpcore", "httpx", "paramiko", "pycurl",
    "requests", "smtplib", "ssl", "telnetlib", "urllib.request", "urllib3", "websockets",
}  # fmt: skip
CONNECTING = {
    "create_connection", "create_datagram_endpoint", "create_unix_connection", "open_connection",
    "open_unix_connection", "sock_connect", "urlopen", "urlretrieve",
}  # fmt: skip
UNSAFE_MODULES = {"cloudpickle", "dill", "marshal", "pickle", "shelve"}
UNSAFE_CALLS = {"eval", "exec"}
TRUSTED = (
    "adapters/http.py",
    "adapters/httpx_client.py",  # sends through the caller's client to the operator's addresses
    "adapters/per_loop.py",
    "adapters/crawl/",
    "adapters/langgraph_loopback.py",  # the same inside this process, without a socket
    "adapters/langgraph_server.py",  # LangGraph's own client, to the operator's address
    "cli/serve.py",  # listens, and connects to nobody
    "tools/mcp/streamable_http.py",  # listens, and connects to nobody
)


def name_of(path: Path) -> str:
    return path.relative_to(PACKAGE).as_posix()


def imported(tree: ast.AST) -> set[str]:
    """Return the modules that code imports, in any function, types-only imports apart."""
    typing_only = {
        child
        for node in ast.walk(tree)
        if isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING"
        for child in ast.walk(node)
    }
    found: set[str] = set()
    for node in ast.walk(tree):
        if node in typing_only:
            continue
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.level == 0 and node.module:
            found |= {node.module} | {f"{node.module}.{alias.name}" for alias in node.names}
    return found


def reached(tree: ast.AST) -> set[str]:
    """Return the last names of all attributes and names, and the texts given to import functions."""
    found: set[str] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Attribute):
            found.add(node.attr)
        elif isinstance(node, ast.Name):
            found.add(node.id)
        elif (
            isinstance(node, ast.Call)
            and ast.unparse(node.func).rpartition(".")[2] in {"import_module", "__import__"}
            and node.args
            and isinstance(node.args[0], ast.Constant)
        ):
            found.add(f"import {node.args[0].value}")
    return found


def sockets_in(tree: ast.AST) -> set[str]:
    """Return what code asks of the module `socket`."""
    return {
        node.attr
        for node in ast.walk(tree)
        if isinstance(node, ast.Attribute)
        and isinstance(node.value, ast.Name)
        and node.value.id == "socket"
    }


def client_uses(tree: ast.AST) -> set[str]:
    """Return every way to an HTTP client or a socket that the code takes."""
    modules = imported(tree)
    uses = {
        client
        for client in CLIENTS
        if any(module == client or module.startswith(f"{client}.") for module in modules)
    }
    names = reached(tree)
    uses |= names & CONNECTING
    uses |= {name for name in names if name.removeprefix("import ") in CLIENTS and " " in name}
    uses |= sockets_in(tree) & {"socket", "create_connection", "getaddrinfo", "fromfd"}
    uses |= {name for name in modules if name in {"socket.socket", "socket.create_connection"}}
    return uses


@pytest.mark.slow
def test_only_two_places_open_connections():
    uses = {
        name_of(path): client_uses(ast.parse(path.read_text()))
        for path in MODULES
        if not name_of(path).startswith(TRUSTED)
    }
    assert {name: found for name, found in uses.items() if found} == {}


@pytest.mark.slow
def test_nothing_from_outside_is_run():
    assert {name_of(path): found for path in MODULES if (found := unsafe_uses(path))} == {}


def unsafe_uses(path: Path) -> set[str]:
    """Return what a module could run foreign code or data by."""
    tree = ast.parse(path.read_text())
    calls = {ast.unparse(node.func) for node in ast.walk(tree) if isinstance(node, ast.Call)}
    loads = {call for call in calls if call.endswith(("yaml.load", "yaml.unsafe_load"))}
    return (imported(tree) & UNSAFE_MODULES) | (calls & UNSAFE_CALLS) | loads


def test_sockets_of_the_crawl_are_opened_by_the_dial_alone():
    """Of the crawl's modules, one makes sockets and sessions take its connector."""
    crawl = PACKAGE / "adapters" / "crawl"
    makers = {
        path.name
        for path in crawl.rglob("*.py")
        if (sockets_in(ast.parse(path.read_text())) & {"socket"} - {"WeakSet"})
        and "socket.socket(" in path.read_text()
    }
    assert makers == {"connector.py"}
    sessions = {path.name for path in crawl.rglob("*.py") if "ClientSession(" in path.read_text()}
    assert sessions == {"session.py"}


def test_the_browser_is_started_in_one_place_and_asks_the_safe_fetch() -> None:
    """Its modules have no client, and its proxy listens only."""
    browser = PACKAGE / "adapters" / "crawl" / "browser"
    trees = {path: ast.parse(path.read_text()) for path in browser.glob("*.py")}
    assert {path.name for path in trees if ".launch(" in path.read_text()} == {"running_browser.py"}
    assert {path.name: uses for path, tree in trees.items() if (uses := client_uses(tree))} == {}
    users = {
        path.parent
        for path in MODULES
        if any(name.startswith("playwright") for name in imported(ast.parse(path.read_text())))
    }
    assert users == {browser}


@pytest.mark.parametrize(
    "code",
    [
        "import httpx",
        "def f():\n    from urllib.request import urlopen",
        "from urllib import request",
        "import aiohttp.client as x",
        "import socket\nsocket.create_connection(('a', 1))",
        "from socket import socket",
        "import asyncio\nasyncio.open_connection('a', 1)",
        "import importlib\nimportlib.import_module('requests')",
    ],
)
def test_the_test_sees_them(code):
    assert client_uses(ast.parse(code))
