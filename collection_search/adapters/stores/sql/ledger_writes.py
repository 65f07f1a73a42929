"""Reads and writes of ledger rows that several methods share."""

from __future__ import annotations

from typing import TYPE_CHECKING

from .ledger_statements import IS_GONE, OVERDUE, PUT_BACK, SPENT, given_up
from .staging import dropping_kept_texts

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from ....contracts.ingestion import Claim, PageChange, Priority
    from .claims import FormerClaim
    from .connection import Connection, Database


def update_row(
    connection: Connection, claim: Claim, change: str, *values: float | str | None
) -> bool:
    """Change the row if its fence is still the claim's; return whether it was."""
    statement = f"UPDATE ledger SET {change} WHERE id = ? AND fence = ? AND state = 'working'"
    row = {"id": claim.row_id}
    with dropping_kept_texts(connection, claim.scope.tenant_id, "ledger WHERE id = :id", row):
        changed = connection.execute(statement, (*values, claim.row_id, claim.fence))
    return changed.rowcount == 1


def finish_row(
    connection: Connection,
    claim: Claim,
    change: PageChange,
    now: float,
    fetched: str | None,
) -> None:
    """Write the result of a claim that has ended."""
    connection.execute(
        "UPDATE ledger SET change = ?, changed_at = ?, fetched = ? WHERE id = ?",
        (change, now, fetched, claim.row_id),
    )


def postponements(connection: Connection, claim: Claim) -> int:
    """Return how often in a row the claimed page was postponed."""
    query = "SELECT postponed FROM ledger WHERE id = ?"
    found = connection.execute(query, (claim.row_id,)).fetchone()
    return 0 if found is None else int(found["postponed"])


def gone_since(connection: Connection, claim: Claim, now: float) -> float:
    """Return since when the claimed page is gone: `now` unless it was so before."""
    query = f"SELECT changed_at FROM ledger WHERE id = ? AND {IS_GONE}"
    found = connection.execute(query, (claim.row_id,)).fetchone()
    return now if found is None else float(found["changed_at"])


def return_rows(database: Database, of: Mapping[str, float], is_gone: Callable[[str], bool]) -> int:
    """Return overdue rows and those of gone owners to the queue; give up spent ones; count them."""
    with database.read(None) as connection:
        owners = connection.execute("SELECT DISTINCT owner FROM ledger WHERE state = 'working'")
        gone = [row["owner"] for row in owners if is_gone(row["owner"])]
        overdue = connection.execute(f"SELECT 1 FROM ledger WHERE {OVERDUE} OR {SPENT}", of)
        if not gone and overdue.fetchone() is None:
            return 0
    with database.write(None) as connection:
        return _sweep(connection, of, gone)


def end_lease(connection: Connection, former: FormerClaim, now: float) -> None:
    """End the lease of a row that is taken over, unless its owner has changed meanwhile."""
    connection.execute(
        "UPDATE ledger SET due = ? WHERE id = ? AND fence = ? AND state = 'working'",
        (now, former.row_id, former.fence),
    )


def count_due(connection: Connection, of: Mapping[str, float], priority: Priority) -> int:
    """Return how many rows of the priority are due `now`, at most `limit`."""
    due = "state IN ('waiting', 'working', 'to_fetch') AND priority = :priority AND due <= :now"
    query = f"SELECT count(*) FROM (SELECT 1 FROM ledger WHERE {due} LIMIT :limit) AS found"
    return int(connection.execute(query, {**of, "priority": int(priority)}).fetchone()[0])


def count_dead(connection: Connection, limit: int, priority: Priority) -> int:
    """Return how many rows of the priority were given up, at most `limit`."""
    found = "SELECT 1 FROM ledger WHERE state = 'dead' AND priority = :priority LIMIT :limit"
    of = {"priority": int(priority), "limit": limit}
    query = f"SELECT count(*) FROM ({found}) AS found"
    return int(connection.execute(query, of).fetchone()[0])


def _sweep(connection: Connection, of: Mapping[str, float], gone: Sequence[str]) -> int:
    """Return overdue rows and those of gone owners, give up spent ones; return how many."""
    connection.executemany(
        "UPDATE ledger SET due = 0 WHERE state = 'working' AND owner = ?",
        [(owner,) for owner in gone],
    )
    why = "coalesce(error, 'Every worker that took this page stopped without an answer.')"
    spent = connection.execute(f"UPDATE ledger SET {given_up(why)} WHERE {SPENT}", of).rowcount
    returned = connection.execute(f"UPDATE ledger SET {PUT_BACK} WHERE {OVERDUE}", of).rowcount
    return spent + returned
