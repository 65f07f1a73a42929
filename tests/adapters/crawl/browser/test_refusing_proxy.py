"""The browser's proxy connects to nobody."""

from __future__ import annotations

import asyncio
import contextlib

import pytest
from support.scripted_pages import Canary

from collection_search.adapters.crawl.browser.refusing_proxy import RefusingProxy


@pytest.mark.parametrize("method", ["GET http://{}/x", "CONNECT {}", "POST http://{}/"])
async def test_every_request_is_refused_and_noted(method: str) -> None:
    """Whatever is asked for."""
    proxy = RefusingProxy()
    port = await proxy.start()
    with Canary() as canary:
        asked = method.format(f"127.0.0.1:{canary.port}")
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        writer.write(f"{asked} HTTP/1.1\r\nHost: a\r\n\r\n".encode())
        answer = await reader.read()
        writer.close()
        await writer.wait_closed()
        assert answer.startswith(b"HTTP/1.1 403 ")
        assert list(proxy.refused) == [asked]
        assert canary.touched == []
    await proxy.aclose()


async def test_a_line_without_end_is_no_request() -> None:
    """It ends the connection."""
    proxy = RefusingProxy()
    reader, writer = await asyncio.open_connection("127.0.0.1", await proxy.start())
    writer.write(b"G" * 200_000)
    with contextlib.suppress(ConnectionError):
        assert await reader.read() == b""
    writer.close()
    assert not proxy.refused
    await proxy.aclose()
