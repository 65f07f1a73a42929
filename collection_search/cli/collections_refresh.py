"""`collection-search collections refresh`: new, changed and vanished pages of a collection."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from ..text.counted import counted
from .shared.context_options import AsJson, MaxCost, Provider, Tenant, search_context
from .shared.exit_codes import ExitCode
from .shared.failed_pages import UningestedPage, warn_of_failed
from .shared.preparation import prepare_provider, release_on_interrupt
from .shared.put_off import format_put_off
from .shared.run_summary import cost_line
from .shared.stored_collections import NameArgument, find_collection
from .shared.terminal import Screen

if TYPE_CHECKING:
    from collections.abc import Iterator

    from ..contracts.refresh_report import AskedAgain, CrawledAgain, RefreshReport


def refresh(
    name: NameArgument,
    *,
    no_search: Annotated[
        bool, typer.Option("--no-search", help="Ask no questions again: nothing is searched.")
    ] = False,
    no_crawl: Annotated[
        bool, typer.Option("--no-crawl", help="Follow no links to new pages.")
    ] = False,
    provider: Provider = None,
    max_cost: MaxCost = None,
    tenant: Tenant = None,
    as_json: AsJson = False,
) -> None:
    """Ask a collection's questions again, repeat its crawls and look at its pages again."""
    screen = Screen(as_json=as_json)
    context = search_context(tenant_id=tenant, provider=provider, max_cost_usd=max_cost)
    store, scope = find_collection(name, context)
    asks = not no_search and bool(store.questions(scope))
    with release_on_interrupt(context):
        if asks:
            prepare_provider(context, screen)
        from ..graphs.refresh import refresh as refreshed

        with screen.bar(f"Looking at {name}") as advance:
            report = refreshed(
                name, context=context, ask=asks, crawl=not no_crawl, on_progress=advance
            )
    if as_json:
        screen.json(report.model_dump())
    else:
        for line in format_report(report, limit=context.cost_limit() if asks else None):
            screen.line(line)
    failed = (*report.failed, *report.unread)
    warn_of_failed([UningestedPage(page.url, page.error) for page in failed], screen)
    for sentence in format_put_off((one.url, one.until, one.reason) for one in report.put_off):
        screen.warn(sentence)
    for asked in report.questions:
        if asked.error:
            screen.warn(f"{asked.question!r} ended with {asked.outcome}: {asked.error}")
        if asked.unreviewed:
            screen.warn(_unreviewed_line(asked))
    for crawl in report.crawls:
        if crawl.error:
            screen.warn(f"The crawl of {', '.join(crawl.starts)} ended early: {crawl.error}")
    raise typer.Exit(_code(report))


def format_report(report: RefreshReport, *, limit: float | None = None) -> Iterator[str]:
    """Yield the report as lines of text.

    >>> from collection_search.contracts.refresh_report import RefreshReport
    >>> for line in format_report(RefreshReport(collection="py", new=["https://a.org/"],
    ...     unchanged=["b"])):
    ...     print(line)
    Collection py: 1 new, 0 changed, 1 unchanged, 0 gone
    new      https://a.org/
    >>> for line in format_report(RefreshReport(collection="py", new=["a", "b"], returned=["b"])):
    ...     print(line)
    Collection py: 2 new (1 returned), 0 changed, 0 unchanged, 0 gone
    new      a
    returned b
    """
    kinds = ("new", "changed", "unchanged", "gone")
    counts = [f"{len(getattr(report, kind))} {kind}" for kind in kinds]
    counts += [f"{len(report.not_looked_at)} not looked at"] if report.not_looked_at else []
    counts[0] += f" ({len(report.returned)} returned)" if report.returned else ""
    counts += [f"{len(report.failed)} failed"] if report.failed else []
    counts += [f"{len(report.unread)} found but not ingested"] if report.unread else []
    counts += [f"{len(report.left)} waiting for 'collection-search worker'"] if report.left else []
    yield f"Collection {report.collection}: {', '.join(counts)}"
    for url in report.new:
        yield f"{'returned' if url in report.returned else 'new':<8} {url}"
    for kind in ("changed", "gone"):
        yield from (f"{kind:<8} {url}" for url in getattr(report, kind))
    yield from (_crawl_line(crawl) for crawl in report.crawls if not crawl.error)
    if providers := sorted({asked.provider for asked in report.questions if asked.provider}):
        yield f"Searched: {', '.join(providers)}"
    yield from cost_line(report.cost_usd, limit=limit, is_complete=report.cost_complete, spared=[])


def _unreviewed_line(asked: AskedAgain) -> str:
    """Return how many pages wait for a person.

    >>> from collection_search.contracts.refresh_report import AskedAgain
    >>> _unreviewed_line(AskedAgain(question="Which tea?", outcome="x", unreviewed=["a", "b"]))
    "'Which tea?' has 2 pages that no review has approved; 'run --review' shows them."
    """
    count = counted(len(asked.unreviewed), "page")
    return f"{asked.question!r} has {count} that no review has approved; 'run --review' shows them."


def _crawl_line(crawl: CrawledAgain) -> str:
    """Return how many new pages a crawl found.

    >>> from collection_search.contracts.refresh_report import CrawledAgain
    >>> _crawl_line(CrawledAgain(starts=["https://a.org/"], found=["https://a.org/b"]))
    'Crawled https://a.org/: 1 new page found'
    """
    count = counted(len(crawl.found), "new page")
    full = "; its --max-pages is reached" if crawl.is_full else ""
    return f"Crawled {', '.join(crawl.starts)}: {count} found{full}"


def _code(report: RefreshReport) -> ExitCode:
    if report.failed or report.left:
        return ExitCode.INGESTION_FAILED
    ended = {asked.outcome for asked in report.questions}
    return ExitCode.PROVIDER_FAILED if ended & {"failed", "search_failed"} else ExitCode.DONE
