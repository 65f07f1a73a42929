"""Searches of several pages against a plan and a quota, over loopback HTTP."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any, Final

import pytest
from support.one_a_second import OneASecond
from support.virtual_time import VirtualTime

from collection_search import WebSearchWorker
from collection_search.adapters.search.brave import BraveSearch
from collection_search.adapters.stores.sqlite.usage import SQLiteUsage
from collection_search.resilience import ProviderGuard, Quota
from collection_search.runtime.spans import NULL_SINK
from collection_search.testing import ProviderServer, example_context
from collection_search.testing.providers.brave import Brave
from collection_search.testing.providers.wire import KEY

if TYPE_CHECKING:
    from pathlib import Path

    from collection_search.contracts.search import WebSearchResponse
    from collection_search.testing.providers.wire import ProviderRequest, Reply

METHODS: Final = ("run", "arun")
QUERIES: Final = ("asyncio", "python", "python asyncio")
MANY: Final = 40
"""Results of two pages."""


class OnePerSecond(OneASecond, Brave):
    def answer(self, request: ProviderRequest) -> Reply:
        return self.failures()["throttled"].reply if self.is_early() else super().answer(request)


def worker(clock: VirtualTime, server: ProviderServer, guard: ProviderGuard) -> WebSearchWorker:
    return WebSearchWorker(
        BraveSearch(api_key=KEY, base_url=server.base_url),
        max_results=MANY,
        oversample_factor=1,
        sleep=clock.sleep,
        asleep=clock.asleep,
        timer=clock.monotonic,
        guard=guard,
        spans=NULL_SINK,
        timeout_s=60.0,
        deadline_s=3600.0,
    )


def searched(
    clock: VirtualTime, its: WebSearchWorker, method: str, queries: tuple[str, ...] = QUERIES
) -> list[WebSearchResponse]:
    calls: list[dict[str, Any]] = [{"query": q, "context": example_context()} for q in queries]
    if method == "run":
        return clock.threads([lambda call=call: its.run(**call) for call in calls])  # type: ignore[misc]

    async def gathered() -> list[WebSearchResponse]:
        return await clock.gather(*(its.arun(**call) for call in calls))

    return asyncio.run(gathered())


@pytest.mark.parametrize("method", METHODS)
def test_a_plan_of_one_per_second_is_kept_by_every_page(method: str) -> None:
    """Three parallel searches of two pages: six requests, none of them a 429."""
    clock = VirtualTime()
    with ProviderServer(OnePerSecond(clock.monotonic)) as server:
        guard = ProviderGuard("brave", rate_per_s=1, clock=clock.monotonic, wall_clock=clock.time)
        responses = searched(clock, worker(clock, server, guard), method)
        dialect: Any = server.dialect
    assert (dialect.throttled, len(dialect.arrivals)) == (0, 2 * len(QUERIES))
    assert [response.outcome.meta["request_count"] for response in responses] == [2, 2, 2]
    assert not any("pages could be read" in str(each.outcome.meta) for each in responses)
    assert clock.monotonic() == pytest.approx(1.05 * (2 * len(QUERIES) - 1))


@pytest.mark.parametrize("method", METHODS)
def test_a_quota_with_one_request_left_gives_one_page(tmp_path: Path, method: str) -> None:
    """What is left is asked for, and a notice says what is missing."""
    clock, store = VirtualTime(), SQLiteUsage(tmp_path / "usage.db")
    with ProviderServer("brave") as server:
        guard = ProviderGuard(
            "brave",
            quota=Quota(store, "k", 3),
            clock=clock.monotonic,
            wall_clock=clock.time,
        )
        its = worker(clock, server, guard)
        whole, part, none = (searched(clock, its, method, (query,))[0] for query in QUERIES)
        assert len(server.requests) == 3
    assert [each.outcome.meta["request_count"] for each in (whole, part, none)] == [2, 1, 0]
    assert 0 < len(part.results) < len(whole.results)
    [told] = [n for n in part.outcome.meta["notices"] if "pages could be read" in n]
    assert told.startswith("Only 1 of 2 pages could be read. brave is not asked: the 3 searches")
    assert none.outcome.rationale == "provider_quota_exceeded"
