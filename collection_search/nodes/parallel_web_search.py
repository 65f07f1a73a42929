"""Search with all queries at once and merge the pages that they found."""

from __future__ import annotations

import asyncio
from itertools import zip_longest
from typing import TYPE_CHECKING

from ..errors import CostLimitReached
from ..planning.quality import QUALITY, results_per_query
from ..ranking.languages.guess import find_language_gap
from ..runtime.spans import NULL_SPAN
from ..text.redaction import redact_query
from ..text.urls import url_key
from ..tools.search.route import SearchRoute, build_route
from .searches import query_report, search_heard, search_report
from .stage import StageRun, stage
from .staging import distinct, is_unwanted, stage_texts, without_twins

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ..contracts.options import SearchOptions
    from ..contracts.search import SearchResult, WebSearchResponse
    from ..contracts.state import (
        Candidate,
        CollectionSearchState,
        Flag,
        ReviewOutcome,
        SearchFailure,
    )
    from ..contracts.updates import FurtherRound, SearchUpdate


@stage("k_parallel_web_search")
async def parallel_web_search(state: CollectionSearchState, run: StageRun) -> SearchUpdate:
    """Return the distinct pages of all queries, best places first, and how each query ended.

    Of a host's pages with the same title and snippet the best is one candidate for all of them.
    A failed query does not end the run while another one succeeded: `partial_search`. The run's
    cost limit does not either, unless nothing was found without the queries that it stopped.
    """
    queries = _queries(state)
    count = results_per_query(state["max_candidates"], len(queries))
    route, options = await _route(state, run, count), QUALITY[state["quality_mode"]].options
    await route.recall(queries, options)
    searches = (_search(route, q, count, options, run, waits=n > 0) for n, q in enumerate(queries))
    responses = await asyncio.gather(*searches)
    answers = list(zip(queries, responses, strict=True))
    found = _new_ones(merge_candidates(answers), state)
    wanted = [one for one in found if not is_unwanted(one, state.get("is_pdf"))]
    candidates, twins = without_twins(wanted)
    search = search_report(answers, reason=route.reason, result_count=len(candidates))
    search["notices"] += _left_out(len(found) - len(wanted), state.get("is_pdf"))
    search["notices"] += await _language_notices(state["question"], candidates, run)
    errors = search["errors"]
    is_further = state.get("coverage") is not None
    is_partial = errors and (is_further or len(errors) < len(queries))
    flags: list[Flag] = ["partial_search"] if is_partial else []
    if search["routing"]:
        flags.append("provider_fallback")
    if not await stage_texts(candidates, responses, run):
        flags.append("staging_failed")
    requests = sum(r.outcome.meta["request_count"] for r in responses)
    cached = sum(bool(r.outcome.meta.get("cached")) for r in responses)
    if errors and len(errors) == len(queries):
        run.span.fail(errors[0]["kind"], errors[0]["message"])
    return {
        "search": search,
        "candidates": candidates,
        **_after_search(state, [*candidates, *twins]),
        "outcome": _outcome(candidates, errors, state),
        "flags": flags,
        "telemetry": {
            "provider": search["provider"],
            "query_count": len(queries),
            "failed_query_count": len(errors),
            "raw_result_count": sum(r.outcome.meta["raw_result_count"] for r in responses),
            "result_count": len(candidates),
            "request_count": requests,
            "cost_usd": run.account.total_search_cost(responses),
            "cached": cached == len(queries),
            "cached_count": cached,
            **({"duplicate_count": len(twins)} if twins else {}),
        },
    }


def merge_candidates(answers: Sequence[tuple[str, WebSearchResponse]]) -> list[Candidate]:
    """Return one candidate per distinct page: all first places, then all second ones ..."""
    rows = zip_longest(*(response.results for _, response in answers))
    return distinct(
        _candidate(result, query=query, position=position, by=response.outcome.meta["provider"])
        for position, row in enumerate(rows, start=1)
        for (query, response), result in zip(answers, row, strict=True)
        if result is not None
    )


def _candidate(result: SearchResult, *, query: str, position: int, by: str) -> Candidate:
    return {
        "url": result.url,
        "url_key": url_key(result.url),
        "title": result.title,
        "snippet": result.snippet,
        "source": result.source,
        "provider": by,
        "score": result.score,
        "published_date": result.published_date,
        "content_type": result.content_type,
        "is_pdf": result.is_pdf,
        "content_ref": None,
        "query": query,
        "position": position,
    }


def _left_out(count: int, wants_pdf: bool | None) -> list[str]:  # noqa: FBT001
    """Return the notice about pages of the kind that is not wanted."""
    if not count:
        return []
    pages, are = ("1 page", "is") if count == 1 else (f"{count} pages", "are")
    return [f"{pages} {are} left out: not PDF." if wants_pdf else f"{pages} {are} left out: PDF."]


async def _language_notices(
    question: str, candidates: Sequence[Candidate], run: StageRun
) -> list[str]:
    """Return the notice that words cannot match, where no embedding model compares meanings."""
    if await run.context.embedder() is not None:
        return []
    texts = [f"{one['title']}\n{one['snippet']}" for one in candidates]
    if (gap := find_language_gap(question, texts)) is None:
        return []
    asked, found = gap
    notice = (
        f"The question is in {asked}, the pages are in {found}, and without an embedding model only"
        f" words are compared. Ask in {found}, or set a model for several languages:"
        " COLLECTION_SEARCH_EMBEDDINGS."
    )
    return [notice]


async def _route(state: CollectionSearchState, run: StageRun, max_results: int) -> SearchRoute:
    return await build_route(
        run.context,
        max_results=max_results,
        oversample_factor=QUALITY[state["quality_mode"]].oversample_factor,
        sink=run.sink,
        account=run.account,
    )


async def _search(
    route: SearchRoute,
    query: str,
    max_results: int,
    options: SearchOptions,
    run: StageRun,
    *,
    waits: bool,
) -> WebSearchResponse:
    """Return the response; with `waits` the first query's request is sent before this is prepared.

    Otherwise all requests would be sent when the last one is ready, and be answered together.
    """
    if waits:
        await asyncio.sleep(0)
    with run.sink.span("web_search_query", trace=run.context.trace(run.ids)) as span:
        response = await search_heard(route, query, run, max_results=max_results, options=options)
        report = query_report(query, response)
        if span is not NULL_SPAN:
            span.set(
                {
                    "query": redact_query(query, run.context.using().capture_query),
                    "rationale": report["rationale"],
                    "result_count": report["result_count"],
                }
            )
        if report["decision"] == "error":
            span.fail(response.outcome.meta["error"]["kind"], report["rationale"])
    run.emit({"type": "query_finished", "node": run.name, "report": report})
    return response


def _queries(state: CollectionSearchState) -> list[str]:
    """Return the planned queries, in a further round those that close the gaps."""
    coverage = state.get("coverage")
    return state["strategy"]["queries"] if coverage is None else coverage["next_queries"]


def _new_ones(found: list[Candidate], state: CollectionSearchState) -> list[Candidate]:
    """Return the candidates without those of earlier rounds, which were decided on."""
    if state.get("coverage") is None:
        return found
    known = set(state["reviewed"])
    return [candidate for candidate in found if candidate["url_key"] not in known]


def _after_search(state: CollectionSearchState, candidates: Sequence[Candidate]) -> FurtherRound:
    """Return what a further round knows of this one: its pages, and that its queries were used."""
    keys = [candidate["url_key"] for candidate in candidates]
    reviewed = list(dict.fromkeys([*state.get("reviewed", ()), *keys]))
    coverage = state.get("coverage")
    if coverage is None:
        return {"reviewed": reviewed}
    searched = [*coverage["searched"], *coverage["next_queries"]]
    return {
        "reviewed": reviewed,
        "coverage": {**coverage, "searched": searched, "next_queries": []},
    }


def _outcome(
    candidates: Sequence[Candidate], errors: Sequence[SearchFailure], state: CollectionSearchState
) -> ReviewOutcome | None:
    if candidates:
        return None
    if state.get("coverage") is not None:
        return "coverage_incomplete"
    stopped = any(error["kind"] == CostLimitReached.__name__ for error in errors)
    failed = stopped or len(errors) == len(_queries(state))
    return "search_failed" if failed else "no_candidates"
