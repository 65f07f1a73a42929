"""Clear messages for failures of PostgreSQL."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import psycopg
from psycopg.conninfo import conninfo_to_dict

from ....errors import StoreError
from ....text.redaction import redact_error

if TYPE_CHECKING:
    from psycopg_pool import PoolTimeout

_PASSING: Final = (
    psycopg.OperationalError,
    psycopg.errors.DeadlockDetected,
    psycopg.errors.SerializationFailure,
)
"""Failures after which a retry may help."""


def translate_failure(url: str, error: psycopg.Error | PoolTimeout) -> StoreError:
    """Return the error that names the server, without its password, and says what to do."""
    known = conninfo_to_dict(url)
    where = f"{known.get('host', 'localhost')}:{known.get('port', 5432)}/{known.get('dbname', '')}"
    said = str(redact_error(error)).strip().splitlines()
    advice = "Check COLLECTION_SEARCH_DATABASE_URL, and that the server runs."
    if isinstance(error, psycopg.errors.InsufficientPrivilege):
        advice = "Give this user the right to create a schema, or let an administrator make it."
    return StoreError(
        f"The database {where} cannot be used: {said[0] if said else type(error).__name__}. {advice}",
        retryable=isinstance(error, _PASSING) or not isinstance(error, psycopg.Error),
    )
