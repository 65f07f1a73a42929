"""Clients of a caller's own: over the loopback address, and over a transport without a network."""

from __future__ import annotations

import asyncio
import json
import ssl
from typing import TYPE_CHECKING, Any
from urllib.parse import parse_qsl

import httpx

from collection_search.testing.providers.wire import ProviderRequest, Reply

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from collection_search.testing import ProviderServer

PART_BYTES = 65_536
_TLS = ssl.create_default_context()  # the part of a client that takes time to make


def loopback_client(_: ProviderServer | None = None, **options: Any) -> httpx.AsyncClient:
    """Return a client that opens connections; proxies of the environment are left out."""
    return httpx.AsyncClient(trust_env=False, verify=_TLS, **options)


def one_way_client() -> httpx.AsyncClient:
    """Return a client that keeps no connections, and so need not be closed with its loop."""
    return loopback_client(limits=httpx.Limits(max_keepalive_connections=0))


def mock_client(server: ProviderServer, **options: Any) -> httpx.AsyncClient:
    """Return a client whose transport asks the server's script, without any connection."""

    async def handle(request: httpx.Request) -> httpx.Response:
        reply = (
            server._answer(_received(request)) if not _holds(server) else Reply(0, mishap="held")
        )
        if reply.mishap == "held":
            server.requests.append(_received(request))
            await asyncio.Event().wait()
        if reply.mishap == "reset":
            raise httpx.ReadError("", request=request)
        if reply.mishap == "garbled":
            raise httpx.RemoteProtocolError("illegal status line", request=request)
        return httpx.Response(reply.status, headers=dict(reply.headers), stream=_Body(reply))

    return httpx.AsyncClient(transport=httpx.MockTransport(handle), trust_env=False, **options)


def _holds(server: ProviderServer) -> bool:
    """Return whether the server would wait here, in the event loop."""
    script = server._script
    return script is not None and not script.after and script.reply.mishap == "held"


def _received(request: httpx.Request) -> ProviderRequest:
    target = request.url.raw_path.decode()
    headers = {name.lower(): value for name, value in request.headers.items()}
    body = json.loads(request.content) if request.content else None
    query = request.url.query.decode()
    params = dict(parse_qsl(query, keep_blank_values=True))
    return ProviderRequest(request.method, request.url.path, params, headers, target, body)


class _Body(httpx.AsyncByteStream):
    """The body of a reply, in parts, as long as the caller reads."""

    def __init__(self, reply: Reply) -> None:
        self._reply = reply

    async def __aiter__(self) -> AsyncIterator[bytes]:
        reply = self._reply
        while reply.mishap == "slow":
            yield b" "
            await asyncio.sleep(0.01)
        for start in range(0, reply.padding, PART_BYTES):
            yield b" " * min(PART_BYTES, reply.padding - start)
        for start in range(0, len(reply.body), PART_BYTES):
            yield reply.body[start : start + PART_BYTES]
        if reply.mishap == "cut":
            raise httpx.RemoteProtocolError("peer closed connection")
