"""The setting `heuristics` in a run: whose rules count, and what they keep out."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from langgraph.checkpoint.memory import InMemorySaver
from support.review_world import ReviewWorld, Thread
from support.scripted_world import INPUT, fair_pages, good_pages

from collection_search import CollectionSearchGraph, build_graph
from collection_search.contracts.search import ProviderSearchResult
from collection_search.settings.tenant_heuristics import TenantHeuristics
from collection_search.testing import ScriptedAdapter
from collection_search.tools.reviews import decide_by_threshold

if TYPE_CHECKING:
    from pathlib import Path

    from collection_search import SearchContext
    from collection_search.adapters.stores.sqlite import SQLiteStore

BLOCKED = {"blocked_hosts": ["docs.example.com"]}
PAGES = [*good_pages(3), *fair_pages()]


def run(context: SearchContext, rules: dict[str, Any], tenant: str, **given: Any) -> Any:
    heuristics = TenantHeuristics.model_validate(rules)
    update = {
        "provider": ScriptedAdapter(PAGES),
        "tenant_id": tenant,
        "settings": context.using().model_copy(update={"heuristics": heuristics}),
    }
    return CollectionSearchGraph(context.model_copy(update=update)).run({**INPUT, **given})[1]


def refused(result: Any) -> list[bool]:
    return ["refused" in row["explanation"] for row in result["results"]]


def test_rules_are_those_of_the_runs_tenant(context: SearchContext) -> None:
    """Another tenant's rules do not count, nor does a name in the input."""
    rules = {"tenants": {"acme": BLOCKED}}
    assert any(refused(run(context, rules, "acme")))
    assert not any(refused(run(context, rules, "other")))


def test_rules_are_those_of_the_collection(context: SearchContext) -> None:
    """Of the one that the run fills."""
    rules = {"tenants": {"acme": {"collections": {"software_docs": BLOCKED}}}}
    assert any(refused(run(context, rules, "acme")))
    assert not any(refused(run(context, rules, "acme", collection_scope="another")))


def test_a_blocked_page_ranks_last_and_is_not_ingested(context: SearchContext) -> None:
    """However well it answers the question."""
    found = run(context, BLOCKED, "acme", auto_ingest=True, auto_ingest_min_score=1.0)
    flags = refused(found)
    assert flags == sorted(flags)
    assert any(flags)
    allowed = {row["url"] for row in found["results"] if "refused" not in row["explanation"]}
    assert {*found["ingestion"]["urls"]} <= allowed


def test_a_threshold_of_0_takes_no_blocked_page(context: SearchContext) -> None:
    """Where a deadline or a threshold decides in place of a person."""
    candidates = run(context, BLOCKED, "acme")["results"]
    decided = decide_by_threshold(candidates, threshold=0.0, now=0.0, round_number=1)
    assert not any("docs.example.com" in url for url in decided["approved_urls"])
    assert len(decided["approved_urls"]) == refused({"results": candidates}).count(False)


def test_a_trusted_host_gains_its_points(context: SearchContext) -> None:
    """And every result still says what its score is the sum of."""
    rules = {"trusted_hosts": ["example.com"], "trusted_points": 7}
    for row in run(context, rules, "acme")["results"]:
        addends = {each["name"]: each["points"] for each in row["explanation"]["addends"]}
        assert round(sum(addends.values()), 2) == row["embedding_rank_score"]
        assert abs(addends["trusted_host"] - 7) < 0.011


def test_where_all_hosts_are_blocked_the_run_says_so(context: SearchContext) -> None:
    """And not that there is no result."""
    rules = {"blocked_hosts": ["example.com", "example.org", "example.net"]}
    found = run(context, rules, "acme", auto_ingest=True, auto_ingest_min_score=0)
    assert all(refused(found))
    assert found["outcome"] == "auto_ingest_failed_quality_threshold"
    count = len(found["results"])
    said = found["ingestion"]["error"]["message"]
    assert said.startswith(f"the rules refuse all {count} results. The best one: the host ")


OTHER = ProviderSearchResult(
    url="https://other.example.org/timeouts",
    title="Cancel an asyncio task after a timeout",
    snippet="How to cancel an asyncio task after a timeout with asyncio.timeout.",
    source="other.example.org",
)


def blocking(context: SearchContext, *hosts: str) -> SearchContext:
    heuristics = TenantHeuristics.model_validate({"blocked_hosts": hosts})
    settings = context.using().model_copy(update={"heuristics": heuristics})
    adapter = ScriptedAdapter([*PAGES, OTHER])
    return context.model_copy(update={"settings": settings, "provider": adapter})


async def test_approval_of_all_leaves_out_blocked_hosts(tmp_path: Path) -> None:
    """As the deadline does."""
    world = ReviewWorld(tmp_path)
    world.context = blocking(world.context, "docs.example.com")
    thread = Thread(build_graph(review=True, checkpointer=InMemorySaver()), world.context)
    await thread.start()
    await thread.answer(status="approved", approver="anna")
    assert world.ingested() == [OTHER.url]
    assert "rules" not in world.trigger.requests[0].items[0].provenance


async def test_a_person_overrules_the_rules(tmp_path: Path) -> None:
    """Its address approves such a page, and the provenance says who overruled the rules."""
    world = ReviewWorld(tmp_path)
    world.context = blocking(world.context, "docs.example.com")
    thread = Thread(build_graph(review=True, checkpointer=InMemorySaver()), world.context)
    asked = await thread.start()
    (interrupt,) = asked.interrupts
    urls = [one["url"] for one in interrupt.value["candidates"]]
    url = next(url for url in urls if "docs.example.com" in url)
    await thread.answer(status="partial", approved_urls=[url], approver="anna")
    assert world.ingested() == [url]
    assert world.trigger.requests[0].items[0].provenance["rules"] == {
        "refused": "the host docs.example.com is blocked",
        "overruled_by": "anna",
    }


def test_a_comparison_of_profiles_selects_no_blocked_page(
    context: SearchContext, store: SQLiteStore
) -> None:
    """Nor at a minimum score of 0, by which every page would be taken."""
    blocked = blocking(context, "docs.example.com")
    settings = blocked.using().model_copy(update={"compare_profile": "literal"})
    asked = blocked.model_copy(update={"settings": settings, "store": store})
    CollectionSearchGraph(asked).run({**INPUT, "auto_ingest_min_score": 0})
    (stored,) = store.comparisons.comparisons("local")
    taken = [
        page["url"] for page in stored.pages if page["decided_ingests"] or page["compared_ingests"]
    ]
    assert taken == [OTHER.url]
