"""What runs were asked, beside what they spent."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from ....text.clean import to_unicode
from .deletion_marks import NOT_DELETED, values_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ....ports.usage import SpendEntry
    from .connection import Connection


_KEEP: Final = (
    f"INSERT INTO run_questions SELECT ?, ?, ? WHERE {NOT_DELETED} ON CONFLICT DO NOTHING"
)


def keep_questions(connection: Connection, entries: Sequence[SpendEntry]) -> None:
    """Keep the question of each run among the entries, the first that is told of a run.

    Those of runs that began before their tenant was deleted are left out.
    """
    rows = [
        (
            *(entry.tenant_id, entry.run_id, to_unicode(entry.question)),
            *values_of(
                entry.tenant_id,
                entry.at if entry.began_at is None else entry.began_at,
                entry.at,
            ),
        )
        for entry in entries
        if entry.question
    ]
    if rows:
        connection.executemany(_KEEP, rows)


def read_questions(
    connection: Connection, tenant_id: str, run_id: str | None = None
) -> dict[str, str]:
    """Return the questions of one of a tenant's runs, or of all, by the ids of the runs."""
    rows = connection.execute(
        "SELECT run_id, question FROM run_questions"
        " WHERE tenant_id = :tenant AND run_id = coalesce(:run, run_id)",
        {"tenant": tenant_id, "run": run_id},
    )
    return {row["run_id"]: row["question"] for row in rows}


def forget_questions(connection: Connection) -> None:
    """Delete the questions of runs whose spending is no longer kept."""
    connection.execute(
        "DELETE FROM run_questions WHERE NOT EXISTS (SELECT 1 FROM spend WHERE"
        " spend.tenant_id = run_questions.tenant_id AND spend.run_id = run_questions.run_id)"
    )
