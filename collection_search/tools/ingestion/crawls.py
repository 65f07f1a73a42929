"""Finds the pages of crawls, remembers crawls with their collection, and repeats them."""

from __future__ import annotations

import logging
from itertools import islice
from typing import TYPE_CHECKING, Any, Final

from ...contracts.crawl_record import CrawlRecord
from ...contracts.ingestion import IngestionItem, IngestionRequest, Priority
from ...contracts.refresh_report import CrawledAgain
from ...errors import CollectionSearchError, InputError
from ...runtime.concurrency import offload, run_blocking
from ...runtime.failure_log import log_failure
from ...text.path_patterns import PathPatterns
from ...text.redaction import redact
from ...text.urls import host_of_key
from ...text.urls import is_pdf as is_pdf_address
from .page_payers import paid_rules
from .sites import MAX_PAGES, collect_pages, deduplicate_urls

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Mapping

    from ...context import SearchContext
    from ...contracts.collection import TenantScope
    from ...ports import Storage

logger = logging.getLogger(__name__)

_KINDS: Final = {True: "PDFs", False: "pages that are no PDFs"}


class FoundPages(list[str]):
    """The pages of a crawl, as normalized URLs; `ingest` remembers their crawl."""

    def __init__(self, urls: Iterable[str], crawl: CrawlRecord) -> None:
        super().__init__(urls)
        self.crawl = crawl


async def find_crawl_pages(
    context: SearchContext,
    starts: Mapping[str, str],
    *,
    on_found: Callable[[int], None] | None = None,
    include: Iterable[str] = (),
    exclude: Iterable[str] = (),
    **rules: Any,
) -> FoundPages:
    """Return the pages that a crawl with these `rules` finds, the starts first.

    The rules are `depth`, `max_pages` and `is_pdf`. Raises InputError for a wrong rule, or when no
    page is of the wanted kind, and ConfigError.
    """
    patterns = PathPatterns.of(include, exclude)
    crawl = CrawlRecord(
        starts=list(starts.values()),
        include=list(patterns.include),
        exclude=list(patterns.exclude),
        **rules,
    )
    found = await _collected(context, crawl, crawl.max_pages, on_found)
    chosen = _of_kind(found, crawl.is_pdf)
    if not chosen and crawl.is_pdf is not None:
        kind = _KINDS[crawl.is_pdf]
        raise InputError(f"There are no {kind} among the {len(found)} pages that were found.")
    return FoundPages(chosen.values(), crawl)


async def without_removed(
    context: SearchContext, scope: TenantScope, pages: Mapping[str, str], crawl: CrawlRecord
) -> dict[str, str]:
    """Return the pages without those that were deleted one by one; starts are asked for by name.

    Raises StoreError.
    """
    if not _has_store(context):
        return dict(pages)
    store = await context.storage()
    removed = _removed(await offload(store.collections.crawls, scope))
    removed -= deduplicate_urls(crawl.starts).keys()
    return {key: url for key, url in pages.items() if key not in removed}


async def record_crawl(
    context: SearchContext, scope: TenantScope, crawl: CrawlRecord, pages: Iterable[str]
) -> None:
    """Store the crawl with the keys of the pages that it found; a failure is logged only.

    A host with its own trigger and without a store does that itself.
    """
    if not _has_store(context):
        return
    try:
        store = await context.storage()
        records = await offload(store.collections.crawls, scope)
        known = [key for one in records if one.starts == crawl.starts for key in one.url_keys]
        keys = list(dict.fromkeys([*known, *pages]))
        crawl = crawl.model_copy(update={"url_keys": keys})
        await offload(store.collections.remember_crawl, scope, crawl)
    except Exception as error:  # noqa: BLE001 - it is logged
        log_failure(logger, "the crawl could not be remembered", error)


async def repeat_crawls(
    context: SearchContext,
    scope: TenantScope,
    *,
    known: Collection[str],
    retired: Collection[str],
    on_progress: Callable[[int, int], None] | None = None,
) -> tuple[list[CrawledAgain], list[str]]:
    """Look for new pages by the collection's crawls; return the results and tickets.

    `known` are the keys of pages that the collection has or gave up. Those in `retired` vanished:
    a refresh asks for them when they are due. Pages that were deleted one by one stay away.
    """
    store = await context.storage()
    records = await offload(store.collections.crawls, scope) if context.fetches() else []
    shunned = _removed(records) | {*retired}
    seen, again, tickets = shunned.union(known), list[CrawledAgain](), list[str]()
    for record in records:
        seen.update(record.url_keys)
        try:
            new = await _new_pages(context, record, seen, shunned, on_progress)
            seen.update(new)
            updated = record.model_copy(update={"url_keys": [*record.url_keys, *new]})
            if not await offload(store.collections.refresh_crawl, scope, updated):
                raise InputError("the crawl was forgotten or run anew while it was repeated")
            if new:  # later than the crawl, so that no page escapes its bound
                tickets.append(await _enqueue(context, store, scope, new))
        except CollectionSearchError as error:
            again.append(CrawledAgain(starts=record.starts, error=redact(str(error))))
            continue
        found, is_full = sorted(new.values()), updated.room == 0
        again.append(CrawledAgain(starts=record.starts, found=found, is_full=is_full))
    return again, tickets


async def _new_pages(
    context: SearchContext,
    record: CrawlRecord,
    seen: Collection[str],
    shunned: Collection[str],
    on_progress: Callable[[int, int], None] | None,
) -> dict[str, str]:
    """Return the pages that a crawl finds now, without those `seen`, as many as it has room for.

    Pages of its sites that are `shunned` take no place. Without room the sites are not read.
    """
    if record.room == 0:
        return {}
    hosts = {host_of_key(key) for key in deduplicate_urls(record.starts)}
    skipped = sum(host_of_key(key) in hosts for key in shunned)
    most = min(MAX_PAGES, record.max_pages + skipped)

    def tell(count: int) -> None:
        if on_progress is not None:
            on_progress(count, most)

    found = _of_kind(await _collected(context, record, most, tell), record.is_pdf)
    return dict(islice((page for page in found.items() if page[0] not in seen), record.room))


async def _enqueue(
    context: SearchContext, store: Storage, scope: TenantScope, pages: Mapping[str, str]
) -> str:
    """Queue new pages and return the ticket; a page that another process queued stays as it is."""
    ids = context.ids()
    facts = context.provenance(ids, approved_by="refresh")
    items = [IngestionItem(url, key, "", None, facts) for key, url in pages.items()]
    request = IngestionRequest(
        scope,
        items,
        run_id=ids["run_id"],
        trace_id=ids["trace_id"],
        known="keep",
        priority=Priority.REFRESH,
        rules=paid_rules(context, ids["run_id"]),
    )
    return (await offload(store.ledger.enqueue, request)).ticket_id


async def _collected(
    context: SearchContext,
    crawl: CrawlRecord,
    most: int,
    on_found: Callable[[int], None] | None,
) -> dict[str, str]:
    patterns = PathPatterns(tuple(crawl.include), tuple(crawl.exclude))

    def fits(url: str) -> bool:  # pages that are no PDFs lead to those that are
        return patterns.fits(url) and not (crawl.is_pdf is False and is_pdf_address(url))

    wanted = collect_pages(
        await context.page_reader(),
        deduplicate_urls(crawl.starts),
        depth=crawl.depth,
        max_pages=most,
        fits=fits,
        on_found=on_found,
    )
    return await offload(run_blocking, wanted)  # on the loop that throttles hosts


def _of_kind(pages: Mapping[str, str], wants_pdf: bool | None) -> dict[str, str]:  # noqa: FBT001
    """Return the pages of the wanted kind, by their addresses."""
    chosen = pages.items()
    return {key: url for key, url in chosen if wants_pdf in {None, is_pdf_address(url)}}


def _removed(records: Iterable[CrawlRecord]) -> set[str]:
    return {key for record in records for key in record.removed}


def _has_store(context: SearchContext) -> bool:
    return context.trigger is None or context.store is not None
