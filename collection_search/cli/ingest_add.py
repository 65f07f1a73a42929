"""`collection-search ingest add`: ingest pages by their URLs."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Annotated, Any, Final

import typer

from ..errors import InputError
from .shared.context_options import AsJson, CaseNumber, MaxCost, NoWait, Pdf, Tenant, search_context
from .shared.exit_codes import ExitCode, Interrupted
from .shared.preparation import release_on_interrupt
from .shared.terminal import Screen
from .shared.ticket_progress import wait_with_bar

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ..context import SearchContext
    from ..contracts.ingestion import TicketStatus
    from ..tools.ingestion.crawls import FoundPages

WAIT_S: Final = 3600.0

_PAGE_FIELDS: Final = {"url", "title", "state", "change", "error", "put_off_until"}


def add(
    urls: Annotated[
        list[str] | None, typer.Argument(metavar="URL...", help="Pages to ingest.")
    ] = None,
    *,
    collection: Annotated[
        str | None, typer.Option("--collection", "-c", help="Name of the collection.")
    ] = None,
    depth: Annotated[
        int, typer.Option(min=0, max=10, help="Follow links of the same site over so many steps.")
    ] = 0,
    max_pages: Annotated[
        int | None,
        typer.Option(
            min=1, max=10_000, help="How many pages are ingested at most then; by default 100."
        ),
    ] = None,
    include: Annotated[
        list[str] | None,
        typer.Option(metavar="PATTERN", help="Follow only links to such paths, as '/docs/*'."),
    ] = None,
    exclude: Annotated[
        list[str] | None,
        typer.Option(metavar="PATTERN", help="Follow no links to such paths, as '*/archive/*'."),
    ] = None,
    pdf: Pdf = None,
    session: Annotated[
        str | None, typer.Option(help="Ingest what was staged under this id instead.")
    ] = None,
    no_wait: NoWait = False,
    max_cost: MaxCost = None,
    tenant: Tenant = None,
    case: CaseNumber = None,
    as_json: AsJson = False,
) -> None:
    """Fetch pages and ingest them."""
    from ..tools.ingest import MAX_PAGES, ingest

    follows = bool(urls and depth)
    if (include or exclude or max_pages or pdf is not None) and not follows:
        raise InputError(
            "--max-pages, --include, --exclude, --pdf and --no-pdf choose among the pages that"
            " --depth finds: add it."
        )
    found: Sequence[str] = urls or ()
    _refuse_files(found)
    context = search_context(tenant_id=tenant, case_id=case, max_cost_usd=max_cost)
    screen = Screen(as_json=as_json)
    with release_on_interrupt(context):
        if follows and (collection or session):
            found = _found(
                found,
                context,
                screen,
                depth=depth,
                max_pages=max_pages or MAX_PAGES,
                include=include or (),
                exclude=exclude or (),
                is_pdf=pdf,
            )
        ticket = ingest(
            found,
            collection=collection,
            session=session,
            context=context,
            work=not no_wait,
        )
        status = wait_with_bar(ticket, context, screen, timeout_s=0.0 if no_wait else WAIT_S)
    raise typer.Exit(_print_status(status, screen, waited=not no_wait))


def _refuse_files(urls: Sequence[str]) -> None:
    """Raise InputError for a file of this machine: pages are read from the web."""
    for url in urls:
        if url.startswith("file:") or os.path.exists(url):  # noqa: PTH110 - it need not be a path
            raise InputError(
                f"{url!r} is on this machine, and 'ingest add' reads pages of the web. To search a"
                " folder of files: 'collection-search corpus add FOLDER'. To store texts of your"
                " own: CollectionVectorStore.add_texts, in Python."
            )


def _found(
    urls: Sequence[str], context: SearchContext, screen: Screen, *, max_pages: int, **rules: Any
) -> FoundPages:
    """Return the pages of the sites, with a progress bar; nothing is accepted meanwhile."""
    from ..tools.ingest import find_pages

    try:
        with screen.bar("Looking for pages") as advance:
            return find_pages(
                urls,
                max_pages=max_pages,
                **rules,
                context=context,
                on_found=lambda count: advance(count, max_pages),
            )
    except KeyboardInterrupt:
        raise Interrupted(
            "Interrupted while looking for pages: none was accepted yet. To start over, run the"
            " command again."
        ) from None


def _print_status(status: TicketStatus, screen: Screen, *, waited: bool) -> ExitCode:
    from .shared.failed_pages import dead_pages, warn_of_failed
    from .shared.put_off import format_put_off, put_off_pages
    from .shared.run_summary import count_changes, format_changes, format_queued

    left = status.left(fetch=True)
    if screen.as_json:
        pages = [row.model_dump(include=_PAGE_FIELDS) for row in status.rows]
        screen.json({**status.model_dump(exclude={"rows"}), "pages": pages})
    else:
        changes = format_changes(count_changes(status.rows))
        parts = [f"{status.stored} of {status.count} pages stored{changes}"]
        parts += [f"{left} waiting for 'collection-search worker'"] if left else []
        parts += [f"{status.failed} failed"] if status.failed else []
        parts += [f"{status.retired} gone"] if status.retired else []
        text = format_queued(left) if left and left == status.count else ", ".join(parts)
        screen.line(f"Collection {status.collection}: {text}")
    for sentence in format_put_off(put_off_pages(status.rows if waited else ())):
        screen.warn(sentence)
    warn_of_failed(dead_pages(status.rows), screen)
    for row in status.rows:
        if row.state == "retired":
            screen.warn(f"{row.url} was there before and is no more: {row.error}")
    is_partial = status.failed or status.retired or (waited and left)
    return ExitCode.INGESTION_FAILED if is_partial else ExitCode.DONE
