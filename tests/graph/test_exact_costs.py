"""The books equal what the servers counted, and a ceiling ends each kind of work before a call."""

from __future__ import annotations

import json
import time
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any

import pytest
from support.paid_world import QUERIES, PaidWorld, facts

from collection_search import CostLimitReached, SearchContext
from collection_search.adapters.stores.sqlite.usage import SQLiteUsage
from collection_search.contracts.collection import TenantScope
from collection_search.contracts.ingestion import IngestionItem, IngestionRequest
from collection_search.contracts.price_list import LIST_PRICES
from collection_search.contracts.prices import total_cost
from collection_search.ports.usage import SpendEntry
from collection_search.runtime.concurrency import run_blocking
from collection_search.settings.price_settings import OwnPrices
from collection_search.testing.openai_server import RawReply
from collection_search.testing.stores.suite import chunks, document
from collection_search.tools.answer import answer
from collection_search.tools.ingest import IngestionEngine, LedgerTrigger
from collection_search.tools.ingestion.page_payers import paid_rules
from collection_search.tools.reembed import BATCH, reembed
from collection_search.tools.spending.spend_writer import spend_writer
from collection_search.tools.tickets import wait

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from collection_search.contracts.ingestion import TicketStatus

SCOPE = TenantScope("local", "tea")
CHAT, EMBEDDER = "gpt-4o-mini", "openai:text-embedding-3-small"
PAGES = 6
TEXT = "Green tea is a leaf that was not oxidised and keeps its colour in the cup. " * 4


@pytest.fixture
def world(tmp_path: Path) -> Iterator[PaidWorld]:
    with PaidWorld(tmp_path) as world:
        yield world


def caller(world: PaidWorld, limit: float | None, **choices: Any) -> SearchContext:
    """Return a context whose ranking embeds no anchors."""
    return world.context(ranking_profile="literal", max_cost_usd=limit, **choices)


def fill(world: PaidWorld, count: int, *, embedded: bool) -> None:
    store = run_blocking(caller(world, None).storage())
    texts = [f"{n} {TEXT}" for n in range(count)]
    store.collections.replace_document(SCOPE, document("page"), chunks(*texts))
    if embedded:
        reembed("tea", context=caller(world, None))


def do_run(world: PaidWorld, limit: float | None) -> Any:
    return world.ask(max_cost_usd=limit, ranking_profile="literal", settings={"answer_cache_s": 0})


def do_ask(world: PaidWorld, limit: float | None) -> Any:
    return answer("How is green tea made?", collection="tea", context=caller(world, limit))


def do_reembed(world: PaidWorld, limit: float | None) -> Any:
    return reembed("tea", context=caller(world, limit))


def request_for(context: SearchContext) -> IngestionRequest:
    store = run_blocking(context.storage())
    texts = [f"Page {n}. {TEXT}" for n in range(PAGES)]
    refs = store.staging.put(SCOPE.tenant_id, texts)
    items = [
        IngestionItem(f"https://e.com/{n}", f"e.com/{n}", "Tea", ref, {"run_id": "run-1"})
        for n, ref in enumerate(refs)
    ]
    return IngestionRequest(SCOPE, items, run_id="run-1")


def do_ingest(world: PaidWorld, limit: float | None) -> TicketStatus:
    context = caller(world, limit)
    trigger = run_blocking(LedgerTrigger.of(context))
    return wait(run_blocking(trigger.trigger(request_for(context))), 60, context=context)


WORK: dict[str, Callable[[PaidWorld, float | None], Any]] = {
    "run": do_run,
    "ask": do_ask,
    "reembed": do_reembed,
    "ingest": do_ingest,
}


def prepared(world: PaidWorld, kind: str) -> Callable[[float | None], Any]:
    """Return the work as a function of its ceiling; the servers have counted nothing yet."""
    if kind in ("ask", "reembed"):
        many = 3 if kind == "ask" else BATCH + 1
        fill(world, many, embedded=kind == "ask")
    spend_writer().flush()
    usage = run_blocking(caller(world, None).usage())
    assert usage is not None
    usage.forget_tenant("local")
    world.forget()
    return lambda limit: WORK[kind](world, limit)


def counted(world: PaidWorld) -> dict[str, tuple[int, int, int, float]]:
    """Return requests, tokens of input and output and the cost, by name, that the servers saw."""
    texts = [one.body["input"] for one in world.models.requests if "input" in one.body]
    found = {}
    if texts:
        tokens = sum(len(text.split()) for some in texts for text in some)
        cost = total_cost(
            LIST_PRICES.embedding_cost(EMBEDDER, sum(len(text.split()) for text in some)) or 0.0
            for some in texts
        )
        found[EMBEDDER] = len(texts), tokens, 0, cost
    if plans := world.plans:
        cost = total_cost([LIST_PRICES.chat_cost(CHAT, 29, 44) or 0.0] * plans)
        found[CHAT] = plans, 29 * plans, 44 * plans, cost
    if searches := len(world.searches):
        found["tavily"] = searches, 0, 0, LIST_PRICES.search_cost("tavily", searches) or 0.0
    return found


def booked(world: PaidWorld) -> dict[str, tuple[int, int, int, float]]:
    spend_writer().flush()
    usage = run_blocking(caller(world, None).usage())
    assert usage is not None
    return {
        one.group: (one.requests, one.input_tokens, one.output_tokens, float(one.cost_usd))
        for one in usage.totals("local", by="name")
        if one.requests
    }


@pytest.mark.parametrize("kind", WORK)
def test_the_books_equal_the_count_of_the_servers(world: PaidWorld, kind: str) -> None:
    """Every request, every token, to the last digit."""
    work = prepared(world, kind)
    work(None)
    assert booked(world) == counted(world) != {}


@pytest.mark.parametrize("share", [0.0, 0.4, 0.8])
@pytest.mark.parametrize("kind", WORK)
def test_a_ceiling_ends_the_work_before_a_call(world: PaidWorld, kind: str, share: float) -> None:
    """Nothing beyond it is asked for, what was paid is in the books, and the sentence says why."""
    work = prepared(world, kind)
    work(None)
    limit = share * total_cost(cost for *_, cost in booked(world).values())
    work = again(world, kind)
    try:
        told = str(work(limit))
    except CostLimitReached as error:
        told = str(error)
    assert "ceiling" in told
    assert "max_cost_usd" in told
    assert booked(world) == counted(world)
    assert total_cost(cost for *_, cost in booked(world).values()) <= limit
    assert bool(booked(world)) <= bool(share)


def again(world: PaidWorld, kind: str) -> Callable[[float | None], Any]:
    """Return the same work in a new collection."""
    store = run_blocking(caller(world, None).storage())
    if kind != "run":
        store.collections.delete_collection(SCOPE)
    return prepared(world, kind)


def test_pages_that_the_ceiling_stopped_go_on_under_a_higher_one(world: PaidWorld) -> None:
    """Nothing is lost, no attempt is burnt, and nothing is paid twice."""
    work = prepared(world, "ingest")
    work(None)
    whole = booked(world)
    limit = 0.5 * whole[EMBEDDER][-1]
    status = again(world, "ingest")(limit)
    assert 0 < status.stored < PAGES == status.stored + status.failed
    dead = [row for row in status.rows if row.state == "dead"]
    assert {row.attempts for row in dead} == {1}
    assert all("retry-failed" in (row.error or "") for row in dead)
    context = caller(world, 1.0)
    ledger = run_blocking(context.storage()).ledger
    assert ledger.retry_failed(SCOPE, rules=paid_rules(context)) == len(dead)
    assert wait(status.ticket_id, 60, tenant="local", context=context).stored == PAGES
    assert booked(world) == counted(world)
    assert booked(world)[EMBEDDER][1] == whole[EMBEDDER][1]  # pages may share requests or not
    usage = run_blocking(context.usage())
    assert usage is not None
    assert usage.run_total("local", "run-1").input_tokens == whole[EMBEDDER][1]


def test_the_ceiling_travels_with_the_pages(world: PaidWorld) -> None:
    """A worker whose own settings have none keeps that of the run that chose them."""
    context = caller(world, 1e-9)
    trigger = run_blocking(LedgerTrigger.of(context, wake=False))
    run_blocking(trigger.trigger(request_for(context)))
    store = run_blocking(context.storage())
    assert IngestionEngine(store, world.settings()).drain(timeout_s=60)
    assert world.embedded == []
    assert len(store.ledger.dead_letters("local")) == PAGES


def test_a_worker_counts_what_others_spend_on_the_same_run(world: PaidWorld) -> None:
    """Also after it has begun with the run's pages."""
    context = caller(world, 0.01)
    request, store = request_for(context), run_blocking(context.storage())
    trigger = run_blocking(LedgerTrigger.of(context, wake=False))
    engine = IngestionEngine(store, world.settings())
    run_blocking(trigger.trigger(replace(request, items=request.items[:2])))
    assert engine.drain(timeout_s=60)
    asked = len(world.embedded)
    assert asked > 0
    other = SpendEntry("local", "run-1", time.time(), "embedding", EMBEDDER, cost_usd=0.01)
    SQLiteUsage(world.home / "usage.db").add([other])
    run_blocking(trigger.trigger(replace(request, items=request.items[2:])))
    assert engine.drain(timeout_s=60)
    assert len(world.embedded) == asked
    assert len(store.ledger.dead_letters("local")) == PAGES - 2


def test_a_change_of_embedder_goes_on_where_the_ceiling_stopped_it(world: PaidWorld) -> None:
    """The parts that were paid for are not paid again; the old vectors serve meanwhile."""
    fill(world, 2 * BATCH, embedded=False)
    work, limit = partial(do_reembed, world), LIST_PRICES.embedding_cost(EMBEDDER, BATCH * 120)
    with pytest.raises(CostLimitReached, match=r"64 of its 128 chunks have new ones"):
        work(limit)
    assert len(world.embedded) == 1
    assert run_blocking(caller(world, None).storage()).collections.embedder(SCOPE) is None
    assert work(limit).chunks == BATCH
    assert sum(len(texts) for texts in world.embedded) == 2 * BATCH
    assert booked(world) == counted(world)


def test_a_gateway_that_answers_with_another_name_costs_the_users_own_price(
    tmp_path: Path,
) -> None:
    """In the run's telemetry as in the books."""
    choice = {"index": 0, "message": {"content": json.dumps({"queries": QUERIES})}}
    usage = {"prompt_tokens": 29, "completion_tokens": 44}
    reply = RawReply.json({"model": "llama-q4", "choices": [choice], "usage": usage})
    mine = {"input_per_million_tokens": 1, "output_per_million_tokens": 2}
    prices = OwnPrices.model_validate({"chat": {"alias": mine}})
    with PaidWorld(tmp_path, reply=reply) as world:
        result = world.ask(settings={"model": "openai:alias", "prices": prices})
    assert facts(result, "plan")["cost_usd"] == 0.000117
    assert result["telemetry"]["cost_complete"]
    spend_writer().flush()
    by_name = SQLiteUsage(tmp_path / "usage.db").totals("local", by="name")
    (chat,) = [total for total in by_name if total.kind == "chat"]
    assert (chat.group, float(chat.cost_usd), chat.unpriced) == ("llama-q4", 0.000117, 0)
