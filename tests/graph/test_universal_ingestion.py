"""The universal ingestion graph from end to end on shipped doubles."""

from __future__ import annotations

import asyncio
import json
from typing import TYPE_CHECKING, Any

import pytest
from support.paid_world import SEARCH_USD, PaidWorld
from support.scripted_world import INPUT, good_pages

from collection_search import CollectionSearchGraph, SearchContext, UniversalIngestionGraph, ingest
from collection_search.contracts.collection import TenantScope
from collection_search.contracts.search import ProviderSearchResult
from collection_search.errors import IngestError, InputError, SearchProviderUnavailable, StoreError
from collection_search.graphs.universal_ingestion import graph
from collection_search.testing import RecordingSink, RecordingTrigger, ScriptedAdapter
from collection_search.tools.tickets import wait

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from collection_search import Settings
    from collection_search.contracts.ingestion_state import IngestionOutput

SEARCH = {"source": "search", "query": "asyncio timeout", "collection_scope": "docs"}
LISTED = {
    "source": "preselected",
    "collection_scope": "docs",
    "preselected_results": ["https://a.org/1", {"url": "https://a.org/2", "title": "Two"}],
}
NODES = ["k_acquire", "k_select", "k_stage", "k_ingest"]


def page(n: int, snippet: str = "A snippet that is as long as it has to be.", **more: Any) -> Any:
    return ProviderSearchResult(
        url=f"https://a.org/{n}", title=f"Page {n}", snippet=snippet, source="a.org", **more
    )


def run(context: SearchContext, **given: Any) -> IngestionOutput:
    return UniversalIngestionGraph(context).run(given)


def with_pages(context: SearchContext, pages: Sequence[Any]) -> SearchContext:
    return context.model_copy(update={"provider": ScriptedAdapter(pages)})


def test_a_search_ends_in_an_ingestion(context: SearchContext, trigger: RecordingTrigger) -> None:
    """The best results go to the ingestion, with where they come from."""
    output = run(context, **SEARCH, max_results=4)
    assert output["outcome"] == "ingestion_started"
    assert output["ingestion"] is not None
    assert (output["ingestion"]["ticket"], output["ingestion"]["count"]) == ("ticket-1", 4)
    assert output["session_id"] is None
    assert list(output["telemetry"]["nodes"]) == NODES
    assert output["search"] is not None
    assert output["search"]["queries"][0]["rationale"] == "search_completed"
    (request,) = trigger.requests
    first = request.items[0].provenance
    assert (first["query"], first["provider"], first["rank"]) == ("asyncio timeout", "scripted", 1)
    assert first["approved_by"] == "universal_ingestion"
    assert request.trace_id == output["telemetry"]["trace_id"]


def test_thin_results_are_dropped_with_the_reason(context: SearchContext) -> None:
    """A short snippet says too little, unless the page's text came with it."""
    pages = [page(1, "Short."), page(2), page(3, "Short.", content="The whole text of the page.")]
    output = run(with_pages(context, pages), **SEARCH, mode="acquire_only")
    assert [one["url"] for one in output["candidates"]] == ["https://a.org/2", "https://a.org/3"]
    assert output["dropped"] == [{"url": "https://a.org/1", "reason": "snippet_too_short"}]
    everything = run(with_pages(context, pages), **SEARCH, mode="acquire_only", min_snippet_chars=0)
    assert len(everything["candidates"]) == 3
    nothing = run(with_pages(context, pages[:1]), **SEARCH)
    assert (nothing["outcome"], nothing["ingestion"]) == ("no_candidates", None)


def test_unfit_results_take_no_place(context: SearchContext) -> None:
    """As many pages as were asked for come back while the answer has as many."""
    thin = [page(n, "Short.") for n in range(3)]
    papers = [page(n, content_type="application/pdf") for n in range(3, 5)]
    context = with_pages(context, [*thin, *papers, *(page(n) for n in range(5, 10))])
    output = run(context, **SEARCH, mode="acquire_only", max_results=4, is_pdf=False)
    expected = [f"https://a.org/{n}" for n in range(5, 8)]
    assert [one["url"] for one in output["candidates"]] == expected
    output = run(context, **SEARCH, mode="acquire_only", max_results=5, is_pdf=False)
    assert len(output["candidates"]) == 5
    reasons = [one["reason"] for one in output["dropped"]]
    assert reasons == ["snippet_too_short"] * 3 + ["is_pdf"] * 2
    everything = run(context, **SEARCH, mode="acquire_only", max_results=4, selection="all")
    assert len(everything["candidates"]) == 4


def test_results_that_read_the_same_are_one_page(context: SearchContext) -> None:
    """The best stays; who named two addresses gets both."""
    same = {"title": "Tea", "snippet": "How long green tea has to steep, and how hot it may be."}
    urls = ["http://a.org/tea?a=2", "https://www.a.org/?a=1", "http://b.org/tea"]
    pages = [ProviderSearchResult(url=url, source="a", **same) for url in urls]
    output = run(with_pages(context, pages), **SEARCH, mode="acquire_only", max_results=2)
    assert [one["url"] for one in output["candidates"]] == [urls[0], urls[2]]
    assert output["dropped"] == [{"url": urls[1], "reason": "duplicate"}]
    listed = {**LISTED, "preselected_results": [{"url": url, **same} for url in urls]}
    assert len(run(context, **listed, mode="acquire_only")["candidates"]) == 3


def test_selection_is_of_the_best_or_of_all(context: SearchContext) -> None:
    """What is left out is named."""
    output = run(context, **LISTED, max_results=1, selection="top_k", mode="acquire_only")
    assert [one["url"] for one in output["candidates"]] == ["https://a.org/1"]
    assert output["dropped"] == [{"url": "https://a.org/2", "reason": "beyond_max_results"}]
    assert len(run(context, **LISTED, max_results=1)["candidates"]) == 2


def test_preselected_pages_pass_the_guard(
    context: SearchContext, trigger: RecordingTrigger
) -> None:
    """Who names a page has looked at it. Each page comes once, in normal form."""
    named = [*LISTED["preselected_results"], "https://a.org/1?utm_source=x"]
    output = run(context, **{**LISTED, "preselected_results": named})
    assert output["outcome"] == "ingestion_started"
    assert output["search"] is None
    assert [item.url for item in trigger.requests[0].items] == [
        "https://a.org/1",
        "https://a.org/2",
    ]
    assert trigger.requests[0].items[1].title == "Two"


def test_ranked_results_bring_their_scores(
    context: SearchContext, trigger: RecordingTrigger
) -> None:
    """What the ranking said of a page is kept with it."""
    results = CollectionSearchGraph(context).run(INPUT)[1]["results"]
    given: list[Any] = [dict(result) for result in results]
    run(context, source="preselected", collection_scope="docs", preselected_results=given)
    provenance = trigger.requests[0].items[0].provenance
    assert provenance["embedding_rank_score"] == results[0]["embedding_rank_score"]


def test_what_is_staged_is_ingested_later(
    context: SearchContext, trigger: RecordingTrigger
) -> None:
    """By the graph with the session's id, or by `ingest`; then the session is gone."""
    staged = [run(context, **LISTED, mode="acquire_only") for _ in range(2)]
    assert [output["outcome"] for output in staged] == ["acquired", "acquired"]
    assert trigger.requests == []
    assert "k_ingest" not in staged[0]["telemetry"]["nodes"]
    first, second = (str(output["session_id"]) for output in staged)
    output = run(context, session_id=first, collection_scope="docs")
    assert output["outcome"] == "ingestion_started"
    assert ingest(session=second, context=context).count == 2
    assert [len(request.items) for request in trigger.requests] == [2, 2]
    with pytest.raises(InputError, match="no staged session"):
        run(context, session_id=first, collection_scope="docs")
    other = context.model_copy(update={"tenant_id": "other"})
    with pytest.raises(InputError, match="Tenant 'other' has no staged session"):
        ingest(session=second, context=other)


def test_a_failed_search_is_an_outcome(context: SearchContext) -> None:
    """The cause is told; nothing is staged."""
    failing = ScriptedAdapter(SearchProviderUnavailable("down", retryable=False))
    output = run(context.model_copy(update={"provider": failing}), **SEARCH)
    assert output["outcome"] == "search_failed"
    assert output["search"] is not None
    assert output["search"]["errors"][0]["message"] == "down"
    assert (output["session_id"], output["candidates"]) == (None, [])
    empty = run(with_pages(context, []), **SEARCH)
    assert (empty["outcome"], empty["search"]["errors"]) == ("no_candidates", [])  # type: ignore[index]


def test_the_ceiling_of_the_cost_holds(tmp_path: Path) -> None:
    """A search that the run may not pay for is not made."""
    with PaidWorld(tmp_path) as world:
        context = SearchContext(settings=world.settings(), max_cost_usd=0)
        output = run(context, **SEARCH)
        assert (output["outcome"], output["flags"]) == ("search_failed", ["cost_limit_reached"])
        assert not world.search.requests
        paid = run(context.model_copy(update={"max_cost_usd": 1.0}), **SEARCH, mode="acquire_only")
        assert paid["telemetry"]["cost_usd"] == SEARCH_USD


def test_an_ingestion_that_cannot_start_leaves_the_pages_staged(context: SearchContext) -> None:
    """They are not lost: the session can be ingested when the cause is gone."""
    broken = context.model_copy(update={"trigger": RecordingTrigger(error=IngestError("full"))})
    output = run(broken, **LISTED)
    assert (output["outcome"], output["flags"]) == ("acquired", ["ingestion_failed"])
    assert output["ingestion"] is not None
    assert output["ingestion"]["error"] == {"kind": "IngestError", "message": "full"}
    assert ingest(session=output["session_id"], context=context).count == 2


@pytest.mark.parametrize(
    ("given", "problem"),
    [
        ({"collection_scope": "docs"}, "give a source"),
        ({"source": "search", "collection_scope": "docs"}, "needs a query"),
        ({"source": "preselected", "collection_scope": "docs"}, "needs preselected_results"),
        ({**LISTED, "query": "tea"}, "and no query"),
        ({**LISTED, "session_id": "s"}, "stands alone"),
        ({**LISTED, "max_results": 0}, "max_results"),
        ({**LISTED, "preselected_results": ["ftp://a.org"]}, "preselected_results.0.url"),
        ({**LISTED, "colour": "red"}, "colour"),
        (
            {"session_id": "s", "mode": "acquire_only", "collection_scope": "docs"},
            "mode acquire_and_ingest",
        ),
    ],
)
def test_bad_input_is_refused(context: SearchContext, given: Any, problem: str) -> None:
    """Each wrong field is named."""
    with pytest.raises(InputError, match=problem):
        run(context, **given)


async def test_the_first_node_refuses_bad_input_by_itself(context: SearchContext) -> None:
    """A host that invokes the bare graph is told as well."""
    with pytest.raises(InputError, match="needs a query"):
        await graph.ainvoke({"source": "search", "collection_scope": "docs"}, context=context)


async def test_nodes_report_as_they_run(context: SearchContext, sink: RecordingSink) -> None:
    """One span and one pair of events each; the search has its own."""
    events = [event async for event in graph.astream(SEARCH, context=context, stream_mode="custom")]
    started = [event["node"] for event in events if event["type"] == "node_started"]
    assert started == NODES
    assert [event["type"] for event in events].count("query_finished") == 1
    assert [span.name for span in sink.spans if span.name.startswith("k_")] == NODES
    assert json.dumps(events)


def test_plain_invoke_works_and_state_is_json(context: SearchContext) -> None:
    """Under `invoke` as under `ainvoke`; no text of a page is in the state."""
    pages = [page(n, content="SECRET TEXT " * 50) for n in range(3)]
    keys = ["source", "candidates", "telemetry", "outcome", "session_id", "flags", "ids"]
    state = graph.invoke(SEARCH, context=with_pages(context, pages), output_keys=keys)
    assert state["outcome"] == "ingestion_started"
    assert all(one["content_ref"] for one in state["candidates"])
    assert "SECRET TEXT" not in json.dumps(state)


def test_texts_that_may_not_be_kept_are_not_staged(context: SearchContext) -> None:
    """A vendor whose terms are not known: its pages are fetched."""
    adapter = ScriptedAdapter([page(1, content="Whole text.")], provider_name="tavily")
    output = run(context.model_copy(update={"provider": adapter}), **SEARCH, mode="acquire_only")
    assert output["candidates"][0]["content_ref"] is None


def test_results_of_a_run_keep_their_texts(
    context: SearchContext, trigger: RecordingTrigger
) -> None:
    """A host's own gate hands them on; a text that is not staged any more is fetched."""
    pages = [page(n, content=f"The whole text {n}.") for n in (1, 2)]
    given = with_pages(context, pages)
    results = CollectionSearchGraph(given).run(INPUT)[1]["results"]
    store = asyncio.run(given.storage())
    texts = [store.staging.get("local", str(one["content_ref"])) for one in results]
    assert texts == [f"The whole text {one['url'][-1]}." for one in results]
    chosen = [results[0], {**results[1], "content_ref": "lost"}]
    run(given, source="preselected", preselected_results=chosen, collection_scope="docs")
    kept = [item.content_ref for item in trigger.requests[-1].items]
    assert kept == [results[0]["content_ref"], None]


class TestDelegation:
    """`collection_search` hands its results to this graph."""

    @pytest.fixture
    def own(self, settings: Settings, sink: RecordingSink) -> SearchContext:
        return SearchContext(
            provider=ScriptedAdapter(
                [
                    ProviderSearchResult(
                        url=one.url,
                        title=one.title,
                        snippet=one.snippet,
                        source=one.source,
                        content=f"{one.title}. {one.snippet} " * 5,
                    )
                    for one in good_pages()
                ]
            ),
            settings=settings,
            spans=sink,
        )

    async def test_the_sub_graph_reports_below_the_run(
        self, own: SearchContext, sink: RecordingSink
    ) -> None:
        """Same outcome as without it, one trace, and the parent's own stream stays as it was."""
        parent = CollectionSearchGraph(own)
        given = {**INPUT, "auto_ingest": True, "auto_ingest_top_k": 3}
        chunks = [chunk async for chunk in parent.astream(given, stream_mode=["custom", "values"])]
        final = [values for mode, values in chunks if mode == "values"][-1]
        assert final["outcome"] == "auto_ingest_triggered"
        assert list(final["telemetry"]["nodes"])[-1] == "k_auto_ingest"
        nodes = {chunk["node"] for mode, chunk in chunks if mode == "custom"}
        assert nodes <= {*final["telemetry"]["nodes"], *NODES}
        (outer,) = [span for span in sink.spans if span.name == "k_auto_ingest"]
        inner = [span for span in sink.spans if span.name in NODES]
        assert [span.name for span in inner] == NODES
        assert {span.parent for span in inner} == {outer}
        assert len({span.trace.trace_id for span in [outer, *inner] if span.trace}) == 1
        ticket = final["ingestion"]["ticket"]
        status = await asyncio.to_thread(wait, ticket, 60, tenant="local", context=own)
        assert status.stored == 3
        documents = [span for span in sink.spans if span.name == "ingest_document"]
        assert {one.trace.trace_id for one in documents if one.trace} == {final["ids"]["trace_id"]}

    def test_the_question_is_remembered(self, own: SearchContext) -> None:
        """With all that is needed to ask it again."""
        own.provider = ScriptedAdapter(good_pages())
        given = {**INPUT, "auto_ingest": True, "auto_ingest_top_k": 2}
        own.ingests = False
        output = CollectionSearchGraph(own).run(given)[1]
        assert output["outcome"] == "auto_ingest_triggered"
        store = asyncio.run(own.storage())
        scope = TenantScope("local", "software_docs")
        (record,) = store.collections.questions(scope)
        assert record.question == INPUT["question"]
        assert (record.auto_ingest_top_k, record.auto_ingest_min_score) == (2, 60.0)
        assert len(record.url_keys) == 2

    def test_a_store_that_fails_is_the_same_outcome(self, own: SearchContext) -> None:
        """Whichever node meets it."""

        class Broken:
            def __getattr__(self, name: str) -> Any:
                def fail(*_: Any, **__: Any) -> Any:
                    raise StoreError("The disk is full.")

                return fail

        class BrokenStore:
            staging = ledger = collections = Broken()

            def close(self) -> None:
                pass

        broken: Any = BrokenStore()
        own.store = broken
        own.provider = ScriptedAdapter(good_pages())
        output = CollectionSearchGraph(own).run({**INPUT, "auto_ingest": True})[1]
        assert output["outcome"] == "auto_ingest_trigger_failed"
        assert output["ingestion"] is not None
        error = output["ingestion"]["error"]
        assert error == {
            "kind": "IngestError",
            "message": "The ingestion could not be started. The disk is full.",
        }
