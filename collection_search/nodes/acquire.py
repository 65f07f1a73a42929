"""Get pages to ingest: by one search, from a list, or from a staged session."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, Final

from ..errors import InputError
from ..ports.ledger import require_session
from ..runtime.concurrency import offload
from ..text.redaction import redact_query
from ..text.urls import url_key
from ..tools.search.route import build_route
from .searches import search_report
from .stage import StageRun, stage
from .staging import stage_texts

if TYPE_CHECKING:
    from collections.abc import Iterable

    from ..contracts.ingestion_state import (
        AcquiredPage,
        AcquireUpdate,
        IngestionFlag,
        IngestionOutcome,
    )
    from ..contracts.inputs import IngestionInput
    from ..contracts.search import WebSearchResponse
    from ..contracts.state import SearchReport

MAX_PROVENANCE_BYTES: Final = 16_384
"""Of one page, as JSON."""
OWN_FACTS: Final = frozenset(
    {
        "approved_by",
        "threshold",
        "tenant_id",
        "case_id",
        "workflow_id",
        "run_id",
        "trace_id",
        "invocation_id",
        "ticket_id",
    }
)
"""What this run says itself of a page: who approved it, for whom, and in which run."""


@stage("k_acquire")
async def acquire(state: IngestionInput, run: StageRun) -> AcquireUpdate:
    """Return the validated input and the distinct pages, best first.

    Raises InputError for a session that this tenant does not have, or for too long a provenance.
    """
    if state.session_id is not None:
        return await _from_session(state, run)
    if state.source == "preselected":
        return _update(state, _distinct(_preselected(state, run)))
    return await _from_search(state, run)


async def _from_session(state: IngestionInput, run: StageRun) -> AcquireUpdate:
    store, tenant = await run.context.storage(), run.context.tenant()
    staged = await offload(require_session, store.staging, tenant, str(state.session_id))
    pages: list[AcquiredPage] = [_page(**candidate) for candidate in staged.candidates]
    return _update(state, pages, session_id=staged.session_id)


async def _from_search(state: IngestionInput, run: StageRun) -> AcquireUpdate:
    query = state.query or ""
    route = await build_route(
        run.context, max_results=state.max_results, sink=run.sink, account=run.account
    )
    response = await route.arun(query=query, context=run.context.tool_context(run.ids))
    answers = [(query, response)]
    report = search_report(answers, reason=route.reason, result_count=len(response.results))
    run.emit({"type": "query_finished", "node": run.name, "report": report["queries"][0]})
    pages = _distinct(_found(response, query))
    flags: list[IngestionFlag] = []
    if not await stage_texts(pages, [response], run):
        flags.append("staging_failed")
    outcome: IngestionOutcome | None = None if pages else "no_candidates"
    if report["errors"]:
        outcome = "search_failed"
        run.span.fail(report["errors"][0]["kind"], report["errors"][0]["message"])
    return _update(
        state,
        pages,
        search=report,
        outcome=outcome,
        flags=flags,
        facts={
            "query": redact_query(query, run.context.using().capture_query),
            "provider": report["provider"],
            "request_count": response.outcome.meta["request_count"],
            "cost_usd": run.account.total_search_cost([response]),
        },
    )


def _update(
    state: IngestionInput,
    pages: list[AcquiredPage],
    *,
    search: SearchReport | None = None,
    session_id: str | None = None,
    outcome: IngestionOutcome | None = None,
    flags: Iterable[IngestionFlag] = (),
    facts: dict[str, Any] | None = None,
) -> AcquireUpdate:
    return {
        "source": state.source,
        "mode": state.mode,
        "collection_scope": state.collection_scope,
        "query": state.query,
        "max_results": state.max_results,
        "min_snippet_chars": state.min_snippet_chars,
        "selection": state.selection or ("top_k" if state.source == "search" else "all"),
        "search": search,
        "candidates": pages,
        "dropped": [],
        "session_id": session_id,
        "ingestion": None,
        "outcome": outcome,
        "flags": list(flags),
        "telemetry": {
            "source": state.source or "session",
            "result_count": len(pages),
            "cost_usd": 0.0,
            **(facts or {}),
        },
    }


def _preselected(state: IngestionInput, run: StageRun) -> Iterable[AcquiredPage]:
    for one in state.preselected_results:
        yield _page(
            url=one.url,
            title=one.title,
            snippet=one.snippet,
            content_ref=one.content_ref,
            provenance=_believed(one.url, one.provenance, run.ids["run_id"]),
        )


def _believed(url: str, said: dict[str, Any], run_id: str) -> dict[str, Any]:
    """Return what is taken over of a caller's provenance.

    Who approved a page is believed of the stage of this very run that hands it over: a caller
    from outside cannot know the run's id before it begins.
    """
    size = len(json.dumps(said).encode())
    if size > MAX_PROVENANCE_BYTES:
        raise InputError(
            f"The provenance of {url} has {size} bytes as JSON; {MAX_PROVENANCE_BYTES} are allowed."
        )
    if said.get("run_id") == run_id:
        return said
    return {name: value for name, value in said.items() if name not in OWN_FACTS}


def _found(response: WebSearchResponse, query: str) -> Iterable[AcquiredPage]:
    provider = str(response.outcome.meta["provider"])
    for position, result in enumerate(response.results, start=1):
        said = {
            "query": query,
            "provider": provider,
            "source": result.source,
            "position": position,
            "score": result.score,
            "published_date": result.published_date,
        }
        yield _page(
            url=result.url,
            title=result.title,
            snippet=result.snippet,
            provenance={name: value for name, value in said.items() if value is not None},
        )


def _page(
    *,
    url: str,
    title: str,
    snippet: str,
    content_ref: str | None = None,
    provenance: dict[str, Any],
    **_: Any,
) -> AcquiredPage:
    return {
        "url": url,
        "url_key": url_key(url),
        "title": title,
        "snippet": snippet,
        "content_ref": content_ref,
        "provenance": provenance,
    }


def _distinct(pages: Iterable[AcquiredPage]) -> list[AcquiredPage]:
    found: dict[str, AcquiredPage] = {}
    for page in pages:
        found.setdefault(page["url_key"], page)
    return list(found.values())
