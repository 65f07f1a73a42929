"""Connections, and callers at the same time."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

import pytest

from ..providers.sample_index import find_hits
from .base import HttpContract

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ...contracts.search import SearchAdapterResponse


class ConnectionContract(HttpContract):
    """Connections are reused, answers are not mixed up, and both methods do the same."""

    def test_connections_are_kept(self) -> None:
        """A second search opens no connection, in an event loop and in a blocking call."""

        async def twice() -> None:
            for _ in range(2):
                await self._asearch(self.query, max_results=25)

        asyncio.run(twice())
        assert self.running.connections == 1
        adapter = self.adapter()
        for _ in range(2):
            adapter.search(self.query, max_results=25)
        assert self.running.connections == 2  # noqa: PLR2004

    def test_searches_at_the_same_time_do_not_mix(self) -> None:
        """Each caller of one adapter gets the answer to his own query."""
        queries = ["asyncio", "sqlite", self.unknown_query] * 8

        async def together() -> Sequence[SearchAdapterResponse]:
            adapter: Any = self.adapter()
            calls = [adapter.asearch(query, max_results=1) for query in queries]
            answers: list[SearchAdapterResponse] = await asyncio.gather(*calls)
            return answers

        for query, response in zip(queries, asyncio.run(together()), strict=True):
            assert self._ranks(self._urls(response)) == [
                page.number for page in find_hits(query)[:1]
            ]
            assert [query in row.title.lower() for row in response.results] in ([], [True])

    def test_the_blocking_face_works_inside_a_loop(self) -> None:
        """A synchronous caller may be called by asynchronous code."""

        async def inside() -> SearchAdapterResponse:
            return self._search()

        assert self._urls(asyncio.run(inside())) == self._urls(self._search())

    def test_a_cancelled_search_ends(self) -> None:
        """Cancellation is no failure of the provider."""

        async def cancelled() -> None:
            task = asyncio.ensure_future(self._asearch(self.query, max_results=1))
            while not self.running.requests:  # noqa: ASYNC110 - they arrive in another thread
                await asyncio.sleep(0.001)
            task.cancel()
            with pytest.raises(asyncio.CancelledError):
                await task

        self.running.fail("held")
        asyncio.run(cancelled())
