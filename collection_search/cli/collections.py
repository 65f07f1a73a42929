"""`collection-search collections`: what a tenant has stored, exported or deleted on demand."""

from __future__ import annotations

import asyncio
import json
import sys
from typing import TYPE_CHECKING, Annotated

import typer

from ..errors import InputError
from .options import Tenant, search_context
from .screen import Screen

if TYPE_CHECKING:
    from ..ports import CollectionStore
    from ..records import CollectionInfo, TenantScope

app = typer.Typer(add_completion=False, rich_markup_mode=None, invoke_without_command=True)

Name = Annotated[str, typer.Argument(metavar="NAME", help="Name of the collection.")]


@app.callback()
def collections(context: typer.Context, *, tenant: Tenant = None) -> None:
    """List the collections; export or delete one."""
    if context.invoked_subcommand is None:
        _list(tenant)


@app.command()
def export(name: Name, *, tenant: Tenant = None) -> None:
    """Print a collection in canonical form, one JSON object a line.

    Two collections with the same content print the same lines, whenever they were filled.
    """
    store, scope = _found(name, tenant)
    for row in store.export(scope):
        print(json.dumps(row, sort_keys=True))


@app.command()
def delete(
    name: Name,
    *,
    yes: Annotated[bool, typer.Option("--yes", help="Do not ask.")] = False,
    tenant: Tenant = None,
) -> None:
    """Delete a collection with everything that waits to go into it."""
    store, scope = _found(name, tenant)
    if not yes and not sys.stdin.isatty():
        raise InputError(f"Deleting {name!r} cannot be undone: add --yes to do it.")
    if yes or typer.confirm(f"Delete {name!r}? This cannot be undone."):
        documents = store.delete_collection(scope)
        Screen().line(f"Deleted {name!r} with {documents} documents.")


def _list(tenant: str | None) -> None:
    store, owner = _store(tenant)
    screen, infos = Screen(), store.collections(owner)
    if not infos:
        screen.line(f"{owner} has no collections. Fill one with 'collection-search run'.")
        return
    for line in table(infos):
        screen.line(line)


def table(infos: list[CollectionInfo]) -> list[str]:
    """Return the collections as aligned lines under a header.

    >>> from collection_search.records import CollectionInfo
    >>> for line in table([CollectionInfo(collection="py", documents=3, chunks=41)]):
    ...     print(line)
    collection  documents  chunks  waiting  failed  embedder
    py                  3      41        0       0  none (lexical)
    """
    width = max(len("collection"), *(len(info.collection) for info in infos))
    header = f"{'collection':<{width}}  documents  chunks  waiting  failed  embedder"
    return [header] + [
        f"{info.collection:<{width}}  {info.documents:>9}  {info.chunks:>6}  {info.waiting:>7}"
        f"  {info.failed:>6}  {info.embedder or 'none (lexical)'}"
        for info in infos
    ]


def _store(tenant: str | None) -> tuple[CollectionStore, str]:
    context = search_context(tenant_id=tenant)
    return asyncio.run(context.storage()).collections, context.tenant()


def _found(name: str, tenant: str | None) -> tuple[CollectionStore, TenantScope]:
    """Return where a collection is. Raises InputError when the tenant has none of that name."""
    from ..records import TenantScope

    store, owner = _store(tenant)
    names = [info.collection for info in store.collections(owner)]
    if name not in names:
        known = f"Known: {', '.join(names)}." if names else "It has none yet."
        raise InputError(f"Tenant {owner!r} has no collection {name!r}. {known}")
    return store, TenantScope(owner, name)
