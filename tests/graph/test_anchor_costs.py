"""The first use of an embedder: its anchors are in the books of one run, and under its ceiling."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

import pytest
from support.paid_world import PaidWorld, facts
from support.scripted_world import good_pages

from collection_search import CollectionSearchGraph, SearchContext, Settings
from collection_search.adapters.stores.sqlite.usage import SQLiteUsage
from collection_search.cassette import Cassette
from collection_search.contracts.collection import Embedded, TenantScope
from collection_search.contracts.price_list import LIST_PRICES
from collection_search.errors import ModelError
from collection_search.ranking.anchors import anchor_texts
from collection_search.runtime.concurrency import run_blocking
from collection_search.testing import ScriptedAdapter, ScriptedEmbedder
from collection_search.testing.stores.suite import chunks, document
from collection_search.tools.reembed import reembed
from collection_search.tools.retrieve import retrieve
from collection_search.tools.spending.spend_writer import spend_writer

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from collection_search.ports.usage import SpendTotal

NAME = "openai:text-embedding-3-small"
DEAR = {"embedding": {"text-embedding-3-small": {"per_million_tokens": 1_000}}}
"""Prices at which the anchors alone cost more than all pages of a run."""
INPUT = {"question": "How does asyncio work?", "collection_scope": "c", "purpose": "docs"}


@pytest.fixture
def world(tmp_path: Path) -> Iterator[PaidWorld]:
    with PaidWorld(tmp_path) as world:
        yield world


def is_of_anchors(body: Any) -> bool:
    return body["input"][0] in anchor_texts()


def embedding_bodies(world: PaidWorld) -> list[Any]:
    return [one.body for one in world.models.requests if one.path.endswith("/embeddings")]


def counted(bodies: list[Any]) -> int:
    """Return the tokens that the server counted."""
    return sum(len(text.split()) for body in bodies for text in body["input"])


def embeddings_in_books(world: PaidWorld) -> SpendTotal:
    spend_writer().flush()
    store = run_blocking(world.context().usage())
    assert store is not None
    [total] = [one for one in store.totals("local", by="name") if one.kind == "embedding"]
    return total


def test_the_books_equal_what_the_server_counted(world: PaidWorld) -> None:
    """To the last token, in the books as in the run's own figures."""
    result = world.ask()
    bodies, total = embedding_bodies(world), embeddings_in_books(world)
    assert sum(map(is_of_anchors, bodies)) == 1
    assert (total.requests, total.input_tokens) == (len(bodies), counted(bodies))
    node = facts(result, "rank")
    assert node["input_tokens"] == counted(bodies)
    assert node["cost_usd"] == LIST_PRICES.embedding_cost(NAME, counted(bodies))
    world.forget()
    world.ask("What is a task group?")
    assert not any(map(is_of_anchors, embedding_bodies(world)))


def test_one_of_two_runs_pays(world: PaidWorld) -> None:
    """They start at the same time and share the measurement."""

    async def both() -> list[Any]:
        graphs = [CollectionSearchGraph(world.context(run_id=f"run-{n}")) for n in range(2)]
        return await asyncio.gather(
            *(graph.arun(INPUT | {"question": f"Question {n}?"}) for n, graph in enumerate(graphs))
        )

    results = [output for _, output in asyncio.run(both())]
    bodies, total = embedding_bodies(world), embeddings_in_books(world)
    assert sum(map(is_of_anchors, bodies)) == 1
    assert (total.requests, total.input_tokens) == (len(bodies), counted(bodies))
    tokens = [facts(each, "rank")["input_tokens"] for each in results]
    assert sum(tokens) == counted(bodies)
    anchors = counted([body for body in bodies if is_of_anchors(body)])
    assert sorted(each > anchors for each in tokens) == [False, True]


def test_a_run_tells_of_its_anchors_though_its_pages_failed(tmp_path: Path) -> None:
    """They are paid for all the same: its own figures equal the books."""
    settings = Settings(home=tmp_path, provider="offline")
    pages = ScriptedAdapter(good_pages())

    class Refusing(ScriptedEmbedder):
        async def embed(self, texts: Any) -> Embedded:
            if texts[0] not in anchor_texts():
                raise ModelError("The input is too long.", may_be_billed=False)
            await asyncio.sleep(0.05)
            return await super().embed(texts)

    embedder = Refusing(fingerprint=NAME)
    books = SQLiteUsage(tmp_path / "books.db")
    context = SearchContext(
        settings=settings, provider=pages, embeddings=embedder, usage_store=books
    )
    result = CollectionSearchGraph(context).run(INPUT)[1]
    spend_writer().flush()
    [total] = [one for one in books.totals("local", by="name") if one.kind == "embedding"]
    node = facts(result, "rank")
    assert (node["input_tokens"], node["cost_usd"]) == (total.input_tokens, float(total.cost_usd))
    assert total.input_tokens > 0


def test_a_ceiling_below_the_anchors_lets_words_decide(world: PaidWorld) -> None:
    """Nobody is asked for them, and a run that may pay for them is not kept from it."""
    ours = {"prices": DEAR, "answer_cache_s": 0}
    result = world.ask(settings=ours, max_cost_usd=3)
    assert "The ceiling of $3.00" in facts(result, "rank")["error"]
    assert len(embedding_bodies(world)) == 1
    assert not any(map(is_of_anchors, embedding_bodies(world)))
    assert {"cost_limit_reached", "embedding_degraded"} <= set(result["flags"])
    assert 0 < result["telemetry"]["cost_usd"] <= 3
    again = world.ask(settings=ours)
    assert "embedding_degraded" not in again["flags"]
    assert sum(map(is_of_anchors, embedding_bodies(world))) == 1


@pytest.mark.parametrize("is_known", [False, True])
def test_the_anchors_of_a_recording_are_in_the_books(
    world: PaidWorld, tmp_path: Path, *, is_known: bool
) -> None:
    """They are asked for once, whether the scale was known before or not."""
    if is_known:
        world.ask()
        spend_writer().flush()
        usage = run_blocking(world.context().usage())
        assert usage is not None
        usage.forget_tenant("local")
        world.forget()
    cassette = Cassette.record(tmp_path / "tape.jsonl")
    settings = {"answer_cache_s": 0}
    results = [world.ask(cassette=cassette, settings=settings) for _ in range(2)]
    bodies, total = embedding_bodies(world), embeddings_in_books(world)
    assert sum(map(is_of_anchors, bodies)) == 1
    assert (total.requests, total.input_tokens) == (3, counted(bodies))
    assert sum(facts(each, "rank")["input_tokens"] for each in results) == counted(bodies)


def test_a_recording_below_the_anchors_keeps_the_known_scale(
    world: PaidWorld, tmp_path: Path
) -> None:
    """The ceiling keeps them from the cassette, and the run is as any other."""
    settings = {"prices": DEAR, "answer_cache_s": 0}
    first = world.ask(settings=settings)
    world.forget()
    tape = tmp_path / "tape.jsonl"
    again = world.ask(settings=settings, max_cost_usd=3, cassette=Cassette.record(tape))
    assert not any(map(is_of_anchors, embedding_bodies(world)))
    assert again["results"] == first["results"]
    assert "embedding_degraded" not in again["flags"]
    assert again["telemetry"]["cost_usd"] <= 3


def test_a_replay_reads_the_scale_from_the_recording(world: PaidWorld, tmp_path: Path) -> None:
    """Also where the machine knows it, so that it tells the same costs everywhere."""
    tape = tmp_path / "tape.jsonl"
    live = world.ask(cassette=Cassette.record(tape), settings={"answer_cache_s": 0})
    world.forget()
    for home in (tmp_path, tmp_path / "there"):
        played = world.ask(cassette=Cassette.replay(tape), settings={"home": home})
        assert facts(played, "rank")["input_tokens"] == facts(live, "rank")["input_tokens"]
        assert played["results"] == live["results"]
    assert world.models.requests == []


def test_a_question_to_a_collection_pays_for_both(world: PaidWorld) -> None:
    """The question's vector and the anchors belong to one run."""
    context = world.context()
    store = run_blocking(context.storage())
    store.collections.replace_document(TenantScope("local", "tea"), document("p"), chunks("Tea."))
    reembed("tea", context=context)
    retrieve("green tea", collection="tea", context=context)
    bodies, total = embedding_bodies(world), embeddings_in_books(world)
    assert (total.requests, total.input_tokens) == (len(bodies), counted(bodies))
    usage = run_blocking(context.usage())
    assert usage is not None
    runs = usage.totals("local", by="run")
    assert sorted(one.requests for one in runs) == [1, 2]
