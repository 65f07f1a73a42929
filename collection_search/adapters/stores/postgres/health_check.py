"""A check of the server's versions, the schema, and the rights of the user."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from ....contracts.health import Health
from .schema import VERSION

if TYPE_CHECKING:
    from .database import PostgresDatabase

OLDEST_SERVER: Final = 16
OLDEST_VECTOR: Final = (0, 8)
_FACTS: Final = """
    SELECT current_setting('server_version') AS server,
        current_setting('server_version_num')::int / 10000 AS major,
        (SELECT extversion FROM pg_extension WHERE extname = 'vector') AS vector,
        rolsuper, rolbypassrls,
        ARRAY(SELECT relname::text FROM pg_class
            WHERE relnamespace = current_schema()::regnamespace AND relrowsecurity
            AND NOT relforcerowsecurity AND pg_has_role(relowner, 'USAGE') ORDER BY 1) AS unforced
    FROM pg_roles WHERE rolname = current_user
"""


def check_postgres_health(database: PostgresDatabase) -> Health:
    """Return versions, and what should be changed. Blocks. Raises StoreError."""
    with database.outside_transaction() as connection:
        facts: Any = connection.execute(_FACTS).fetchone()
    schema = f"schema version {VERSION}"
    if not database.found_version:
        schema += ", created now"
    elif database.found_version < VERSION:
        schema += f", migrated now from version {database.found_version}"
    detail = f"PostgreSQL {facts['server'].split()[0]}, pgvector {facts['vector']}, {schema}"
    return Health(detail, advice=" ".join(filter(None, (_advice_on_role(facts), _update(facts)))))


def _advice_on_role(facts: Any) -> str:
    """Return what to do where row-level security does not bind the user; blank where it does."""
    instead = "use an ordinary role: CREATE ROLE ... LOGIN NOSUPERUSER NOBYPASSRLS."
    if facts["rolsuper"]:
        return f"The role is a superuser, whom row-level security does not bind: {instead}"
    if facts["rolbypassrls"]:
        return f"The role has BYPASSRLS, so row-level security does not bind it: {instead}"
    if tables := facts["unforced"]:
        return (
            f"The role owns tables whose row-level security does not bind their owner"
            f" ({', '.join(tables)}): run ALTER TABLE ... FORCE ROW LEVEL SECURITY for each."
        )
    return ""


def _update(facts: Any) -> str:
    """Return what to update; blank where all is new enough."""
    if facts["major"] < OLDEST_SERVER:
        return f"Update PostgreSQL to {OLDEST_SERVER} or newer."
    if tuple(int(part) for part in facts["vector"].split(".")[:2]) < OLDEST_VECTOR:
        oldest = ".".join(map(str, OLDEST_VECTOR))
        return f"Update pgvector to {oldest} or newer, then run: ALTER EXTENSION vector UPDATE."
    return ""
