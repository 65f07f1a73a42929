"""Quotas, remembered answers and spending."""

from __future__ import annotations

import time
from dataclasses import asdict, replace
from decimal import Decimal
from typing import TYPE_CHECKING, Any, Final

from ....ports.usage import SpendTotal
from ....text.clean import to_unicode
from .answer_cache import LINGER_S, RUN_S, AnswerQueue, hash_key
from .deletion_marks import KEPT_S, OLD, mark_deletion
from .run_questions import forget_questions, keep_questions, read_questions

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from ....ports.usage import Payload, SpendEntry, SpendGroup
    from .connection import Connection, Database, Row

_GROUPS: Final[dict[SpendGroup, tuple[str, str, str]]] = {
    "day": ("{day}", "NULL", "first_at"),
    "run": ("run_id", "NULL", "first_at"),
    "name": ("name", "kind", "kind, grp"),
}
"""SQL of the group, of its kind, and of the order; the engine says what the day of a time is."""


class SQLUsage:
    """A usage store: implements `collection_search.ports.usage.UsageStore`.

    All methods but `put_many` and `lacks` block: a coroutine calls them through a worker thread.
    Answers are written a moment later: see `AnswerQueue`.
    """

    def __init__(
        self,
        database: Database,
        answers: AnswerQueue,
        *,
        day: str,
        clock: Callable[[], float] = time.time,
    ) -> None:
        """`day` is SQL: the UTC day of the time `at`, as in 2026-11-25."""
        self._database = database
        self._answers = answers
        self._day = day
        self._clock = clock

    def reserve(
        self, provider: str, key_id: str, *, period: str, limit: int, count: int = 1
    ) -> bool:
        """Count `count` requests before they are made; False, and nothing counted, at the limit."""
        row = {"provider": provider, "key": key_id, "period": period}
        with self._database.write(provider) as connection:  # beside those of other providers
            connection.execute(
                "INSERT INTO quotas VALUES (:provider, :key, :period, 0) ON CONFLICT DO NOTHING",
                row,
            )
            changed = connection.execute(
                f"UPDATE quotas SET used = used + :count WHERE {_ROW} AND used + :count <= :limit",
                row | {"count": count, "limit": limit},
            )
            return changed.rowcount == 1

    def settle(
        self, provider: str, key_id: str, *, period: str, used: int, reserved: int = 1
    ) -> int:
        """Replace a reservation by what was used; return the new count of the period."""
        row = {"provider": provider, "key": key_id, "period": period}
        with self._database.write(provider) as connection:
            if used != reserved:
                connection.execute(
                    "INSERT INTO quotas VALUES (:provider, :key, :period, :least)"
                    " ON CONFLICT (provider, key_id, period) DO UPDATE SET used ="
                    " CASE WHEN quotas.used + :more < 0 THEN 0 ELSE quotas.used + :more END",
                    row | {"more": used - reserved, "least": max(0, used - reserved)},
                )
            return _used(connection, row)

    def used(self, provider: str, key_id: str, *, period: str) -> int:
        """Return the requests that are counted, open reservations included."""
        row = {"provider": provider, "key": key_id, "period": period}
        with self._database.read(None) as connection:
            return _used(connection, row)

    def get(self, tenant_id: str, kind: str, key: str, *, max_age_s: float) -> bytes | None:
        """Return the payload if it is younger than `max_age_s`, else None."""
        return self.get_many(tenant_id, kind, [key], max_age_s=max_age_s).get(key)

    def get_many(
        self, tenant_id: str, kind: str, keys: Sequence[str], *, max_age_s: float
    ) -> dict[str, bytes]:
        """Return the payloads that `get` would return, by key, in one read."""
        oldest = self._clock() - max_age_s
        found = self._answers.known(tenant_id, kind, keys, oldest=oldest)
        by_hash = {hash_key(key): key for key in keys if key not in found}
        if not by_hash:
            return found
        hashes = list(by_hash)
        with self._database.read(tenant_id) as connection:
            for start in range(0, len(hashes), _MAX_HASHES):
                some = hashes[start : start + _MAX_HASHES]
                marks = ", ".join("?" * len(some))
                rows = connection.execute(f"{_GET} ({marks})", (tenant_id, kind, oldest, *some))
                found.update({by_hash[key_hash]: _as_bytes(payload) for key_hash, payload in rows})
        return found

    def lacks(self, tenant_id: str, kind: str, keys: Sequence[str]) -> bool:
        """Return whether `get_many` would find nothing; False also where that is not known."""
        return self._answers.lacks(tenant_id, kind, keys)

    def put(self, tenant_id: str, kind: str, key: str, payload: Payload) -> None:
        """Queue one payload, which a thread writes a moment later."""
        self._put(tenant_id, kind, {key: payload}, within_s=LINGER_S)

    def put_many(self, tenant_id: str, kind: str, payloads: Mapping[str, Payload]) -> None:
        """Queue all payloads, by key; a thread writes them soon, in one transaction."""
        self._put(tenant_id, kind, payloads, within_s=RUN_S)

    def put_of_run(
        self, tenant_id: str, kind: str, payloads: Mapping[str, Payload], *, began_at: float
    ) -> None:
        """Do the same for a run that began then; nothing comes back after a tenant's deletion."""
        self._put(tenant_id, kind, payloads, within_s=RUN_S, began_at=began_at)

    def flush(self) -> None:
        """Wait until all payloads are in the file; failures are logged."""
        self._answers.flush()

    def prune(self, older_than_s: float, *, tenant_id: str | None = None) -> int:
        """Delete the answers of that age, of one tenant or of all; return how many."""
        self.flush()
        oldest = self._clock() - older_than_s
        if tenant_id is None:
            return self._delete(OLD, oldest, min(oldest, self._clock() - KEPT_S))
        return self._erase("answers WHERE tenant_id = ? AND stored_at <= ?", tenant_id, oldest)

    def delete_tenant(self, tenant_id: str) -> int:
        """Delete all answers of a tenant, not its spending; return how many.

        What its runs of before write afterwards is left out, questions too.
        """
        self.flush()
        self._mark(tenant_id)
        return self._erase("answers WHERE tenant_id = ?", tenant_id)

    def add(self, entries: Iterable[SpendEntry]) -> None:
        """Store the entries in one transaction."""
        together = list(entries)
        if together:
            with self._database.write(None) as connection:
                connection.executemany(_ADD, [_spend_row(entry) for entry in together])
                keep_questions(connection, together)

    def totals(
        self, tenant_id: str, *, since: float | None = None, by: SpendGroup = "day"
    ) -> list[SpendTotal]:
        """Return sums per UTC day, run, or kind and name, of entries not older than `since`."""
        group, kind, order = _GROUPS[by]
        with self._database.read(tenant_id) as connection:
            rows = connection.execute(
                f"SELECT {group.format(day=self._day)} AS grp, {kind} AS kind, {_SUMS} FROM spend"
                f" WHERE tenant_id = ? AND at >= ? GROUP BY 1, 2, cost_usd ORDER BY {order}",
                (tenant_id, float("-inf") if since is None else since),
            ).fetchall()
            asked = read_questions(connection, tenant_id) if by == "run" else {}
        return [replace(total, question=asked.get(total.group)) for total in _totals(rows)]

    def run_total(self, tenant_id: str, run_id: str) -> SpendTotal:
        """Return the sums of one run; zeros when nothing is known of it."""
        with self._database.read(tenant_id) as connection:
            rows = connection.execute(
                f"SELECT run_id AS grp, NULL AS kind, {_SUMS} FROM spend"
                " WHERE tenant_id = ? AND run_id = ? GROUP BY run_id, cost_usd",
                (tenant_id, run_id),
            ).fetchall()
            asked = read_questions(connection, tenant_id, run_id)
        total = next(iter(_totals(rows)), SpendTotal(run_id))
        return replace(total, question=asked.get(run_id))

    def forget(self, older_than_s: float) -> int:
        """Delete the entries of that age, of all tenants; return how many."""
        return self._delete("spend WHERE at <= ?", self._clock() - older_than_s)

    def forget_tenant(self, tenant_id: str) -> int:
        """Delete all entries of a tenant; return how many.

        Its runs of before may add entries, without their questions.
        """
        self.flush()  # answers that wait are no spending
        self._mark(tenant_id)
        return self._erase("spend WHERE tenant_id = ?", tenant_id)

    def _put(
        self,
        tenant_id: str,
        kind: str,
        payloads: Mapping[str, Payload],
        *,
        within_s: float,
        began_at: float | None = None,
    ) -> None:
        now = self._clock()
        self._answers.put(
            tenant_id, kind, payloads, stored_at=now, began_at=began_at, within_s=within_s
        )

    def _mark(self, tenant_id: str) -> None:
        """Refuse what runs of before write; what they have written is deleted afterwards."""
        with self._database.write(None) as connection:
            mark_deletion(connection, tenant_id, self._clock())

    def _delete(self, what: str, *values: float) -> int:
        with self._database.write(None) as connection:
            count = connection.execute(f"DELETE FROM {what}", values).rowcount
            forget_questions(connection)
        return count

    def _erase(self, what: str, *values: str | float) -> int:
        """Delete rows so that no free page contains them."""
        with self._database.write(None) as connection:
            connection.enable_secure_delete()
            count = connection.execute(f"DELETE FROM {what}", values).rowcount
            forget_questions(connection)
        return count


_ROW: Final = "provider = :provider AND key_id = :key AND period = :period"

_GET: Final = (
    "SELECT key_hash, payload FROM answers"
    " WHERE tenant_id = ? AND kind = ? AND stored_at > ? AND key_hash IN"
)
_MAX_HASHES: Final = 500
"""Some builds of SQLite take no more than 999 parameters."""

_ADD: Final = """
    INSERT INTO spend (tenant_id, run_id, at, kind, name, requests, input_tokens, output_tokens,
                       cost_usd, cached)
    VALUES (:tenant_id, :run_id, :at, :kind, :name, :requests, :input_tokens, :output_tokens,
            :cost_usd, :cached)
"""

_SUMS: Final = """
    min(at) AS first_at, cost_usd, count(*) AS entries,
    sum(requests * (1 - cached)) AS requests, sum(requests * cached) AS cached_requests,
    sum(input_tokens) AS input_tokens, sum(output_tokens) AS output_tokens
"""
"""Sums of the entries with one cost: SQLite would add up costs in binary, Python does not."""


def _used(connection: Connection, row: dict[str, str]) -> int:
    found = connection.execute(f"SELECT used FROM quotas WHERE {_ROW}", row).fetchone()
    return 0 if found is None else int(found["used"])


def _as_bytes(payload: bytes | str) -> bytes:
    """Return the payload as bytes; SQLite files of an earlier version have texts."""
    return payload.encode() if isinstance(payload, str) else payload


def _spend_row(entry: SpendEntry) -> dict[str, Any]:
    cost = None if entry.exact_cost is None else format(entry.exact_cost, "f")
    own = {"name": to_unicode(entry.name), "cost_usd": cost, "cached": int(entry.cached)}
    return asdict(entry) | own


def _totals(rows: Iterable[Row]) -> list[SpendTotal]:
    totals: dict[tuple[str, str | None], SpendTotal] = {}
    for row in rows:
        key = (row["grp"], row["kind"])
        totals[key] = _plus(totals.get(key, SpendTotal(row["grp"], kind=row["kind"])), row)
    return list(totals.values())


def _plus(total: SpendTotal, row: Row) -> SpendTotal:
    cost, entries, first = row["cost_usd"], int(row["entries"]), row["first_at"]
    return replace(
        total,
        first_at=first if total.first_at is None else min(total.first_at, first),
        requests=total.requests + row["requests"],
        input_tokens=total.input_tokens + row["input_tokens"],
        output_tokens=total.output_tokens + row["output_tokens"],
        cost_usd=total.cost_usd + (0 if cost is None else entries * Decimal(cost)),
        unpriced=total.unpriced + (entries if cost is None else 0),
        cached_requests=total.cached_requests + row["cached_requests"],
    )
