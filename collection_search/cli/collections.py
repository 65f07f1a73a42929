"""`collection-search collections`: what a tenant has stored; exported, deleted, embedded anew."""

from __future__ import annotations

import asyncio
import json
import sys
from typing import TYPE_CHECKING, Annotated, cast

import typer
import typer.core

from ..errors import InputError
from .options import Tenant, UnaskedPaid, search_context
from .prepare import agreed
from .screen import Screen

if TYPE_CHECKING:
    from ..context import SearchContext
    from ..ports import CollectionStore
    from ..records import CollectionInfo, TenantScope

app = typer.Typer(add_completion=False, rich_markup_mode=None, invoke_without_command=True)

Name = Annotated[str, typer.Argument(metavar="NAME", help="Name of the collection.")]


@app.callback()
def collections(context: typer.Context, *, tenant: Tenant = None) -> None:
    """List the collections; export, delete or embed one anew."""
    sub_commands = cast("typer.core.TyperGroup", context.command).commands
    context.default_map = {name: {"tenant": tenant} for name in sub_commands}
    if context.invoked_subcommand is None:
        _list(tenant)


@app.command()
def export(name: Name, *, tenant: Tenant = None) -> None:
    """Print a collection in canonical form, one JSON object a line.

    Two collections with the same content print the same lines, whenever they were filled.
    """
    store, scope = _found(name, search_context(tenant_id=tenant))
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
    store, scope = _found(name, search_context(tenant_id=tenant))
    if not yes and not sys.stdin.isatty():
        raise InputError(f"Deleting {name!r} cannot be undone: add --yes to do it.")
    if yes or typer.confirm(f"Delete {name!r}? This cannot be undone."):
        documents = store.delete_collection(scope)
        Screen().line(f"Deleted {name!r} with {documents} documents.")


@app.command()
def reembed(
    name: Name,
    *,
    embeddings: Annotated[
        str | None,
        typer.Option(help="Embedder, as provider:model; lexical drops the vectors."),
    ] = None,
    yes: UnaskedPaid = False,
    tenant: Tenant = None,
) -> None:
    """Embed a collection anew with another model; until it is done the old vectors serve."""
    from ..tools.reembed import areembed

    context, screen = search_context(tenant_id=tenant, embeddings=embeddings), Screen()
    _agreed(name, context, yes=yes, screen=screen)
    with screen.bar(f"Embedding {name}") as advance:
        done = asyncio.run(
            areembed(name, tenant=context.tenant(), context=context, on_progress=advance)
        )
    if done.embedder is None:
        screen.line(f"{name!r} has no vectors any more: it is searched by its words.")
    else:
        cost = "at an unknown price" if done.cost_usd is None else f"for ${done.cost_usd:.6f}"
        screen.line(f"Embedded {done.chunks} chunks of {name!r} with {done.embedder} {cost}.")
    _remind(context, embeddings, screen)


def _agreed(name: str, context: SearchContext, *, yes: bool, screen: Screen) -> None:
    """Tell the price of what is left to embed, judged by its first chunks, and ask."""
    store, scope = _found(name, context)
    embedder = asyncio.run(context.embedder())
    if embedder is None:
        _agreed_to_lose(store.embedder(scope), name, yes=yes)
        return
    first, left, _ = store.pending_vectors(scope, embedder.fingerprint)
    if first:
        chars = left * sum(len(chunk.text) for chunk in first) // len(first)
        agreed(embedder.fingerprint, texts=f"{left} chunks", chars=chars, yes=yes, screen=screen)


def _agreed_to_lose(fingerprint: str | None, name: str, *, yes: bool) -> None:
    """Ask before vectors are dropped: they may have cost money."""
    if fingerprint is None:
        raise InputError(f"{name!r} is searched by its words already: name an embedder.")
    task = f"This drops the vectors that {fingerprint} gave {name!r}"
    if not yes and not sys.stdin.isatty():
        raise InputError(f"{task}: add --yes to do it, or name an embedder by --embeddings.")
    if not yes:
        typer.confirm(f"{task}. Go on?", abort=True, err=True)


def _remind(context: SearchContext, embeddings: str | None, screen: Screen) -> None:
    """Say when the settings still name another embedder than the collection's."""
    settings = context.using()
    if embeddings not in {None, settings.embeddings}:
        screen.note(
            f"The setting embeddings still says {settings.embeddings}: set"
            f" COLLECTION_SEARCH_EMBEDDINGS to {embeddings} to ask this collection."
        )


def _list(tenant: str | None) -> None:
    store, owner = _store(search_context(tenant_id=tenant))
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


def _store(context: SearchContext) -> tuple[CollectionStore, str]:
    return asyncio.run(context.storage()).collections, context.tenant()


def _found(name: str, context: SearchContext) -> tuple[CollectionStore, TenantScope]:
    """Return where a collection is. Raises InputError when the tenant has none of that name."""
    from ..records import TenantScope

    store, owner = _store(context)
    names = [info.collection for info in store.collections(owner)]
    if name not in names:
        known = f"Known: {', '.join(names)}." if names else "It has none yet."
        raise InputError(f"Tenant {owner!r} has no collection {name!r}. {known}")
    return store, TenantScope(owner, name)
