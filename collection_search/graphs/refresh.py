"""Refresh of a collection: questions, crawls and pages are asked for again."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from ..contracts.collection import TenantScope
from ..contracts.refresh_report import (
    AskedAgain,
    CrawledAgain,
    FailedPage,
    PutOffPage,
    RefreshReport,
)
from ..errors import CollectionSearchError, ConfigError, InputError
from ..ports.collections import require_collection
from ..runtime.concurrency import blocking, offload
from ..settings.collection_embedder import restore_embedder
from ..text.redaction import redact
from ..text.urls import url_key
from ..tools.criteria.refused_pages import reason_against
from ..tools.ingest import engine_for
from ..tools.ingestion.crawls import repeat_crawls
from ..tools.ingestion.page_payers import paid_rules
from ..tools.ingestion.questions import choose_pages, shown_record
from ..tools.public_arguments import context_for, validate_arguments
from ..tools.spending.run_spendings import share_ceiling
from ..tools.tickets import wait_for_all
from .collection_search import CollectionSearchGraph
from .universal_ingestion import UniversalIngestionGraph

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from ..context import SearchContext
    from ..contracts.collection import QuestionRecord
    from ..contracts.ingestion import RowStatus
    from ..contracts.page_choice import PageChoice
    from ..ports import Storage

_UNDER_WAY: Final = frozenset({"waiting", "to_fetch", "working"})
_AT_ONCE: Final = 50
"""Documents that are read at once."""
_ALL_LETTERS: Final = 1_000_000


async def arefresh(
    collection: str,
    *,
    tenant: str | None = None,
    context: SearchContext | None = None,
    ask: bool = True,
    crawl: bool = True,
    timeout_s: float = 600.0,
    on_progress: Callable[[int, int], None] | None = None,
) -> RefreshReport:
    """Return what is new, changed, unchanged, gone and failed since the collection was filled.

    Its questions are asked again, unless `ask` is False, and what they find is ingested again. A
    question whose pages a review has chosen brings no new ones, and the others whatever they score
    now; what only a review could take is in the report as `unreviewed`. Without questions nothing
    is searched. Its crawls look for new pages, unless `crawl` is False, within their bounds:
    `max_pages` is for all runs of a crawl together. A page that was deleted by itself comes back
    neither way.

    The ceiling of the cost is for all of this together. A page that it leaves unembedded stays as
    it was, and is among the failed ones.

    Every stored page that was fetched is requested again, conditionally where its site allows it.
    A page that vanished leaves the collection. It is requested again after 7 days, then less and
    less often, at last every 180 days; if it comes back, it is listed as `returned`. A page whose
    ingestion failed for good before it was stored is not tried again.

    It waits as long as pages finish: `timeout_s` is the longest time without one. It ends when no
    page is due within a minute; those are in `left` and `put_off`.

    Results are ranked with the embedder that filled the collection, unless the context names
    another. `on_progress` is called in another thread with the number of pages that are done and of
    all pages, before that with those that a crawl has found and its limit. `tenant` is by default
    the context's, else the settings'. `refresh` blocks; `arefresh` is its coroutine.

    Raises InputError for an unknown collection, also where it is deleted meanwhile, ConfigError,
    StoreError. A question, crawl or page that fails is in the report.
    """
    validate_arguments(
        collection=collection, ask=ask, crawl=crawl, timeout_s=timeout_s, on_progress=on_progress
    )
    context = context_for(context, tenant).model_copy(update={"asks_anew": True})
    run_id = context.ids()["run_id"]
    store, scope = await context.storage(), TenantScope(context.tenant(), collection)
    engine = await engine_for(context)  # one engine throughout: it remembers hosts and models
    await offload(require_collection, store.collections, scope)
    before = await offload(store.collections.hashes, scope)
    dead = await offload(
        store.ledger.dead_letters, scope.tenant_id, collection=collection, limit=_ALL_LETTERS
    )
    given_up = {letter.url_key for letter in dead}
    retired = await offload(store.ledger.retired, scope)
    crawled, tickets = list[CrawledAgain](), list[str]()
    if crawl:  # before the pages are fetched: those that are read for their links are kept
        crawled, tickets = await repeat_crawls(
            context.model_copy(update={"run_id": run_id}),
            scope,
            known=before.keys() | given_up,
            retired=retired,
            on_progress=on_progress,
        )
    if crawled:  # that took its time
        await offload(require_collection, store.collections, scope)
    keys, addresses = await offload(_fetched, store, scope, list(before))
    keys += await offload(store.ledger.retired, scope, due=True)
    rules = paid_rules(context, run_id)
    looked = await offload(store.ledger.refetch, scope, url_keys=keys, rules=rules)
    tickets.append(looked.ticket_id)
    engine.start()
    asked: list[AskedAgain] = []
    if ask:
        asked, more = await _ask_questions(store, scope, context, run_id, before)
        tickets += more
    try:
        rows = await offload(_wait_for_all, tickets, context, timeout_s, on_progress)
    except InputError:  # a ticket is gone
        await offload(require_collection, store.collections, scope)
        raise
    after = await offload(store.collections.hashes, scope)
    rows = {key: row for key, row in rows.items() if key in before or key not in given_up}
    report = _report(collection, asked, rows, before, after, retired=retired, addresses=addresses)
    return report.model_copy(update={"crawls": crawled})


refresh = blocking(arefresh, "refresh")
"""`arefresh` for code without an event loop."""


def _fetched(
    store: Storage, scope: TenantScope, keys: Sequence[str]
) -> tuple[list[str], dict[str, str]]:
    """Return the stored pages that were fetched, here or before an export, and all addresses.

    A text that a provider delivered comes again with its question; fetching could only lose it.
    """
    fetched: list[str] = []
    addresses: dict[str, str] = {}
    for start in range(0, len(keys), _AT_ONCE):
        for stored in store.collections.get(scope, keys[start : start + _AT_ONCE]):
            addresses[stored.document.url_key] = stored.document.url
            if "page_kind" in stored.document.provenance:  # an export has no fetch times
                fetched.append(stored.document.url_key)
    return fetched, addresses


async def _with_stored_embedder(
    store: Storage, scope: TenantScope, context: SearchContext
) -> SearchContext:
    """Return the context with the collection's own embedder, unless the context names one."""
    if context.embeddings is not None:
        return context
    filled = await offload(store.collections.embedder, scope)
    if filled is None:
        return context
    embedder = await offload(restore_embedder, context.using(), filled, context.http_client)
    return context.model_copy(update={"embeddings": embedder}) if embedder else context


async def _ask_questions(
    store: Storage, scope: TenantScope, context: SearchContext, run_id: str, stored: Iterable[str]
) -> tuple[list[AskedAgain], list[str]]:
    """Ask the collection's questions again; return how they ended, and the tickets."""
    asked, tickets = list[AskedAgain](), list[str]()
    questions = await offload(store.collections.questions, scope)
    ranking = await _with_stored_embedder(store, scope, context) if questions else context
    for record in questions:
        choice = await offload(choose_pages, store.gates, scope, record, stored)
        part = (await _part_of(ranking, run_id)).model_copy(update={"page_choice": choice})
        again, ticket = await _ask_again(record, part, scope.collection)
        asked.append(again)
        tickets += [ticket] if ticket else []
    return asked, tickets


async def _part_of(context: SearchContext, run_id: str) -> SearchContext:
    """Return the context of one question: a run of its own under the ceiling of the refresh."""
    own = context.ids()["run_id"]
    await share_ceiling(context, own, with_run=run_id)
    return context.model_copy(update={"run_id": own})


async def _ask_again(
    record: QuestionRecord, context: SearchContext, collection: str
) -> tuple[AskedAgain, str | None]:
    """Ask a question as before; return how it ended and the ticket of its pages."""
    shown = shown_record(record).question
    try:
        output = await _run(record, _with_provider(context, record), collection)
    except CollectionSearchError as error:
        cause = redact(str(error))
        return AskedAgain(question=shown, outcome="failed", error=cause), None
    receipt = output["ingestion"] or {}
    failures = [*(output["search"] or {}).get("errors", ()), receipt.get("error")]
    why = next((failure["message"] for failure in failures if failure), None)
    telemetry = output["telemetry"] or {}
    asked = AskedAgain(
        question=shown,
        outcome=output["outcome"],
        error=why,
        provider=(output["search"] or {}).get("provider"),
        cost_usd=telemetry.get("cost_usd", 0.0),
        cost_complete=telemetry.get("cost_complete", True),
        unreviewed=_unreviewed(record, context.page_choice, output),
    )
    return asked, receipt.get("ticket")


def _with_provider(context: SearchContext, record: QuestionRecord) -> SearchContext:
    """Return the context with the question's own provider, unless the context names one.

    Raises ConfigError where that was an object.
    """
    if context.provider is not None or record.provider is None:
        return context
    if record.is_provider_live:
        raise ConfigError(
            f"The question was asked of {record.provider!r}, an object of the program that asked."
            " Refresh it there with the same object as `provider`, or name another provider."
        )
    return context.model_copy(update={"provider": record.provider})


async def _run(record: QuestionRecord, context: SearchContext, collection: str) -> Any:
    if record.auto_ingest_min_score is None:  # asked by a search alone, without ranking
        given = {
            "source": "search",
            "query": record.question,
            "collection_scope": collection,
            "max_results": record.auto_ingest_top_k or 10,
            "is_pdf": record.is_pdf,
        }
        return await UniversalIngestionGraph(context).arun(given)
    question = {
        "question": record.question,
        "collection_scope": collection,
        "purpose": record.purpose,
        "quality_mode": record.quality_mode,
        "max_candidates": record.max_candidates,
        "is_pdf": record.is_pdf,
        "criteria": record.criteria,
        "auto_ingest": True,
        "auto_ingest_top_k": record.auto_ingest_top_k or 10,
        "auto_ingest_min_score": record.auto_ingest_min_score,
    }
    return (await CollectionSearchGraph(context).arun(question))[1]


def _unreviewed(record: QuestionRecord, choice: PageChoice, output: Mapping[str, Any]) -> list[str]:
    """Return the results of a reviewed question that only a review could take."""
    return [
        result["url"]
        for result in output.get("results") or []
        if result["embedding_rank_score"] >= (record.auto_ingest_min_score or 0)
        and not reason_against(result)
        and choice.needs_review(url_key(result["url"]))
    ]


def _wait_for_all(
    tickets: Sequence[str],
    context: SearchContext,
    timeout_s: float,
    on_progress: Callable[[int, int], None] | None,
) -> dict[str, RowStatus]:
    """Wait for all tickets as long as pages finish, and return their pages by key."""
    statuses = wait_for_all(tickets, timeout_s, context=context, on_progress=on_progress)
    return {row.url_key: row for status in statuses for row in status.rows}


def _report(
    collection: str,
    asked: list[AskedAgain],
    rows: dict[str, RowStatus],
    before: dict[str, str],
    after: dict[str, str],
    *,
    retired: Sequence[str],
    addresses: Mapping[str, str],
) -> RefreshReport:
    """Compare what was stored before with what is now."""

    def urls(*keys: str) -> list[str]:
        return sorted(rows[key].url if key in rows else addresses.get(key, key) for key in keys)

    failed = {key: row for key, row in rows.items() if row.state == "dead"}
    left = {key: row for key, row in rows.items() if row.state in _UNDER_WAY}
    retitled = {
        key for key, row in rows.items() if row.state == "stored" and row.change == "changed"
    }
    same = {key for key in before.keys() & after.keys() if before[key] == after[key]} - retitled
    new = after.keys() - before.keys()
    texts = {after[key] for key in rows if key in after}
    seen = {key for key in same if key in rows or before[key] in texts}
    return RefreshReport(
        collection=collection,
        questions=asked,
        new=urls(*new),
        returned=urls(*new.intersection(retired)),
        changed=urls(*(before.keys() & after.keys() - same)),
        unchanged=urls(*(seen - failed.keys() - left.keys())),
        not_looked_at=urls(*(same - seen)),
        gone=urls(*(before.keys() - after.keys())),
        failed=_failed_pages(row for key, row in failed.items() if key in before),
        unread=_failed_pages(row for key, row in failed.items() if key not in before),
        left=urls(*left),
        put_off=[
            PutOffPage(url=row.url, until=row.put_off_until, reason=row.error or "")
            for row in sorted(left.values(), key=lambda row: row.url)
            if row.put_off_until is not None
        ],
    )


def _failed_pages(rows: Iterable[RowStatus]) -> list[FailedPage]:
    pages = (FailedPage(url=row.url, error=row.error or "") for row in rows)
    return sorted(pages, key=lambda page: page.url)
