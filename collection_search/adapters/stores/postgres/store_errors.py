"""Clear messages for failures of PostgreSQL."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Final

import psycopg
from psycopg.conninfo import conninfo_to_dict
from psycopg_pool import PoolTimeout

from ....errors import StoreError
from ....text.redaction import redact

if TYPE_CHECKING:
    from collections.abc import Iterator

_PASSING: Final = (
    psycopg.OperationalError,
    psycopg.errors.DeadlockDetected,
    psycopg.errors.SerializationFailure,
)
"""Failures after which a retry may help."""
_VARIABLE: Final = "COLLECTION_SEARCH_DATABASE_URL"
_LOCAL: Final = "localhost"
_CREATE: Final = "CREATE EXTENSION vector"
_REFUSALS: Final = (
    (
        ("password", "authentication"),
        f"Check user and password: in {_VARIABLE}, PGPASSWORD or ~/.pgpass.",
    ),
    (
        ("does not exist", "permission denied", "not permitted to log in"),
        f"Check user and database in {_VARIABLE}; an administrator creates both once.",
    ),
    (("SSL",), f"Check sslmode in {_VARIABLE}."),
    (("pg_hba.conf",), f"Check {_VARIABLE}; the server's pg_hba.conf says who may connect."),
)
"""Words of a server that answers and refuses, with advice: such a connection has no error code."""


def server_of(url: str) -> str:
    """Return the server and the database of an address, without user and password.

    >>> server_of("postgresql://me:secret@db.example:5433/collections")
    'db.example:5433/collections'
    """
    known = _parts_of(url)
    if known is None:
        return _VARIABLE
    host, port = known.get("host", _LOCAL), known.get("port", 5432)
    return f"{host}:{port}/{known.get('dbname', '')}"


def hosts_of(url: str) -> list[str]:
    """Return the hosts of an address; none where it cannot be read.

    >>> hosts_of("postgresql://me:secret@db1.example:5433,db2.example/collections")
    ['db1.example', 'db2.example']
    """
    known = _parts_of(url)
    if known is None:
        return []
    named = f"{known.get('host', _LOCAL)},{known.get('hostaddr', '')}"
    return [host for host in named.split(",") if host]


def _parts_of(url: str) -> dict[str, Any] | None:
    try:
        return conninfo_to_dict(url)
    except psycopg.ProgrammingError:
        return None


def is_refused_connection(error: psycopg.Error) -> bool:
    """Return whether a connection failed for a reason that does not end by itself.

    >>> is_refused_connection(psycopg.OperationalError('FATAL:  database "x" does not exist'))
    True
    >>> is_refused_connection(psycopg.OperationalError("the database system is starting up"))
    False
    """
    is_wrong = isinstance(error, psycopg.ProgrammingError)  # no address, or an unknown parameter
    return is_wrong or bool(_advice_on_refusal(error))


def translate_failure(url: str, error: psycopg.Error | PoolTimeout) -> StoreError:
    """Return the error that names the server and says what to do."""
    advice = f"Check {_VARIABLE}, and that the server runs."
    is_passing = isinstance(error, _PASSING) or not isinstance(error, psycopg.Error)
    if isinstance(error, psycopg.OperationalError) and (refused := _advice_on_refusal(error)):
        advice, is_passing = refused, False
    if isinstance(error, psycopg.errors.InsufficientPrivilege):
        advice = f"Give this user the right, or let an administrator run: {_CREATE}."
    if isinstance(error, psycopg.errors.FeatureNotSupported | psycopg.errors.UndefinedFile):
        advice = f"Install the extension pgvector on the server; an administrator runs: {_CREATE}."
    return StoreError(
        f"The database {server_of(url)} cannot be used: {_reason(error)}. {advice}",
        retryable=is_passing,
    )


@contextmanager
def translate_failures(url: str) -> Iterator[None]:
    """Raise the StoreError of a failure inside the block."""
    try:
        yield
    except (psycopg.Error, PoolTimeout) as error:
        raise translate_failure(url, error) from error


def _advice_on_refusal(error: psycopg.Error) -> str:
    """Return what to do about a refused connection; blank for another failure."""
    if not isinstance(error, psycopg.OperationalError) or error.sqlstate is not None:
        return ""
    said = str(error)
    return next((advice for words, advice in _REFUSALS if any(one in said for one in words)), "")


def _reason(error: psycopg.Error | PoolTimeout) -> str:
    """Return the first line of what the server or libpq said, without the address and level."""
    lines = redact(str(error)).strip().splitlines() or [type(error).__name__]
    said = lines[0].rpartition(" failed: ")[2]
    return said.removeprefix("FATAL:").strip().rstrip(".")
