"""Access to a tenant's collections."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Annotated

import typer

from .completion import complete_collections

if TYPE_CHECKING:
    from collections.abc import Iterable

    from ...context import SearchContext
    from ...contracts.collection import CollectionInfo, TenantScope
    from ...ports import CollectionStore
    from .terminal import Screen

NameArgument = Annotated[
    str,
    typer.Argument(
        metavar="NAME", help="Name of the collection.", autocompletion=complete_collections
    ),
]
Yes = Annotated[bool, typer.Option("--yes", help="Do not ask.")]


def open_collections(context: SearchContext) -> tuple[CollectionStore, str]:
    """Return the collection store and the tenant."""
    return asyncio.run(context.storage()).collections, context.tenant()


def find_collection(name: str, context: SearchContext) -> tuple[CollectionStore, TenantScope]:
    """Return the store and scope of a collection. Raises InputError for an unknown one."""
    from ...contracts.collection import TenantScope
    from ...ports.collections import require_collection

    store, owner = open_collections(context)
    scope = TenantScope(owner, name)
    require_collection(store, scope)
    return store, scope


def print_empty(infos: Iterable[CollectionInfo], screen: Screen) -> None:
    """Name the collections without any stored or waiting page."""
    empty = [one for one in infos if not (one.documents or one.waiting or one.failed)]
    if empty:
        screen.note(
            f"Empty: {', '.join(one.collection for one in empty)}. A collection stays until"
            " 'collection-search collections delete NAME' drops it."
        )


def print_untitled(infos: Iterable[CollectionInfo], screen: Screen) -> None:
    """Name the collections whose vectors were made by an earlier version, without titles."""
    from ...contracts.embedded_text import has_titles

    for one in infos:
        if one.chunks and one.embedder is not None and not has_titles(one.embedder):
            screen.note(
                f"{one.collection!r} was embedded without the titles of its pages:"
                f" 'collection-search collections reembed {one.collection}' adds them."
            )
