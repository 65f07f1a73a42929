"""`collection-search collections delete`, `purge`, `delete-tenant`: what is kept no longer."""

from __future__ import annotations

import re
import sys
from typing import TYPE_CHECKING, Annotated, Final

import typer

from ..errors import InputError
from .options import Tenant, search_context
from .screen import Screen
from .stored import Name, Yes, found, stored

if TYPE_CHECKING:
    from ..records import Deleted

_SECONDS: Final = {"h": 3600.0, "d": 86_400.0, "w": 604_800.0}


def delete(
    name: Name,
    *,
    document: Annotated[
        str | None, typer.Option(metavar="URL", help="Delete this page only.")
    ] = None,
    yes: Yes = False,
    tenant: Tenant = None,
) -> None:
    """Delete a collection with everything that waits to go into it, or one page of it."""
    store, scope = found(name, search_context(tenant_id=tenant))
    if document is None:
        if _agreed(f"Deleting {name!r}", f"Delete {name!r}?", yes=yes):
            documents = store.delete_collection(scope)
            Screen().line(f"Deleted {name!r} with {documents} documents.")
        return
    from ..urls import normalize_url, url_key

    url = normalize_url(document)
    if _agreed(f"Deleting {url}", f"Delete {url} from {name!r}?", yes=yes):
        if not store.delete_document(scope, url_key(url)):
            raise InputError(f"{name!r} holds no {url}. What waited of it is deleted.")
        Screen().line(f"Deleted {url} from {name!r}.")


def purge(
    *,
    older_than: Annotated[
        str, typer.Option("--older-than", metavar="AGE", help="As in 12h, 90d, 8w.")
    ],
    yes: Yes = False,
    tenant: Tenant = None,
) -> None:
    """Delete what has not been stored, checked, asked or staged for that long."""
    age_s = seconds(older_than)
    store, owner = stored(search_context(tenant_id=tenant))
    task = f"what {owner!r} has not used for {older_than}"
    if _agreed(f"Deleting {task}", f"Delete {task}?", yes=yes):
        Screen().line(summary(store.purge(owner, age_s)))


def delete_tenant(*, yes: Yes = False, tenant: Tenant = None) -> None:
    """Delete everything that is kept for a tenant."""
    store, owner = stored(search_context(tenant_id=tenant))
    if _agreed(f"Deleting tenant {owner!r}", f"Delete all that {owner!r} has?", yes=yes):
        Screen().line(summary(store.delete_tenant(owner)))


def seconds(age: str) -> float:
    """Return an age in seconds. Raises InputError.

    >>> seconds("90d")
    7776000.0
    """
    parts = re.fullmatch(r"([0-9]{1,6})([hdw])", age.strip())
    if parts is None:
        raise InputError(f"{age!r} is no age: write hours, days or weeks as in 12h, 90d, 8w.")
    return int(parts[1]) * _SECONDS[parts[2]]


def summary(deleted: Deleted) -> str:
    """Return what was deleted in one line.

    >>> from collection_search.records import Deleted
    >>> summary(Deleted(documents=2, pages=3))
    'Deleted: 2 documents, 3 ledger rows.'
    >>> summary(Deleted())
    'Nothing was there to delete.'
    """
    counts = {
        "collections": deleted.collections,
        "documents": deleted.documents,
        "ledger rows": deleted.pages,
        "staged texts": deleted.texts,
        "questions": deleted.questions,
    }
    told = ", ".join(f"{count} {name}" for name, count in counts.items() if count)
    return f"Deleted: {told}." if told else "Nothing was there to delete."


def _agreed(task: str, question: str, *, yes: bool) -> bool:
    if not yes and not sys.stdin.isatty():
        raise InputError(f"{task} cannot be undone: add --yes to do it.")
    return yes or typer.confirm(f"{question} This cannot be undone.")
