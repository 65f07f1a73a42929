"""`collection-search ingest`: add pages, list failed pages and retry them."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Annotated

import typer

from .add import add
from .shared.context_options import AsJson, Tenant, search_context
from .shared.stored_collections import find_collection
from .shared.terminal import Screen

if TYPE_CHECKING:
    from ..context import SearchContext
    from ..ports import Ledger

app = typer.Typer(add_completion=False, rich_markup_mode=None, no_args_is_help=True)

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
    for letter in letters:
        screen.line(f"{letter.collection}: {letter.url}: {letter.error}")
    if not letters:
        screen.note("No page was given up.")


@app.command("retry-failed")
def retry_failed(*, collection: OneCollection = None, tenant: Tenant = None) -> None:
    """Put the pages that were given up back into the queue."""
    from ..contracts.collection import TenantScope
    from ..settings.page_rules import rules_of

    context, screen = search_context(tenant_id=tenant), Screen()
    ledger, owner = _ledger(context, collection)
    scope = owner if collection is None else TenantScope(owner, collection)
    pages = ledger.retry_failed(scope, rules=rules_of(context.using()))
    screen.line(f"Pages put back into the queue: {pages}.")
    if pages:
        screen.note("'collection-search worker --once' ingests them.")


def _ledger(context: SearchContext, collection: str | None) -> tuple[Ledger, str]:
    """Return the ledger and the tenant. Raises InputError for an unknown collection."""
    if collection is not None:
        find_collection(collection, context)
    return asyncio.run(context.storage()).ledger, context.tenant()
