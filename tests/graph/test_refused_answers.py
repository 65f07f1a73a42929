"""An answer that a model refuses to give is billed: it is in the books wherever it was asked for."""

from __future__ import annotations

import asyncio
from functools import partial
from typing import TYPE_CHECKING, Any

import pytest
from langgraph.checkpoint.memory import InMemorySaver
from support.paid_world import PaidWorld
from support.review_world import ReviewWorld, Thread

from collection_search import CollectionSearchGraph, build_graph
from collection_search.contracts.collection import TenantScope
from collection_search.contracts.search import ProviderSearchResult
from collection_search.errors import ModelError
from collection_search.runtime.concurrency import run_blocking
from collection_search.testing import ScriptedAdapter, ScriptedQueryModel
from collection_search.testing.openai_server import RawReply
from collection_search.testing.stores.suite import chunks, document
from collection_search.tools.answer import answer
from collection_search.tools.spending.spend_writer import spend_writer

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from collection_search import SearchContext
    from collection_search.ports.usage import SpendTotal

TEA = "How long does green tea steep?"
KETTLE = "descale an electric kettle with vinegar"
GIVEN, MADE = 31, 7
CHAT = "gpt-4o-mini"
MESSAGE = {"role": "assistant", "content": None, "refusal": "I cannot help with that."}
REFUSED = RawReply.json(
    {
        "model": CHAT,
        "choices": [{"index": 0, "message": MESSAGE, "finish_reason": "stop"}],
        "usage": {"prompt_tokens": GIVEN, "completion_tokens": MADE},
    }
)


@pytest.fixture
def world(tmp_path: Path) -> Iterator[PaidWorld]:
    with PaidWorld(tmp_path, reply=REFUSED) as world:
        yield world


def booked(context: SearchContext) -> SpendTotal:
    """Return the chats in the books."""
    spend_writer().flush()
    usage = run_blocking(context.usage())
    assert usage is not None
    [chats] = [one for one in usage.totals("local", by="name") if one.kind == "chat"]
    return chats


def do_ask(world: PaidWorld) -> Any:
    store = run_blocking(world.context().storage())
    scope = TenantScope("local", "tea")
    text = "Green tea is made of leaves that were not oxidised."
    store.collections.replace_document(scope, document("page"), chunks(text))
    context = world.context(embeddings="lexical")
    answered = answer("How is green tea made?", collection="tea", context=context)
    assert answered.reason == "model_failed"
    return answered.cost_usd


def do_run(world: PaidWorld, **given: Any) -> Any:
    context = world.context(embeddings="lexical", reranker="model")
    asked = {"question": "How does asyncio work?", "collection_scope": "c", **given}
    return CollectionSearchGraph(context).run(asked)[1]["telemetry"]["cost_usd"]


@pytest.mark.parametrize(
    ("work", "least"),
    [(do_ask, 1), (do_run, 1), (partial(do_run, criteria=["It is free."]), 2)],
)
def test_each_refusal_is_in_the_books(
    world: PaidWorld, work: Callable[[PaidWorld], Any], least: int
) -> None:
    """With its tokens and its price, and the work knows what it cost."""
    told = work(world)
    chats = booked(world.context())
    assert chats.requests == world.plans >= least
    tokens = GIVEN * chats.requests, MADE * chats.requests
    assert (chats.input_tokens, chats.output_tokens, chats.unpriced) == (*tokens, 0)
    searches = 0.008 * len(world.searches)
    assert told == pytest.approx(float(chats.cost_usd) + searches, abs=1e-12)


async def test_a_refused_plan_for_gaps_is_in_the_books(tmp_path: Path) -> None:
    """The queries without a model stand in for it."""
    page = ProviderSearchResult(
        url="https://tea.example.org/green",
        title="Steeping green tea",
        snippet="How long green tea steeps: two minutes at eighty degrees.",
        source="tea.example.org",
        content="Green tea steeps for two minutes at eighty degrees.",
    )
    refused = ModelError("declined", input_tokens=GIVEN, output_tokens=MADE)
    model = ScriptedQueryModel([TEA, "green tea time", KETTLE], refused, model_name=CHAT)
    world = ReviewWorld(tmp_path, adapter=ScriptedAdapter([page]))
    settings = world.context.using().model_copy(update={"coverage_timeout_s": 60.0})
    changes = {"trigger": None, "settings": settings, "model": model}
    world.context = world.context.model_copy(update=changes)
    thread = Thread(build_graph(review=True, checkpointer=InMemorySaver()), world.context)
    await thread.start({"question": TEA, "collection_scope": "kitchen", "max_rounds": 1})
    paused = await thread.answer(status="approved", approver="ann")
    assert paused.value["coverage"]["gaps"] == [KETTLE]
    assert len(model.calls) == 2
    chats = await asyncio.to_thread(booked, world.context)
    assert (chats.requests, chats.input_tokens) == (2, 29 + GIVEN)
    assert (chats.output_tokens, chats.unpriced) == (44 + MADE, 0)
