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


def server_of(url: str) -> str:
    """Return the server and the database of an address, without user and password.

    >>> server_of("postgresql://me:secret@db.example:5433/collections")
    'db.example:5433/collections'
    """
    try:
        known = conninfo_to_dict(url)
    except psycopg.ProgrammingError:
        return "COLLECTION_SEARCH_DATABASE_URL"
    return f"{known.get('host', 'localhost')}:{known.get('port', 5432)}/{known.get('dbname', '')}"


def translate_failure(url: str, error: psycopg.Error | PoolTimeout) -> StoreError:
    """Return the error that names the server and says what to do."""
    said = str(redact_error(error)).strip().splitlines() or [type(error).__name__]
    advice = "Check COLLECTION_SEARCH_DATABASE_URL, and that the server runs."
    if isinstance(error, psycopg.errors.InsufficientPrivilege):
        advice = "Give this user the right, or let an administrator run: CREATE EXTENSION vector."
    if isinstance(error, psycopg.errors.FeatureNotSupported | psycopg.errors.UndefinedFile):
        advice = "Install the extension pgvector on the server."
    return StoreError(
        f"The database {server_of(url)} cannot be used: {said[0]}. {advice}",
        retryable=isinstance(error, _PASSING) or not isinstance(error, psycopg.Error),
    )
