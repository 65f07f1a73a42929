"""The choice of the ledger row that is claimed next."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

from ....contracts.ingestion import Priority
from ....ports.ledger import CLAIMED_S, NETWORK
from . import ledger_statements as sql
from .collection_ids import LIVE
from .pauses import (
    active_causes,
    causes_of,
    paused_embedders,
    paused_hosts,
    read_pauses,
    start_probes,
)
from .turns import claimed_rows, next_row, open_groups, open_row, take_row

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Mapping

    from .connection import Connection, Row


NextRow: TypeAlias = "Callable[[Connection, Mapping[str, Any]], int | None]"
"""Returns the id of the row whose turn it is, None when none may be taken."""


class FormerClaim(NamedTuple):
    """A claim whose row is taken over before its lease runs out."""

    row_id: int
    fence: int


@dataclass(frozen=True, slots=True)
class RowFilter:
    """The rows that a worker can take."""

    max_attempts: int
    fetch: bool
    busy_hosts: Collection[str] = ()
    proxies: Collection[str] = ("",)
    next_row: NextRow = next_row
    up_to: Priority = Priority.REFRESH

    def find(self, connection: Connection, now: float) -> int | None:
        """Return the id of the row to be taken next, None without one."""
        return self._next(connection, read_pauses(connection), now)

    def find_former(
        self, connection: Connection, is_former: Callable[[str], bool], now: float
    ) -> FormerClaim | None:
        """Return a claim of a former owner whose row could be taken, None without one.

        Rows that this worker could not take are passed over: they must not hide others.
        """
        causes = active_causes(read_pauses(connection), now)
        of = self._parameters(causes, now)
        fetches = self.fetch and NETWORK not in causes
        for row in claimed_rows(connection, {**of, "fetch": fetches, "full": of["busy"]}):
            if is_former(row["owner"]):
                return FormerClaim(row["id"], row["fence"])
        return None

    def take(
        self, connection: Connection, row_id: int, owner: str, now: float, lease_s: float
    ) -> tuple[Row, tuple[str, ...]] | None:
        """Give the row to its new owner, or another one if it was taken meanwhile.

        Returns it, and the causes of pauses that it tries out.
        """
        pauses = read_pauses(connection)
        of = self._open_groups(connection, active_causes(pauses, now), now)
        row = open_row(connection, of, row_id)
        if row is None:
            row = open_row(connection, of, self._next(connection, pauses, now))
        if row is None or not take_row(connection, row, owner, now + lease_s):
            return None
        causes = causes_of(row["host"], row["embedder"], needs_fetch=bool(row["needs_fetch"]))
        return row, start_probes(
            connection, pauses, causes, row["id"], now=now, until=now + lease_s
        )

    def pending_in_s(self, connection: Connection, now: float) -> float | None:
        """Return the seconds until some row may be taken, None when all are done."""
        pauses = read_pauses(connection)
        of = self._parameters(active_causes(pauses, now), now)
        ends = [float(pause["until"]) for pause in pauses if pause["until"] > now]
        ends = ends if self._has_paused_rows(connection, of) else []
        fetches = self.fetch and NETWORK not in active_causes(pauses, now)
        earliest = connection.execute(sql.earliest(fetch=fetches), of).fetchone()[0]
        ends += [] if earliest is None else [float(earliest)]
        in_s = [max(0.0, end - now) for end in ends]
        query = f"SELECT min(due) FROM ledger WHERE state = 'working' AND {LIVE}"
        if (lease_end := connection.execute(query).fetchone()[0]) is not None:
            in_s.append(min(CLAIMED_S, max(0.0, lease_end - now)))
        return min(in_s, default=None)

    def _next(self, connection: Connection, pauses: list[Row], now: float) -> int | None:
        """Return the id of the row to be taken next.

        A host that was not unreached tries the network first.
        """
        causes = active_causes(pauses, now)
        if NETWORK not in causes and any(pause["cause"] == NETWORK for pause in pauses):
            known = [*causes, *(pause["cause"] for pause in pauses if pause["cause"] != NETWORK)]
            of = self._open_groups(connection, known, now)
            if (found := self.next_row(connection, of)) is not None:
                return found
        return self.next_row(connection, self._open_groups(connection, causes, now))

    def _open_groups(self, connection: Connection, causes: list[str], now: float) -> dict[str, Any]:
        hosts = (*self.busy_hosts, *paused_hosts(causes))
        fetch = self.fetch and NETWORK not in causes
        groups = open_groups(connection, now, hosts, fetch=fetch)
        return self._parameters(causes, now) | groups

    def _has_paused_rows(self, connection: Connection, of: dict[str, Any]) -> bool:
        states = sql.open_states(fetch=self.fetch)
        query = f"SELECT 1 FROM ledger WHERE {states} LIMIT 1"
        return connection.execute(query, of).fetchone() is not None

    def _parameters(self, causes: list[str], now: float) -> dict[str, Any]:
        return {
            "now": now,
            "max_attempts": self.max_attempts,
            "busy": json.dumps([*self.busy_hosts, *paused_hosts(causes)]),
            "embedders": json.dumps(paused_embedders(causes)),
            "proxies": json.dumps([*self.proxies]),
            "up_to": int(self.up_to),
        }
