"""Run every query at once and merge the pages that they found."""

from __future__ import annotations

import asyncio
import logging
import math
from itertools import zip_longest
from typing import TYPE_CHECKING

from ..bridge import offload
from ..costs import search_cost, total_cost
from ..masking import captured_query, loggable
from ..tools.web_search import WebSearchWorker
from ..urls import url_key
from .stage import Stage, stage

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from ..contracts import SearchResult, WebSearchResponse
    from ..state import (
        Candidate,
        CollectionSearchState,
        Flag,
        Outcome,
        QueryReport,
        SearchFailure,
        SearchUpdate,
    )

logger = logging.getLogger(__name__)

MIN_RESULTS_PER_QUERY = 10


@stage("k_parallel_web_search")
async def parallel_web_search(state: CollectionSearchState, at: Stage) -> SearchUpdate:
    """Return the distinct pages of all queries, best places first, and how each query ended.

    A failed query never ends the run while another one succeeded: `partial_search`.
    """
    queries = state["strategy"]["queries"]
    provider = await at.context.search_provider()
    worker = _worker(state, at, provider.adapter)
    responses = await asyncio.gather(*(_search(worker, query, at) for query in queries))
    answers = list(zip(queries, responses, strict=True))
    errors = [_failure(q, r) for q, r in answers if r.outcome.decision == "error"]
    name = str(responses[0].outcome.meta["provider"])
    candidates = merged(answers, name)
    flags: list[Flag] = ["partial_search"] if 0 < len(errors) < len(queries) else []
    if not await _stage_texts(candidates, responses, at):
        flags.append("staging_failed")
    requests = sum(r.outcome.meta["request_count"] for r in responses)
    if errors and len(errors) == len(queries):
        at.span.fail(errors[0]["kind"], errors[0]["message"])
    return {
        "search": {
            "provider": name,
            "provider_reason": provider.reason,
            "queries": [_report(q, r) for q, r in answers],
            "errors": errors,
            "result_count": len(candidates),
            "notices": _notices(responses),
        },
        "candidates": candidates,
        "outcome": _outcome(candidates, errors, queries),
        "flags": flags,
        "telemetry": {
            "provider": name,
            "query_count": len(queries),
            "failed_query_count": len(errors),
            "raw_result_count": sum(r.outcome.meta["raw_result_count"] for r in responses),
            "result_count": len(candidates),
            "request_count": requests,
            "cost_usd": _cost(name, responses),
        },
    }


def results_per_query(max_candidates: int, queries: int) -> int:
    """Return how many results each query asks for.

    >>> results_per_query(20, 3), results_per_query(5, 5)
    (14, 10)
    """
    return max(MIN_RESULTS_PER_QUERY, math.ceil(2 * max_candidates / queries))


def merged(answers: Sequence[tuple[str, WebSearchResponse]], provider: str) -> list[Candidate]:
    """Return one candidate per distinct page: all first places, then all second ones, and so on."""
    found: dict[str, Candidate] = {}
    for position, query, result in _by_position(answers):
        found.setdefault(
            url_key(result.url), _candidate(result, query=query, position=position, by=provider)
        )
    return list(found.values())


def _by_position(
    answers: Sequence[tuple[str, WebSearchResponse]],
) -> Iterator[tuple[int, str, SearchResult]]:
    rows = zip_longest(*(response.results for _, response in answers))
    for position, row in enumerate(rows, start=1):
        for (query, _), result in zip(answers, row, strict=True):
            if result is not None:
                yield position, query, result


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


def _worker(state: CollectionSearchState, at: Stage, adapter: object) -> WebSearchWorker:
    settings = at.context.using()
    return WebSearchWorker(
        adapter,  # type: ignore[arg-type]
        max_results=results_per_query(state["max_candidates"], len(state["strategy"]["queries"])),
        oversample_factor=4 if state["quality_mode"] == "premium" else 2,
        timeout_s=settings.search_timeout_s,
        retry_timeout_s=settings.search_retry_timeout_s,
        deadline_s=settings.run_deadline_s,
        spans=at.sink,
    )


async def _search(worker: WebSearchWorker, query: str, at: Stage) -> WebSearchResponse:
    with at.sink.span("web_search_query", trace=at.context.trace(at.ids)) as span:
        response = await worker.arun(query=query, context=at.context.tool_context(at.ids))
        report = _report(query, response)
        span.set(
            {
                "query": captured_query(query, at.context.using().capture_query),
                "rationale": report["rationale"],
                "result_count": report["result_count"],
            }
        )
        if report["decision"] == "error":
            span.fail(response.outcome.meta["error"]["kind"], report["rationale"])
    at.emit({"type": "query_finished", "node": at.name, "report": report})
    return response


def _report(query: str, response: WebSearchResponse) -> QueryReport:
    meta = response.outcome.meta
    return {
        "query": query,
        "decision": response.outcome.decision,
        "rationale": response.outcome.rationale,
        "result_count": meta["result_count"],
        "latency_ms": meta["latency_ms"],
        "quota_remaining": meta.get("quota_remaining"),
    }


def _cost(provider: str, responses: Sequence[WebSearchResponse]) -> float | None:
    """Return what the answers cost, as the provider says or by its list price."""
    costs = []
    for meta in (response.outcome.meta for response in responses):
        told = meta["cost_usd"]
        costs.append(search_cost(provider, meta["billed_request_count"]) if told is None else told)
    known = [cost for cost in costs if cost is not None]
    return total_cost(known) if len(known) == len(costs) else None


def _notices(responses: Sequence[WebSearchResponse]) -> list[str]:
    """Return what a person should know, each thing once."""
    return list(dict.fromkeys(n for r in responses for n in r.outcome.meta["notices"]))


def _failure(query: str, response: WebSearchResponse) -> SearchFailure:
    error = response.outcome.meta["error"]
    return {
        "query": query,
        "rationale": response.outcome.rationale,
        "kind": error["kind"],
        "code": error["code"],
        "message": error["message"],
        "http_status": response.outcome.meta.get("http_status"),
        "retry_in_ms": error.get("retry_in_ms"),
    }


def _outcome(
    candidates: Sequence[Candidate], errors: Sequence[SearchFailure], queries: Sequence[str]
) -> Outcome | None:
    if len(errors) == len(queries):
        return "search_failed"
    return None if candidates else "no_candidates"


async def _stage_texts(
    candidates: Sequence[Candidate], responses: Sequence[WebSearchResponse], at: Stage
) -> bool:
    """Move the delivered texts to the staging table; False when that failed.

    A search that cannot stage is still a search: only an ingestion would miss the texts.
    """
    texts = {
        url_key(result.url): result.content
        for response in reversed(responses)
        for result in response.results
        if result.content
    }
    staged = [candidate for candidate in candidates if candidate["url_key"] in texts]
    if not staged:
        return True
    try:
        store = await at.context.storage()
        refs = await offload(
            store.staging.put, at.context.tenant(), [texts[c["url_key"]] for c in staged]
        )
    except Exception as error:
        logger.warning("page texts could not be staged", exc_info=loggable(error))
        return False
    for candidate, ref in zip(staged, refs, strict=True):
        candidate["content_ref"] = ref
    return True
