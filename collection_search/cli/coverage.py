"""`collection-search coverage`: which questions a collection answers, and what is missing."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Annotated

import typer

from ..errors import InputError
from .shared.context_options import AsJson, Collection, Tenant, search_context
from .shared.exit_codes import ExitCode
from .shared.interruption import ACCEPTED, PAID
from .shared.preparation import release_on_interrupt
from .shared.stored_collections import find_collection
from .shared.terminal import Screen

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ..context import SearchContext
    from ..contracts.coverage import Coverage, UnstoredPage
    from ..contracts.ingestion import TicketStatus
    from .shared.coverage_report import MissingPages


def coverage(
    question: Annotated[
        str | None,
        typer.Argument(metavar="[QUESTION]", help="By default each that filled the collection."),
    ] = None,
    *,
    collection: Collection,
    query: Annotated[
        list[str] | None,
        typer.Option(help="Ask this as well, instead of what was searched for; may be repeated."),
    ] = None,
    ticket: Annotated[
        str | None, typer.Option(help="Wait until the pages of this ticket are ingested.")
    ] = None,
    last: Annotated[
        bool, typer.Option("--last", help="List the last results instead: nothing is asked.")
    ] = False,
    tenant: Tenant = None,
    as_json: AsJson = False,
) -> None:
    """Verify what a collection answers, and list what is missing.

    The exit code is 0 when all is answered and 3 when there is a gap. Pages that failed are
    listed and do not change it.
    """
    from .shared.coverage_report import coverage_steps, format_coverage, format_missing

    screen, context = Screen(as_json=as_json), search_context(tenant_id=tenant)
    find_collection(collection, context)
    if last:
        _list_last(collection, context, screen)
        return
    questions = _remembered(collection, query, context) if question is None else [question]
    with release_on_interrupt(context, says=PAID if ticket is None else ACCEPTED):
        found = _verified(
            questions, context, screen, collection=collection, queries=query or (), ticket=ticket
        )
    missing = _missing_pages(collection, found[0], context)
    if as_json:
        screen.json({"collection": collection, "questions": found, **missing._asdict()})
    else:
        steps = coverage_steps(found, missing, collection=collection, tenant=tenant)
        report = format_coverage(found, width=screen.text_width)
        unstored = format_missing(found[0], missing, width=screen.text_width)
        for line in (*report, *unstored, *steps):
            screen.line(line)
    if any(one["gaps"] for one in found):
        raise typer.Exit(ExitCode.NOTHING_FOUND)


def _list_last(collection: str, context: SearchContext, screen: Screen) -> None:
    """Print the last result of each question that filled the collection; secrets are masked."""
    from ..tools.ingestion.questions import shown_record
    from .shared.coverage_report import last_rows

    store, scope = find_collection(collection, context)
    records = [shown_record(one) for one in store.questions(scope)]
    if screen.as_json:
        found = [one.model_dump(include={"question", "coverage"}) for one in records]
        screen.json({"collection": collection, "questions": found})
        return
    for row in last_rows(records):
        screen.line(row)
    if not records:
        screen.note(f"{collection!r} was not filled by a question.")


def _remembered(collection: str, queries: list[str] | None, context: SearchContext) -> list[str]:
    """Return the questions that filled the collection. Raises InputError where there are none."""
    if queries:
        raise InputError("--query goes with a QUESTION: give the question that it belongs to.")
    store, scope = find_collection(collection, context)
    if questions := [record.question for record in store.questions(scope)]:
        return questions
    raise InputError(
        f"{collection!r} was not filled by a question, so there is none to verify: give one."
    )


def _verified(
    questions: Sequence[str],
    context: SearchContext,
    screen: Screen,
    *,
    collection: str,
    queries: Sequence[str],
    ticket: str | None,
) -> list[Coverage]:
    """Return the coverage of each question; the ticket's pages are ingested before the first."""
    from ..runtime.concurrency import run_blocking
    from ..tools.coverage.verification import averify_shown

    found: list[Coverage] = []
    with screen.bar("Verifying" if ticket is None else "Ingesting") as advance:

        def show(status: TicketStatus) -> None:
            advance(status.count - status.left(fetch=True), status.count)

        for question in questions:
            verifying = averify_shown(
                question,
                collection=collection,
                queries=queries,
                ticket=None if found else ticket,
                context=context,
                on_progress=show,
            )
            found.append(run_blocking(verifying))
    return found


def _missing_pages(collection: str, first: Coverage, context: SearchContext) -> MissingPages:
    """Return the pages of the ticket that are not stored, else those of the collection."""
    from ..ports.collections import require_collection
    from .shared.coverage_report import MissingPages

    if (ingestion := first["ingestion"]) is not None:
        return MissingPages(ingestion["unstored"], ingestion["pending"])
    store, scope = find_collection(collection, context)
    ledger = asyncio.run(context.storage()).ledger
    failed: list[UnstoredPage] = [
        {"url": one.url, "title": one.title, "state": "failed", "reason": one.error}
        for one in ledger.dead_letters(scope.tenant_id, collection=collection)
    ]
    return MissingPages(failed, require_collection(store, scope).waiting)
