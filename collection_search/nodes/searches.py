"""Reports of searches in the state of a graph."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from ..runtime.unheard import NULL_LISTENER
from ..tools.search.route import reason_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ..contracts.options import SearchOptions
    from ..contracts.search import WebSearchResponse
    from ..contracts.state import QueryReport, SearchFailure, SearchReport
    from ..ports import ToolCall
    from ..tools.search.route import SearchRoute
    from .stage import StageRun

TOOL: Final = "web_search"
"""The tool's name, as listeners know it."""


async def search_heard(
    route: SearchRoute,
    query: str,
    run: StageRun,
    *,
    max_results: int,
    options: SearchOptions | None = None,
) -> WebSearchResponse:
    """Return the response; who listens to the run is told of the search as of a tool's call."""
    async with run.listener.tool(TOOL, {"query": query, "max_results": max_results}) as call:
        context = run.context.tool_context(run.ids)
        response = await route.arun(query=query, context=context, options=options)
        if run.listener is not NULL_LISTENER:
            _tell(response, call)
    return response


def _tell(response: WebSearchResponse, call: ToolCall) -> None:
    meta = response.outcome.meta
    if "error" in meta:
        call.failed(meta["error"]["kind"], meta["error"]["message"])
        return
    results = [
        {"title": result.title, "url": result.url, "snippet": result.snippet, "score": result.score}
        for result in response.results
    ]
    facts = {name: meta.get(name) for name in ("provider", "cost_usd", "latency_ms")}
    call.returned({"results": results, **facts, "cached": bool(meta.get("cached"))})


def search_report(
    answers: Sequence[tuple[str, WebSearchResponse]], *, reason: str, result_count: int
) -> SearchReport:
    """Return how the searches ended, each query with its response.

    `reason` is why their first provider was chosen.
    """
    responses = [response for _, response in answers]
    answering = next((r for r in responses if r.outcome.decision == "ok"), responses[0])
    return {
        "provider": str(answering.outcome.meta["provider"]),
        "provider_reason": reason_of(answering, reason),
        "queries": [query_report(*answer) for answer in answers],
        "errors": [_failure(*answer) for answer in answers if "error" in answer[1].outcome.meta],
        "routing": [
            {
                "query": query,
                "provider": step["provider"],
                "rationale": step["rationale"],
                "latency_ms": step["latency_ms"],
                "cost_usd": step["cost_usd"],
                "message": step["message"],
            }
            for query, response in answers
            for step in response.outcome.meta.get("routing", ())
        ],
        "result_count": result_count,
        "notices": list(dict.fromkeys(n for r in responses for n in r.outcome.meta["notices"])),
    }


def query_report(query: str, response: WebSearchResponse) -> QueryReport:
    """Return how one query ended."""
    meta = response.outcome.meta
    return {
        "query": query,
        "decision": response.outcome.decision,
        "rationale": response.outcome.rationale,
        "result_count": meta["result_count"],
        "latency_ms": meta["latency_ms"],
        "quota_remaining": meta.get("quota_remaining"),
    }


def _failure(query: str, response: WebSearchResponse) -> SearchFailure:
    error = response.outcome.meta["error"]
    return {
        "query": query,
        "rationale": response.outcome.rationale,
        "kind": error["kind"],
        "code": error["code"],
        "message": error["message"],
        "retryable": error["retryable"],
        "http_status": response.outcome.meta.get("http_status"),
        "retry_in_ms": error.get("retry_in_ms"),
    }
