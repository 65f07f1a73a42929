"""The dial refuses by itself, whatever stands before it."""

from __future__ import annotations

import asyncio
import socket
import weakref
from typing import Any

import aiohttp
import pytest
from aiohttp.abc import AbstractResolver, ResolveResult
from support.small_site import PAGE, SmallSite, answer

from collection_search.adapters.crawl.fetch.connector import GuardedConnector, SystemResolver
from collection_search.adapters.crawl.fetch.url_rules import UrlRules
from collection_search.errors import FetchError


class Always(AbstractResolver):
    """Gives one address and port for every name."""

    def __init__(self, address: str, port: int) -> None:
        self.answer = (address, port)

    async def resolve(self, host: str, port: int = 0, family: Any = 0) -> list[ResolveResult]:
        address, other = self.answer
        return [
            ResolveResult(
                hostname=host, host=address, port=other, family=socket.AF_INET, proto=0, flags=0
            )
        ]

    async def close(self) -> None:
        pass


async def asked(url: str, gate: UrlRules, resolver: AbstractResolver) -> bytes:
    connector = GuardedConnector(gate, resolver, weakref.WeakSet())
    async with (
        aiohttp.ClientSession(connector=connector) as session,
        session.get(url, allow_redirects=False) as reply,
    ):
        return await reply.read()


@pytest.mark.parametrize("host", ["127.0.0.1", "localhost", "inward.example.org"])
async def test_no_way_in(host):
    async with SmallSite({"/": answer()}) as site:
        with pytest.raises(FetchError) as caught:
            await asked(f"http://{host}:{site.port}/", UrlRules(), Always("127.0.0.1", site.port))
        assert caught.value.reason == "blocked_address"
        assert site.connections == 0


async def test_the_port_is_the_urls():
    """A resolver does not choose the port."""
    async with SmallSite({"/": answer()}) as site, SmallSite() as forbidden:
        gate = UrlRules(entries=[f"wiki.intra:{site.port}"])
        body = await asked(
            f"http://wiki.intra:{site.port}/", gate, Always("127.0.0.1", forbidden.port)
        )
        assert (body, forbidden.connections) == (PAGE, 0)


async def test_an_entry_holds_for_its_name_only():
    async with SmallSite({"/": answer()}) as site:
        gate = UrlRules(entries=[f"127.0.0.1:{site.port}"])
        assert await asked(site.url("/"), gate, Always("10.0.0.1", 1)) == PAGE
        connections = site.connections
        with pytest.raises(FetchError):
            await asked(f"http://a.example.org:{site.port}/", gate, Always("127.0.0.1", site.port))
        assert site.connections == connections


async def test_a_socket_outside_of_a_dial_is_refused():
    connector = GuardedConnector(UrlRules(), SystemResolver(), weakref.WeakSet())
    address = (socket.AF_INET, socket.SOCK_STREAM, 6, "", ("93.184.215.14", 80))
    with pytest.raises(OSError, match="outside"):
        connector._guarded_socket(address)
    await connector.close()


async def test_the_systems_names():
    found = await SystemResolver().resolve("localhost", 80)
    assert {each["host"] for each in found} <= {"127.0.0.1", "::1"}


async def test_dials_at_once_do_not_mix():
    """Each request is judged by its own URL, however many are under way."""
    async with SmallSite({"/": answer()}) as site:
        gate = UrlRules(entries=[f"wiki.intra:{site.port}"])
        connector = GuardedConnector(gate, Always("127.0.0.1", site.port), weakref.WeakSet())
        async with aiohttp.ClientSession(connector=connector) as session:

            async def ask(host: str) -> bytes | str:
                try:
                    async with session.get(f"http://{host}:{site.port}/") as reply:
                        return await reply.read()
                except FetchError as error:
                    return error.reason

            hosts = ["wiki.intra", "a.example.org"] * 5
            found = await asyncio.gather(*map(ask, hosts))
        assert found == [PAGE, "blocked_address"] * 5
