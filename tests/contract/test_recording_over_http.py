"""A run that is recorded keeps its limits; one that is replayed has none and plays its options."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

import pytest
from support.routes import opened

from collection_search import SearchContext, Settings
from collection_search.cassette import Cassette
from collection_search.contracts.options import SearchOptions
from collection_search.settings.adapter_factory import make_adapter
from collection_search.testing import ProviderServer, example_context
from collection_search.testing.providers.wire import KEY

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from collection_search.contracts.search import WebSearchResponse

WISHES = [
    {"search_depth": "deep", "max_results": 3},
    {"include_domains": ["docs.example.org"], "domain_mode": "restrict"},
    {"include_domains": ["blog.example.com"], "exclude_domains": ["elsewhere.example.net"]},
    {"topic": "news", "freshness": "2026-01-01..2026-12-31", "include_content": True},
    {"language": "de", "country": "de"},
]


@pytest.fixture(params=["tavily", "brave", "serper"])
def server(request: pytest.FixtureRequest) -> Iterator[ProviderServer]:
    with ProviderServer(request.param) as running:
        yield running


def settings(home: Path, server: ProviderServer, **limits: Any) -> Settings:
    name = server.dialect.name
    access = {"api_key": KEY, "base_url": server.base_url, **limits}
    return Settings(home=home, provider=name, providers={name: access}, search_timeout_s=60)


def searched(context: SearchContext, query: str = "asyncio", **wish: Any) -> WebSearchResponse:
    async def search() -> WebSearchResponse:
        options = SearchOptions(**wish) if wish else None
        async with opened(context) as route:
            return await route.arun(query=query, context=example_context(), options=options)

    return asyncio.run(search())


def test_the_wrapper_tells_what_limits_go_by(server: ProviderServer, tmp_path: Path) -> None:
    """Source and price are the adapter's own; a replay has neither."""
    adapter = make_adapter(settings(tmp_path, server), "search", server.dialect.name)
    recorded = Cassette.record(tmp_path / "tape.jsonl").search(adapter)
    deep = SearchOptions(search_depth="deep")
    assert recorded.source == adapter.source
    assert recorded.price(25, deep) == adapter.price(25, deep)
    played = Cassette.replay(tmp_path / "tape.jsonl").search(None)
    assert not hasattr(played, "source")
    assert not hasattr(played, "price")


@pytest.mark.slow
def test_a_quota_holds_while_recording_and_not_in_a_replay(
    server: ProviderServer, tmp_path: Path
) -> None:
    """Two requests are allowed; the replay plays them, and the refusal is none of its business."""
    tape, limited = tmp_path / "tape.jsonl", settings(tmp_path, server, quota=2)
    context = SearchContext(settings=limited, cassette=Cassette.record(tape))
    outcomes = [searched(context, query).outcome for query in ("asyncio", "sqlite", "python")]
    assert [outcome.decision for outcome in outcomes] == ["ok", "ok", "error"]
    assert outcomes[2].meta["error"]["code"] == "quotaExceeded"
    assert len(server.requests) == 2
    replay = SearchContext(settings=limited, cassette=Cassette.replay(tape))
    for query in ("asyncio", "sqlite", "asyncio", "sqlite"):
        assert searched(replay, query).outcome.decision == "ok"
    assert len(server.requests) == 2


def test_the_guard_of_a_recorded_run_is_that_of_every_other(
    server: ProviderServer, tmp_path: Path
) -> None:
    """What a live run learnt of the provider holds for the recorded one."""
    chosen = settings(tmp_path, server, rate_per_s=100)

    tape = tmp_path / "tape.jsonl"
    taped = SearchContext(settings=chosen, cassette=Cassette.record(tape))
    searched(taped)
    live = SearchContext(settings=chosen)
    played = SearchContext(settings=chosen, cassette=Cassette.replay(tape))

    async def guard_of(context: SearchContext) -> Any:
        return await context.guard((await context.search_provider()).adapter)

    guards = [asyncio.run(guard_of(context)) for context in (live, taped, played)]
    assert guards[0] is guards[1] is not None
    assert guards[2] is None


@pytest.mark.slow
@pytest.mark.parametrize("wish", WISHES, ids=lambda wish: next(iter(wish)))
def test_a_search_with_options_plays_as_it_was(
    server: ProviderServer, tmp_path: Path, wish: dict[str, Any]
) -> None:
    """Pages, order, what was made of each option, requests and cost; other options are refused."""
    tape = tmp_path / "tape.jsonl"
    chosen = settings(tmp_path, server)
    live = searched(SearchContext(settings=chosen, cassette=Cassette.record(tape)), **wish)
    assert live.outcome.decision == "ok"
    made_requests = len(server.requests)
    replay = SearchContext(settings=Settings(home=tmp_path), cassette=Cassette.replay(tape))
    played = searched(replay, **wish)
    assert played.results == live.results
    for fact in ("options", "cost_usd", "request_count", "notices", "raw_result_count"):
        assert played.outcome.meta.get(fact) == live.outcome.meta.get(fact), fact
    other = searched(replay, **{**wish, "country": "FR"})
    assert other.outcome.decision == "error"
    assert "options" in other.outcome.meta["error"]["message"]
    assert len(server.requests) == made_requests
