"""Get pages to ingest: by one search, from a list, or from a staged session."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, Final

from ..errors import InputError
from ..ports.staging import require_session
from ..runtime.concurrency import offload
from ..text.redaction import redact_query
from ..text.urls import is_pdf, url_key
from ..tools.search.route import build_route
from .searches import search_heard, search_report
from .stage import StageRun, stage
from .staging import distinct, stage_texts

if TYPE_CHECKING:
    from collections.abc import Iterable

    from ..contracts.ingestion_state import AcquiredPage, AcquireUpdate
    from ..contracts.inputs import IngestionInput
    from ..contracts.search import WebSearchResponse

MAX_PROVENANCE_BYTES: Final = 16_384
"""Largest provenance of one page, as JSON."""
OWN_FACTS: Final = frozenset(
    {
        "approved_by",
        "review",
        "criteria",
        "rules",
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
"""Facts that only the run itself may state: who approved a page, for whom, and in which run."""


@stage("k_acquire")
async def acquire(state: IngestionInput, run: StageRun) -> AcquireUpdate:
    """Return the validated input and the distinct pages, best first.

    Raises InputError for an unknown session of this tenant, or for too large a provenance.
    """
    if state.session_id is not None:
        return await _from_session(state, run)
    if state.source == "preselected":
        return _update(state, await _with_staged_texts(distinct(_preselected(state, run)), run))
    return await _from_search(state, run)


async def _from_session(state: IngestionInput, run: StageRun) -> AcquireUpdate:
    store, tenant = await run.context.storage(), run.context.tenant()
    staged = await offload(require_session, store.staging, tenant, str(state.session_id))
    update = _update(state, [_page(**candidate) for candidate in staged.candidates])
    update["session_id"] = staged.session_id
    return update


async def _from_search(state: IngestionInput, run: StageRun) -> AcquireUpdate:
    query = state.query or ""
    route = await build_route(
        run.context,
        max_results=state.max_results,
        returns_spare=True,  # some of them may be dropped
        sink=run.sink,
        account=run.account,
    )
    response = await search_heard(route, query, run, max_results=state.max_results)
    answers = [(query, response)]
    report = search_report(answers, reason=route.reason, result_count=len(response.results))
    run.emit({"type": "query_finished", "node": run.name, "report": report["queries"][0]})
    pages = distinct(_found(response, query))
    is_staged = await stage_texts(pages, [response], run)
    update = _update(state, pages)
    update["search"] = report
    update["outcome"] = None if pages else "no_candidates"
    update["flags"] = [] if is_staged else ["staging_failed"]
    update["telemetry"] |= {
        "query": redact_query(query, run.context.using().capture_query),
        "provider": report["provider"],
        "request_count": response.outcome.meta["request_count"],
        "cost_usd": run.account.total_search_cost([response]),
    }
    if report["errors"]:
        update["outcome"] = "search_failed"
        run.span.fail(report["errors"][0]["kind"], report["errors"][0]["message"])
    return update


def _update(state: IngestionInput, pages: list[AcquiredPage]) -> AcquireUpdate:
    return {
        "source": state.source,
        "mode": state.mode,
        "collection_scope": state.collection_scope,
        "query": state.query,
        "max_results": state.max_results,
        "min_snippet_chars": state.min_snippet_chars,
        "is_pdf": state.is_pdf,
        "selection": state.selection or ("top_k" if state.source == "search" else "all"),
        "search": None,
        "candidates": pages,
        "dropped": [],
        "session_id": None,
        "ingestion": None,
        "outcome": None,
        "flags": [],
        "telemetry": {
            "source": state.source or "session",
            "result_count": len(pages),
            "cost_usd": 0.0,
        },
    }


def _preselected(state: IngestionInput, run: StageRun) -> Iterable[AcquiredPage]:
    for one in state.preselected_results:
        yield _page(
            url=one.url,
            title=one.title,
            snippet=one.snippet,
            is_pdf=is_pdf(one.url) if one.is_pdf is None else one.is_pdf,
            content_ref=one.content_ref,
            provenance=_trusted(one.url, one.provenance, run.ids["run_id"]),
        )


async def _with_staged_texts(pages: list[AcquiredPage], run: StageRun) -> list[AcquiredPage]:
    """Return the pages; one whose text is not staged any more is fetched, as one without a text.

    A host's person may decide days after the search. The run's own stages have just staged theirs.
    """
    own = run.ids["run_id"]
    named = [p for p in pages if p["content_ref"] and p["provenance"].get("run_id") != own]
    if not named:
        return pages
    store, tenant = await run.context.storage(), run.context.tenant()

    def forget_lost_texts() -> None:
        for page in named:
            if store.staging.get(tenant, str(page["content_ref"])) is None:
                page["content_ref"] = None

    await offload(forget_lost_texts)
    return pages


def _trusted(url: str, stated: dict[str, Any], run_id: str) -> dict[str, Any]:
    """Return the caller's provenance, without `OWN_FACTS` unless a stage of this run is the caller.

    Such a stage is known by the run's id, which nobody outside knows before the run begins.
    """
    size = len(json.dumps(stated).encode())
    if size > MAX_PROVENANCE_BYTES:
        raise InputError(
            f"The provenance of {url} has {size} bytes as JSON; {MAX_PROVENANCE_BYTES} are allowed."
        )
    if stated.get("run_id") == run_id:
        return stated
    return {name: value for name, value in stated.items() if name not in OWN_FACTS}


def _found(response: WebSearchResponse, query: str) -> Iterable[AcquiredPage]:
    provider = str(response.outcome.meta["provider"])
    for position, result in enumerate(response.results, start=1):
        stated = {
            "query": query,
            "provider": provider,
            "source": result.source,
            "position": position,
            "score": result.score,
            "published_date": result.published_date,
            "is_pdf": result.is_pdf or None,
        }
        yield _page(
            url=result.url,
            title=result.title,
            snippet=result.snippet,
            is_pdf=result.is_pdf,
            provenance={name: value for name, value in stated.items() if value is not None},
        )


def _page(
    *,
    url: str,
    title: str,
    snippet: str,
    is_pdf: bool = False,
    content_ref: str | None = None,
    provenance: dict[str, Any],
    **_: Any,
) -> AcquiredPage:
    return {
        "url": url,
        "url_key": url_key(url),
        "title": title,
        "snippet": snippet,
        "is_pdf": is_pdf,
        "content_ref": content_ref,
        "provenance": provenance,
    }
