"""`collection-search collections`: the collections of a tenant."""

from __future__ import annotations

import asyncio
import sys
from typing import TYPE_CHECKING, Annotated, cast

import typer
import typer.core

from ..contracts.embedded_text import embedder_of_vectors, titled_fingerprint
from ..errors import InputError
from ..text.counted import counted
from .collections_files import export, import_
from .collections_refresh import refresh
from .collections_removal import compact, delete, delete_tenant, purge
from .collections_show import forget, show
from .shared.context_options import AsJson, MaxCost, Tenant, UnaskedPaid, search_context
from .shared.missing_collection import explain_none
from .shared.near_names import SuggestingGroup
from .shared.next_steps import shell_command
from .shared.preparation import confirm_cost
from .shared.stored_collections import (
    NameArgument,
    find_collection,
    open_collections,
    print_empty,
    print_untitled,
)
from .shared.terminal import Screen

if TYPE_CHECKING:
    from ..context import SearchContext
    from ..contracts.collection import CollectionInfo

app = typer.Typer(
    cls=SuggestingGroup, add_completion=False, rich_markup_mode=None, invoke_without_command=True
)


@app.callback()
def collections(context: typer.Context, *, tenant: Tenant = None, as_json: AsJson = False) -> None:
    """List the collections; export, refresh or delete one."""
    sub_commands = cast("typer.core.TyperGroup", context.command).commands
    context.default_map = {name: {"tenant": tenant} for name in sub_commands}
    if (chosen := context.invoked_subcommand) is None:
        list_(tenant=tenant, as_json=as_json)
    elif as_json:
        raise InputError(f"--json stands after {chosen!r}, if that has it: see its --help.")


@app.command("list")
def list_(*, tenant: Tenant = None, as_json: AsJson = False) -> None:
    """List the collections, as the command alone does."""
    store, owner = open_collections(search_context(tenant_id=tenant))
    screen, infos = Screen(as_json=as_json), store.collections(owner)
    if as_json:
        screen.json({"tenant": owner, "collections": [info.model_dump() for info in infos]})
    elif not infos:
        none = explain_none("collections", owner)
        screen.line(f"{none} Fill one with '{shell_command('run', tenant=tenant)}'.")
    else:
        for line in format_collections(infos, width=screen.table_width):
            screen.line(line)
        print_empty(infos, screen)
        print_untitled(infos, screen)


app.command()(show)
app.command()(refresh)
app.command()(forget)
app.command()(export)
app.command("import")(import_)
app.command()(delete)
app.command()(purge)
app.command("delete-tenant")(delete_tenant)
app.command()(compact)


@app.command()
def reembed(
    name: NameArgument,
    *,
    embeddings: Annotated[
        str | None,
        typer.Option(help="Embedder, as provider:model; lexical drops the vectors."),
    ] = None,
    yes: UnaskedPaid = False,
    max_cost: MaxCost = None,
    tenant: Tenant = None,
) -> None:
    """Embed a collection anew with another model; until it is done the old vectors serve."""
    from ..text.money import round_usd
    from ..tools.reembed import areembed

    context = search_context(tenant_id=tenant, embeddings=embeddings, max_cost_usd=max_cost)
    screen = Screen()
    _confirm_price(name, context, yes=yes, screen=screen)
    with screen.bar(f"Embedding {name}") as advance:
        done = asyncio.run(
            areembed(name, tenant=context.tenant(), context=context, on_progress=advance)
        )
    if done.embedder is None:
        screen.line(f"{name!r} has no vectors any more: it is searched by its words.")
    else:
        cost = "at an unknown price" if done.cost_usd is None else f"for {round_usd(done.cost_usd)}"
        screen.line(f"Embedded {done.chunks} chunks of {name!r} with {done.embedder} {cost}.")
    _remind(context, embeddings, done.embedder, screen)


def _confirm_price(name: str, context: SearchContext, *, yes: bool, screen: Screen) -> None:
    """Ask before paying to embed the remaining chunks; the price is estimated from the first."""
    store, scope = find_collection(name, context)
    embedder = asyncio.run(context.embedder())
    if embedder is None:
        _confirm_loss(store.embedder(scope), name, yes=yes)
        return
    first, left, total = store.pending_vectors(scope, titled_fingerprint(embedder.fingerprint))
    if first and left < total:
        screen.note(f"Going on: {total - left} of {total} chunks have new vectors already.")
    if first:
        chars = left * sum(len(chunk.title) + len(chunk.text) for chunk in first) // len(first)
        confirm_cost(
            embedder.fingerprint,
            context.prices(),
            texts=f"{left} chunks",
            chars=chars,
            yes=yes,
            screen=screen,
        )


def _confirm_loss(fingerprint: str | None, name: str, *, yes: bool) -> None:
    """Ask before vectors are dropped: they may have cost money."""
    if fingerprint is None:
        raise InputError(f"{name!r} is searched by its words already: name an embedder.")
    task = f"This drops the vectors that {embedder_of_vectors(fingerprint)} gave {name!r}"
    if not yes and not sys.stdin.isatty():
        raise InputError(f"{task}: add --yes to do it, or name an embedder by --embeddings.")
    if not yes:
        typer.confirm(f"{task}. Go on?", abort=True, err=True)


def _remind(
    context: SearchContext, chosen: str | None, fingerprint: str | None, screen: Screen
) -> None:
    """Say which setting questions or new pages need, where the settings name another embedder.

    Most embedders can be restored from the fingerprint that the collection stores. A run ranks
    results with the embedder of the settings.
    """
    from ..settings.collection_embedder import restore_embedder

    settings = context.using()
    if fingerprint is None or chosen in {None, settings.embeddings}:
        return
    if restore_embedder(settings, fingerprint) is None:
        screen.note(
            f"The setting embeddings still says {settings.embeddings}: set"
            f" COLLECTION_SEARCH_EMBEDDINGS to {chosen} to ask this collection."
        )
    elif settings.embeddings != "lexical":
        screen.note(
            f"Questions are asked by {chosen} from now on. To add pages with"
            f" 'collection-search run', give it --embeddings {chosen}: the setting says"
            f" {settings.embeddings}."
        )


def format_collections(infos: list[CollectionInfo], *, width: int) -> list[str]:
    """Return the collections as aligned lines under a header, as paragraphs where that is narrow.

    >>> from collection_search.contracts.collection import CollectionInfo
    >>> infos = [CollectionInfo(collection="py", documents=3, chunks=41)]
    >>> for line in format_collections(infos, width=80):
    ...     print(line)
    collection  documents  chunks  waiting  failed  embedder
    py                  3      41        0       0  none (lexical)
    >>> for line in format_collections(infos, width=50):
    ...     print(line)
    py
      3 documents, 41 chunks, 0 waiting, 0 failed
      embedder: none (lexical)
    """
    names = max(len("collection"), *(len(info.collection) for info in infos))
    rows = [f"{'collection':<{names}}  documents  chunks  waiting  failed  embedder"]
    rows += [
        f"{info.collection:<{names}}  {info.documents:>9}  {info.chunks:>6}  {info.waiting:>7}"
        f"  {info.failed:>6}  {_embedder(info)}"
        for info in infos
    ]
    if max(map(len, rows)) <= width:
        return rows
    return [line for info in infos for line in _paragraph(info)]


def _paragraph(info: CollectionInfo) -> tuple[str, ...]:
    pages, chunks = counted(info.documents, "document"), counted(info.chunks, "chunk")
    counts = f"  {pages}, {chunks}, {info.waiting} waiting, {info.failed} failed"
    return info.collection, counts, f"  embedder: {_embedder(info)}"


def _embedder(info: CollectionInfo) -> str:
    return embedder_of_vectors(info.embedder or "none (lexical)")
