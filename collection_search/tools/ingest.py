"""The public functions of ingestion: start it for some pages, and get a ticket."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass, replace
from typing import TYPE_CHECKING, Any, Final

from ..context import SearchContext
from ..contracts.collection import TenantScope
from ..contracts.ingestion import IngestionItem, IngestionRequest, Ticket
from ..errors import CollectionSearchError, IngestError, InputError
from ..ports.staging import require_session
from ..runtime.concurrency import blocking, compute, offload, run_blocking
from ..text.loose_keys import current_key
from .ingestion.crawls import FoundPages, find_crawl_pages, record_crawl, without_removed
from .ingestion.embedders import bind_to
from .ingestion.engine import IngestionEngine
from .ingestion.page_payers import paid_rules
from .ingestion.process_engines import engine_of
from .ingestion.sites import deduplicate_urls
from .ingestion.storage_rights import apply_storage_rights
from .public_arguments import context_for, validate_arguments, validate_texts

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from ..contracts.ingestion import StagedSession
    from ..ports import Embedder, SpanSink, Storage
    from ..settings import Settings
    from .ingestion.engine import ReaderSource

__all__ = [
    "IngestionEngine",
    "LedgerTrigger",
    "afind_pages",
    "aingest",
    "engine_for",
    "engine_of",
    "find_pages",
    "ingest",
    "staged_items",
]

MAX_PAGES: Final = 100
"""Default limit of pages of one ingestion with a `depth`."""


@dataclass(frozen=True)
class LedgerTrigger:
    """Writes the pages into the ledger and, with `wake`, starts workers in this process.

    Implements `collection_search.ports.IngestionTrigger`. A new collection is bound to the
    embedder; without one it is searched by its words alone. A provider's text that may not be
    stored is left out, and its page is fetched by a worker with a `reader`. The `payer` pays for
    embedding, by default that of the settings; its ceiling travels with the pages.
    """

    store: Storage
    settings: Settings
    _: KW_ONLY
    embedder: Embedder | None = None
    reader: ReaderSource | None = None
    sink: SpanSink | None = None
    wake: bool = True
    payer: SearchContext | None = None

    @classmethod
    async def of(cls, context: SearchContext, *, wake: bool = True) -> LedgerTrigger:
        """Return a trigger with everything that the context has. Raises ConfigError, StoreError."""
        return cls(
            await context.storage(),
            context.using(),
            embedder=await context.embedder(),
            reader=context.page_reader if context.fetches() else None,
            sink=await context.sink(),
            wake=wake,
            payer=context,
        )

    @classmethod
    def from_settings(cls, settings: Settings, *, wake: bool = True) -> LedgerTrigger:
        """Return a trigger on the configured store and embedder. Raises ConfigError, StoreError."""
        return run_blocking(cls.of(SearchContext(settings=settings), wake=wake))

    async def trigger(self, request: IngestionRequest) -> Ticket:
        """Return the durable receipt. Raises `IngestError`; nothing was accepted then."""
        items = apply_storage_rights(request.items, self.settings)
        payer = self.payer or SearchContext(settings=self.settings)
        rules = request.rules or paid_rules(payer, request.run_id or "")
        request = replace(request, items=items, rules=rules)
        try:
            if self.reader is not None and any(not item.content_ref for item in request.items):
                await self.reader(rules)  # raises for a wrong setting before pages are accepted
            return await offload(self._accept, request)
        except CollectionSearchError as error:
            raise IngestError(f"The ingestion could not be started. {error}") from error

    def engine(self) -> IngestionEngine:
        """Return the process's engine with everything that the trigger has."""
        return engine_of(
            self.store,
            self.settings,
            self.embedder,
            reader=self.reader,
            sink=self.sink,
            payer=self.payer,
        )

    def _accept(self, request: IngestionRequest) -> Ticket:
        engine = self.engine()
        if self.embedder is not None:
            bind_to(self.store.collections, request.scope, self.embedder)
        if not self.wake:
            return self.store.ledger.enqueue(request)
        engine.embedder_of(request.scope)
        ticket = self.store.ledger.enqueue(request)
        engine.start()
        return ticket


async def aingest(
    urls: Sequence[str] = (),
    *,
    collection: str | None = None,
    tenant: str | None = None,
    session: str | None = None,
    depth: int = 0,
    max_pages: int = MAX_PAGES,
    include: Sequence[str] = (),
    exclude: Sequence[str] = (),
    is_pdf: bool | None = None,
    context: SearchContext | None = None,
    work: bool = True,
) -> Ticket:
    """Return the ticket of a started ingestion of these pages; `wait` waits for it.

    Stored pages are fetched again, by a conditional request where the site supports it: each row
    of the ticket's status says what changed.

    With a `depth`, linked pages of the same sites follow, up to `max_pages` in all, and the
    collection remembers the crawl: `refresh` repeats it. `include` and `exclude` choose among the
    linked pages by patterns of their paths, such as `/docs/*`: see
    `collection_search.text.path_patterns`. `is_pdf` chooses PDFs or everything else. What
    `find_pages` returned is ingested in the same way. Pages that were deleted one by one are left
    out unless they are named.

    `session` ingests the pages that the graph `universal_ingestion`
    staged, by default into the session's collection. With `work=False` workers of other processes
    do the work. `tenant` is by default the context's, else the settings'. `ingest` blocks, inside
    a running event loop too; `aingest` is its coroutine.

    Raises InputError for a wrong URL, name or session, IngestError, ConfigError.
    """
    validate_arguments(session=session, depth=depth, max_pages=max_pages, is_pdf=is_pdf, work=work)
    rules = _crawl_rules(depth, max_pages, include, exclude, is_pdf)
    context = context_for(context, tenant)
    crawl = urls.crawl if isinstance(urls, FoundPages) else None
    addresses = await compute(deduplicate_urls, _listed(urls))
    staged = None if session is None else await _session(context, session)
    if collection is None and staged is not None:
        collection = staged.collection
    if collection is None:
        raise InputError("Into which collection? Give its name.")
    validate_arguments(collection=collection)
    if not addresses and staged is None:
        raise InputError("Give the URLs to ingest, or the session that staged them.")
    scope = TenantScope(context.tenant(), collection)
    if addresses and context.fetches():
        await context.page_reader()  # raises for a wrong setting before pages are accepted
    if depth:
        found = await find_crawl_pages(context, addresses, **rules)
        crawl, addresses = found.crawl, deduplicate_urls(found)
    if crawl is not None:
        addresses = await without_removed(context, scope, addresses, crawl)
    ids = context.ids()
    shared = context.provenance(ids, approved_by="ingest")
    items = staged_items(staged.candidates, shared) if staged else []
    items += [IngestionItem(url, key, "", None, shared) for key, url in addresses.items()]
    request = IngestionRequest(
        scope, items, run_id=ids["run_id"], trace_id=ids["trace_id"], known="renew"
    )
    context = context.model_copy(update={"ingests": work and context.ingests})
    ticket = await (await context.ledger_trigger()).trigger(request)
    if staged is not None:
        store = await context.storage()
        await offload(store.staging.close_session, context.tenant(), staged.session_id)
    if crawl is not None:
        await record_crawl(context, scope, crawl, addresses)
    return ticket


ingest = blocking(aingest, "ingest")
"""`aingest` for code without an event loop."""


async def afind_pages(
    urls: Sequence[str],
    *,
    depth: int,
    max_pages: int = MAX_PAGES,
    include: Sequence[str] = (),
    exclude: Sequence[str] = (),
    is_pdf: bool | None = None,
    context: SearchContext | None = None,
    on_found: Callable[[int], None] | None = None,
) -> FoundPages:
    """Return the pages that `ingest` would ingest with these arguments, as normalized URLs.

    `on_found` gets how many are known so far. `find_pages` blocks, `afind_pages` is its coroutine.
    Raises InputError, ConfigError.
    """
    validate_arguments(depth=depth, max_pages=max_pages, is_pdf=is_pdf, on_found=on_found)
    rules = _crawl_rules(depth, max_pages, include, exclude, is_pdf)
    context = context_for(context, None)
    addresses = await compute(deduplicate_urls, _listed(urls))
    return await find_crawl_pages(context, addresses, **rules, on_found=on_found)


find_pages = blocking(afind_pages, "find_pages")
"""`afind_pages` for code without an event loop."""


def _listed(urls: Sequence[str]) -> list[str]:
    return [urls] if isinstance(urls, str) else validate_texts("urls", urls)


def _crawl_rules(
    depth: int,
    max_pages: int,
    include: Sequence[str],
    exclude: Sequence[str],
    is_pdf: bool | None,  # noqa: FBT001
) -> dict[str, Any]:
    """Return the validated rules of a crawl. Raises InputError."""
    patterns = {
        "include": validate_texts("include", include),
        "exclude": validate_texts("exclude", exclude),
    }
    if not depth and (is_pdf is not None or any(patterns.values())):
        raise InputError(
            "include, exclude and is_pdf choose among the pages that a crawl finds: give a depth."
        )
    return {"depth": depth, "max_pages": max_pages, "is_pdf": is_pdf, **patterns}


def staged_items(
    candidates: Iterable[Mapping[str, Any]], shared: Mapping[str, Any]
) -> list[IngestionItem]:
    """Return staged candidates as pages to ingest; their own provenance wins over the `shared`."""
    return [
        IngestionItem(
            url=one["url"],
            url_key=current_key(one["url"], one["url_key"]),
            title=one["title"],
            content_ref=one["content_ref"],
            provenance={**shared, **one["provenance"]},
        )
        for one in candidates
    ]


async def engine_for(context: SearchContext) -> IngestionEngine:
    """Return the process's engine for the context. Raises ConfigError, StoreError."""
    return (await LedgerTrigger.of(context)).engine()


async def _session(context: SearchContext, session_id: str) -> StagedSession:
    store, tenant = await context.storage(), context.tenant()
    return await offload(require_session, store.staging, tenant, session_id)
