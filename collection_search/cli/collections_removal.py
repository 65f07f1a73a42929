"""`collection-search collections delete`, `purge`, `delete-tenant`, `compact`: removal of data."""

from __future__ import annotations

import shlex
import sys
from contextlib import contextmanager
from typing import TYPE_CHECKING, Annotated

import typer

from ..errors import ConfigError, InputError
from ..text.counted import counted
from .shared.context_options import Tenant, search_context
from .shared.exit_codes import Interrupted
from .shared.stored_collections import (
    NameArgument,
    Yes,
    find_collection,
    open_collections,
    print_empty,
)
from .shared.terminal import Screen
from .shared.time_spans import parse_age

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from pathlib import Path

    from ..contracts.collection import TenantScope
    from ..ports import CollectionStore
    from ..tools.removal import Erased


def delete(
    name: NameArgument,
    *,
    document: Annotated[
        str | None, typer.Option(metavar="URL", help="Delete this page only.")
    ] = None,
    yes: Yes = False,
    tenant: Tenant = None,
) -> None:
    """Delete a collection with everything that waits to go into it, or one page of it."""
    context = search_context(tenant_id=tenant)
    store, scope = find_collection(name, context)
    if document is None:
        if _confirm(f"Deleting {name!r}", f"Delete {name!r}?", yes=yes):
            from ..tools import removal

            with _explained(f"{name!r}", lambda: not _is_listed(store, scope)):
                documents = removal.delete_collection(context, name)
            Screen().line(f"Deleted {name!r} with {counted(documents, 'document')}.")
        return
    from ..ports.collections import find_page
    from ..text.urls import normalize_url, url_key

    url, page = normalize_url(document), find_page(store, scope, document)
    if page != url_key(url):
        url = f"{url} (stored as {page})"
    if _confirm(f"Deleting {url}", f"Delete {url} from {name!r}?", yes=yes):
        waited = _unfinished(store, scope)
        if store.delete_document(scope, page):
            Screen().line(f"Deleted {url} from {name!r}.")
        elif _unfinished(store, scope) < waited:
            Screen().line(f"Deleted {url}, which was not stored yet, from the queue of {name!r}.")
        else:
            raise InputError(f"{name!r} holds no {url}, and none of it waits or failed.")


def _unfinished(store: CollectionStore, scope: TenantScope) -> int:
    """Return how many pages of the collection wait or failed."""
    infos = store.collections(scope.tenant_id)
    return sum(one.waiting + one.failed for one in infos if one.collection == scope.collection)


def purge(
    *,
    older_than: Annotated[
        str, typer.Option("--older-than", metavar="AGE", help="As in 12h, 90d, 8w.")
    ],
    yes: Yes = False,
    tenant: Tenant = None,
) -> None:
    """Delete what has not been stored, checked, asked, staged or answered for that long.

    A collection stays when nothing is left in it, to be filled again; 'delete' drops it.
    """
    from ..tools import removal

    age_s, context = parse_age(older_than), search_context(tenant_id=tenant)
    task = f"what {context.tenant()!r} has not used for {older_than}"
    if _confirm(f"Deleting {task}", f"Delete {task}?", yes=yes):
        screen = Screen()
        screen.line(format_deleted(removal.purge(context, age_s)))
        store, owner = open_collections(context)
        print_empty(store.collections(owner), screen)


def delete_tenant(*, yes: Yes = False, tenant: Tenant = None) -> None:
    """Delete everything that is kept for a tenant, answers and spending included.

    The tokens of its users stay valid: 'tokens remove' removes them.
    """
    from ..tools import removal

    context = search_context(tenant_id=tenant)
    owner = context.tenant()
    if _confirm(f"Deleting tenant {owner!r}", f"Delete all that {owner!r} has?", yes=yes):
        store, _ = open_collections(context)
        with _explained(f"What {owner!r} has", lambda: not store.collections(owner)):
            deleted = removal.delete_tenant(context)
        screen = Screen()
        screen.line(format_deleted(deleted))
        try:
            users = _users_with_tokens(context.using().home, owner)
        except ConfigError as error:  # the data is deleted all the same
            screen.warn(f"Whether {owner} has access tokens is not known: {error}")
            return
        for line in tokens_left(owner, users) if users else []:
            screen.note(line)


def compact() -> None:
    """Give the space of what was deleted to the system, for the collections of all tenants.

    A database that an earlier version made is copied once, for which the disk needs room; nobody
    can write meanwhile. Later ones shrink by themselves when something is deleted.
    """
    from ..tools import removal

    done = removal.compact_store(search_context())
    before, after = done.bytes_before / 1e6, done.bytes_after / 1e6
    Screen().line(f"The database had {before:,.1f} MB and has {after:,.1f} MB now.")


@contextmanager
def _explained(what: str, is_hidden: Callable[[], bool]) -> Iterator[None]:
    """Say what an interrupted deletion leaves behind."""
    try:
        yield
    except KeyboardInterrupt:
        if not is_hidden():
            raise
        raise Interrupted(
            f"{what} is gone for everybody, but not all of it is erased from the file yet."
            " 'collection-search collections compact', the next deletion or a worker erases the"
            " rest."
        ) from None


def _is_listed(store: CollectionStore, scope: TenantScope) -> bool:
    return any(one.collection == scope.collection for one in store.collections(scope.tenant_id))


def format_deleted(deleted: Erased) -> str:
    """Return what was deleted in one line.

    >>> from collection_search.tools.removal import Erased
    >>> format_deleted(Erased(documents=2, pages=3, answers=1))
    'Deleted: 2 documents, 3 ledger rows, 1 answer.'
    >>> format_deleted(Erased())
    'Nothing was there to delete.'
    """
    counts = {
        "collection": deleted.collections,
        "document": deleted.documents,
        "ledger row": deleted.pages,
        "staged text": deleted.texts,
        "question": deleted.questions,
        "crawl": deleted.crawls,
        "review": deleted.gates,
        "comparison": deleted.comparisons,
        "answer": deleted.answers,
        "spending entry": deleted.spending,
        "server run": deleted.runs,
    }
    text = ", ".join(counted(count, noun) for noun, count in counts.items() if count)
    return f"Deleted: {text}." if text else "Nothing was there to delete."


def _users_with_tokens(home: Path, tenant: str) -> list[str]:
    """Return the users of the tenant whom a server lets in."""
    from ..settings.access_tokens import AccessTokens

    found = (one.user for one in AccessTokens(home).every() if one.tenant == tenant)
    return list(dict.fromkeys(found))


def tokens_left(tenant: str, users: Sequence[str]) -> list[str]:
    """Return the lines that say whose tokens stay valid, and which commands remove them.

    >>> for line in tokens_left("acme", ["ann"]): print(line)
    The access tokens of acme stay valid. To remove them:
      collection-search tokens remove ann --tenant acme
    """
    command = "  collection-search tokens remove"
    lines = [f"{command} {user} --tenant {shlex.quote(tenant)}" for user in users]
    return [f"The access tokens of {tenant} stay valid. To remove them:", *lines]


def _confirm(task: str, question: str, *, yes: bool) -> bool:
    if not yes and not sys.stdin.isatty():
        raise InputError(f"{task} cannot be undone: add --yes to do it.")
    return yes or typer.confirm(f"{question} This cannot be undone.")
