"""Sentences about what there is not: a collection, with those that there are, or any at all."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from ...errors import UnknownCollectionError
from .next_steps import shell_command

if TYPE_CHECKING:
    from collections.abc import Sequence

_SHOWN: Final = 10


def explain_missing(
    error: UnknownCollectionError, arguments: Sequence[str]
) -> UnknownCollectionError:
    """Return the error with the known collections, the nearest name first.

    The tenant is named where the arguments or the settings name one.
    """
    tenant = error.tenant_id if _is_tenant_chosen(error.tenant_id, arguments) else None
    where = f"Tenant {tenant!r} has" if tenant else "There is"
    missing = f"{where} no collection {error.collection!r}"
    if not error.known:
        make = shell_command(
            "run", "QUESTION", "--auto-ingest", collection=error.collection, tenant=tenant
        )
        message = f"{missing}, and no other yet. Make one: {make}"
    else:
        message = f"{missing}. {_known(error.collection, error.known, tenant)}"
    return UnknownCollectionError(
        message, collection=error.collection, known=error.known, tenant_id=error.tenant_id
    )


def explain_none(what: str, tenant: str) -> str:
    """Return the sentence that there is none; a tenant other than the default one is named.

    >>> explain_none("collections", "local"), explain_none("collections", "acme")
    ('There are no collections.', 'acme has no collections.')
    """
    return f"{tenant} has no {what}." if _is_tenant_chosen(tenant, ()) else f"There are no {what}."


def _known(given: str, known: Sequence[str], tenant: str | None) -> str:
    from difflib import get_close_matches

    near = get_close_matches(given, known, n=1)
    ordered = [*near, *(name for name in known if name not in near)]
    meant = f"Did you mean {near[0]!r}? " if near else ""
    more = len(ordered) - _SHOWN
    rest = f", and {more} more: {shell_command('collections', tenant=tenant)}" if more > 0 else "."
    return f"{meant}Known: {', '.join(ordered[:_SHOWN])}{rest}"


def _is_tenant_chosen(tenant: str, arguments: Sequence[str]) -> bool:
    from ...settings import Settings

    is_given = any(one == "--tenant" or one.startswith("--tenant=") for one in arguments)
    return is_given or tenant != Settings.model_fields["tenant"].default
