"""`collection-search ingest`: add pages, list failed pages and retry them."""

from __future__ import annotations

import asyncio
from itertools import groupby
from typing import TYPE_CHECKING, Annotated

import typer

from .ingest_add import add
from .shared.context_options import AsJson, MaxCost, Tenant, search_context
from .shared.failed_pages import UningestedPage, format_failed
from .shared.near_names import SuggestingGroup
from .shared.stored_collections import find_collection
from .shared.terminal import Screen

if TYPE_CHECKING:
    from ..context import SearchContext
    from ..ports import Ledger

app = typer.Typer(
    cls=SuggestingGroup, add_completion=False, rich_markup_mode=None, no_args_is_help=True
)

OneCollection = Annotated[
    str | None,
    typer.Option("--collection", "-c", help="Of this collection only; by default of all."),
]


@app.callback()
def ingest() -> None:
    """Add pages to a collection; try failed ones again."""


app.command()(add)


@app.command()
def failed(
    *, collection: OneCollection = None, tenant: Tenant = None, as_json: AsJson = False
) -> None:
    """List the pages that were given up, and why."""
    ledger, owner = _ledger(search_context(tenant_id=tenant), collection)
    screen, letters = Screen(as_json=as_json), ledger.dead_letters(owner, collection=collection)
    if as_json:
        pages = [letter.model_dump(exclude={"url_key"}) for letter in letters]
        screen.json({"tenant": owner, "pages": pages})
        return
    for name, given_up in groupby(letters, key=lambda letter: letter.collection):
        failed_pages = [UningestedPage(letter.url, letter.error) for letter in given_up]
        screen.line(f"Collection {name}: {len(failed_pages)} given up", style="bold")
        for line in format_failed(failed_pages, width=screen.table_width):
            screen.line(line)
        screen.line()
    if not letters:
        screen.note("No page was given up.")


@app.command("retry-failed")
def retry_failed(
    *, collection: OneCollection = None, max_cost: MaxCost = None, tenant: Tenant = None
) -> None:
    """Put the pages that were given up back into the queue.

    With --max-cost those that the ceiling of their run stopped go on: it is the new ceiling of each
    run, with what it has spent.
    """
    from ..contracts.collection import TenantScope
    from ..tools.ingestion.page_payers import paid_rules

    context, screen = search_context(tenant_id=tenant, max_cost_usd=max_cost), Screen()
    ledger, owner = _ledger(context, collection)
    scope = owner if collection is None else TenantScope(owner, collection)
    pages = ledger.retry_failed(scope, rules=paid_rules(context))
    screen.line(f"Pages put back into the queue: {pages}.")
    if pages:
        screen.note("'collection-search worker --once' ingests them.")


def _ledger(context: SearchContext, collection: str | None) -> tuple[Ledger, str]:
    """Return the ledger and the tenant. Raises InputError for an unknown collection."""
    if collection is not None:
        find_collection(collection, context)
    return asyncio.run(context.storage()).ledger, context.tenant()
