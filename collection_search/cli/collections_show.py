"""`collection-search collections show` and `forget`: what a refresh of a collection repeats."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING, Annotated

import typer

from ..errors import InputError
from .shared.context_options import AsJson, Tenant, search_context
from .shared.stored_collections import NameArgument, find_collection
from .shared.terminal import Screen

if TYPE_CHECKING:
    from ..contracts.crawl_record import CrawlRecord


def show(name: NameArgument, *, tenant: Tenant = None, as_json: AsJson = False) -> None:
    """Show a collection: its figures, and the questions and crawls that a refresh repeats."""
    from ..ports.collections import require_collection

    store, scope = find_collection(name, search_context(tenant_id=tenant))
    info, screen = require_collection(store, scope), Screen(as_json=as_json)
    questions, crawls = store.questions(scope), store.crawls(scope)
    if as_json:
        asked = [record.model_dump(exclude={"url_keys"}) for record in questions]
        run = [
            {**record.model_dump(exclude={"url_keys"}), "pages": len(record.url_keys)}
            for record in crawls
        ]
        screen.json({**info.model_dump(), "questions": asked, "crawls": run})
        return
    screen.line(
        f"Collection {name}: {info.documents} documents, {info.chunks} chunks, {info.waiting}"
        f" waiting, {info.failed} failed; embedder: {info.embedder or 'none (lexical)'}"
    )
    for record in questions:
        screen.line(f"question {record.question}")
    for crawl in crawls:
        screen.line(format_crawl(crawl))


def forget(
    name: NameArgument,
    *,
    question: Annotated[
        str | None, typer.Option(metavar="TEXT", help="Ask this question no more.")
    ] = None,
    crawl: Annotated[
        str | None, typer.Option(metavar="URL", help="Repeat no crawl that starts here.")
    ] = None,
    tenant: Tenant = None,
) -> None:
    """Take a question or a crawl from what a refresh repeats; its pages stay."""
    if (question is None) == (crawl is None):
        raise InputError("What is to be forgotten? Give --question or --crawl.")
    store, scope = find_collection(name, search_context(tenant_id=tenant))
    if question is not None:
        if not store.forget_question(scope, question):
            raise InputError(f"{name!r} has no question {question!r}: see 'collections show'.")
        Screen().line(f"{name!r} is not asked {question!r} any more.")
    if crawl is not None:
        from ..text.urls import normalize_url

        start = normalize_url(crawl)
        crawls = [record for record in store.crawls(scope) if start in record.starts]
        if not crawls:
            raise InputError(f"{name!r} has no crawl from {start}: see 'collections show'.")
        for record in crawls:
            store.forget_crawl(scope, record.starts)
        Screen().line(f"{name!r} is not crawled from {start} any more.")


def format_crawl(record: CrawlRecord) -> str:
    """Return a crawl as a line of text.

    >>> from collection_search.contracts.crawl_record import CrawlRecord
    >>> record = CrawlRecord(starts=["https://a.org/"], depth=2, max_pages=50, exclude=["/old/*"],
    ...     is_pdf=False, url_keys=["a.org"], removed=["a.org/b"])
    >>> format_crawl(record)
    'crawl    https://a.org/ (depth 2, 1 of 50 pages, exclude /old/*, no PDFs, 1 deleted, last \
run 1970-01-01)'
    """
    day = datetime.fromtimestamp(record.last_run_at, UTC).date().isoformat()
    facts = [f"depth {record.depth}", f"{len(record.url_keys)} of {record.max_pages} pages"]
    facts += [f"include {' '.join(record.include)}"] if record.include else []
    facts += [f"exclude {' '.join(record.exclude)}"] if record.exclude else []
    facts += [] if record.is_pdf is None else ["PDFs only" if record.is_pdf else "no PDFs"]
    facts += [f"{len(record.removed)} deleted"] if record.removed else []
    return f"crawl    {' '.join(record.starts)} ({', '.join(facts)}, last run {day})"
