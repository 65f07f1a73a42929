"""Pauses: work that waits until a cause outside of its pages is gone."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, Final

from ....contracts.ingestion import Pause
from ....ports.ledger import (
    NETWORK,
    PAUSE_MAX_S,
    PROXY,
    UNREACHED_S,
    embedder_cause,
    host_cause,
    pause_delay_s,
)
from .collection_ids import LIVE
from .ledger_statements import BY_OUR_PROXY, NEEDS_FETCH

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping, Sequence

    from ....contracts.ingestion import Claim
    from .connection import Connection, Row

_HOST: Final = host_cause("")
_EMBEDDER: Final = embedder_cause("")

_NO_NETWORK: Final = "No site can be reached."
"""The reason that every tenant may read: the error names a site of one of them."""
_PAUSE: Final = """
    INSERT INTO pauses (cause, reason, since, until) VALUES (:cause, :reason, :since, :until)
    ON CONFLICT (cause) DO UPDATE SET reason = excluded.reason, since = excluded.since,
        until = CASE WHEN pauses.until > excluded.until THEN pauses.until ELSE excluded.until END,
        probe = NULL
    WHERE pauses.probe IS NULL OR pauses.probe = :row OR pauses.until <= :now OR :since > :now
"""
"""A failure of an older claim does not end the try of another row.

`since` lies in the future where a site itself asked for the pause: it is not tried earlier."""
_UNDER_WAY: Final = "state IN ('waiting', 'to_fetch')"
_BY_CAUSE: Final = f"""
    SELECT cause, reason, CASE WHEN since > :now THEN :now ELSE since END AS since, until, (
        SELECT count(*) FROM ledger JOIN collections ON collections.id = collection_id
        WHERE {_UNDER_WAY} AND deleted_at IS NULL AND (
            (pauses.cause = '{NETWORK}' AND {NEEDS_FETCH})
            OR (pauses.cause = '{_HOST}' || host AND {NEEDS_FETCH})
            OR pauses.cause = '{_EMBEDDER}' || embedder
        )
    ) AS pages FROM pauses WHERE until > :now
"""
_BY_HOST: Final = f"""
    SELECT '{_HOST}' || host AS cause, max(error) AS reason, :now AS since,
        min(due) AS until, count(*) AS pages
    FROM ledger WHERE {_UNDER_WAY} AND {LIVE} AND due > :now AND error IS NOT NULL
        AND '{_HOST}' || host NOT IN (SELECT cause FROM pauses WHERE until > :now)
        AND (ledger.cause IS NULL OR ledger.cause NOT IN (
            SELECT cause FROM pauses WHERE until > :now))
    GROUP BY host
"""


_BY_PROXY: Final = f"""
    SELECT '{PROXY}' AS cause, 'They were accepted with another fetch_proxy.' AS reason,
        :now AS since, :now AS until, count(*) AS pages
    FROM ledger WHERE state = 'to_fetch' AND {LIVE} AND NOT {BY_OUR_PROXY}
"""


def read_pauses(connection: Connection) -> list[Row]:
    """Return all pauses, those that are due included."""
    return connection.execute("SELECT cause, since, until FROM pauses").fetchall()


def active_causes(pauses: Iterable[Row], now: float) -> list[str]:
    """Return the causes whose work waits at this time."""
    return [pause["cause"] for pause in pauses if pause["until"] > now]


def names_of(causes: Iterable[str], kind: str) -> list[str]:
    """Return what the causes of this kind name: hosts or fingerprints.

    >>> names_of(["host:a.example", "network"], "host:")
    ['a.example']
    """
    return [cause.removeprefix(kind) for cause in causes if cause.startswith(kind)]


def paused_hosts(causes: Iterable[str]) -> list[str]:
    """Return the hosts among the causes."""
    return names_of(causes, _HOST)


def paused_embedders(causes: Iterable[str]) -> list[str]:
    """Return the fingerprints among the causes."""
    return names_of(causes, _EMBEDDER)


def causes_of(host: str, embedder: str | None, *, needs_fetch: bool) -> list[str]:
    """Return the causes that can hold up such a row."""
    causes = [NETWORK, host_cause(host)] if needs_fetch else []
    return [*causes, embedder_cause(embedder)] if embedder else causes


def start_probes(
    connection: Connection,
    pauses: Iterable[Row],
    causes: Sequence[str],
    row_id: int,
    *,
    now: float,
    until: float,
) -> tuple[str, ...]:
    """Let this row alone try the causes that are paused; return them.

    A failure that nobody has seen for long does not count any more.
    """
    probes = [pause["cause"] for pause in pauses if pause["cause"] in causes]
    of = {"until": until, "row": row_id, "now": now}
    connection.executemany(
        f"UPDATE pauses SET since = CASE WHEN until + {PAUSE_MAX_S} < :now THEN :now"
        " ELSE since END, until = :until, probe = :row WHERE cause = :cause",
        [{**of, "cause": cause} for cause in probes],
    )
    return tuple(probes)


def pause_work(
    connection: Connection,
    claim: Claim,
    cause: str,
    *,
    reason: str,
    now: float,
    in_s: float | None = None,
) -> float:
    """Pause the work for `in_s` seconds, else for `pause_delay_s`; return the time of its end."""
    query = "SELECT since, until FROM pauses WHERE cause = ?"
    found = connection.execute(query, (cause,)).fetchone()
    since = now if found is None else min(found["since"], now)
    if found is not None and now > found["until"] + PAUSE_MAX_S:
        since = now  # nobody has tried for long
    until = now + (pause_delay_s(now - since) if in_s is None else in_s)
    reason = _NO_NETWORK if cause == NETWORK else reason
    of = {"cause": cause, "reason": reason, "now": now, "until": until}
    of["row"] = _tried_by(connection, claim)
    of["since"] = since if in_s is None else until
    if found is not None:
        ends = "UPDATE pauses SET until = :now WHERE cause = :cause AND probe = :row"
        connection.execute(ends, of)  # the end of its try, not of the lease
    connection.execute(_PAUSE, of)
    return until


def is_unreached(connection: Connection, causes: Collection[str], now: float) -> bool:
    """Return whether a host among the causes has given no answer to tries of `UNREACHED_S`.

    While the network itself is paused, that may be its cause.
    """
    query = "SELECT cause, since, until FROM pauses"
    known = {pause["cause"]: pause for pause in connection.execute(query)}
    if NETWORK in causes or NETWORK in known:
        return False
    hosts = [known[cause] for cause in causes if cause.startswith(_HOST) and cause in known]
    return any(
        now - host["since"] >= UNREACHED_S and now <= host["until"] + PAUSE_MAX_S for host in hosts
    )


def end_pauses(connection: Connection, causes: Collection[str], now: float) -> None:
    """End the pauses; their rows are due. With the network the hosts are tried again, too."""
    for cause in causes:
        connection.execute("DELETE FROM pauses WHERE cause = ?", (cause,))
        connection.execute(
            f"UPDATE ledger SET due = 0, cause = NULL WHERE cause = ? AND {_UNDER_WAY}", (cause,)
        )
    if NETWORK in causes:
        hosts = f"cause LIKE '{_HOST}%' AND since <= ? AND probe IS NULL"
        connection.execute(f"UPDATE pauses SET until = 0 WHERE {hosts}", (now,))
        connection.execute(
            f"UPDATE ledger SET due = 0 WHERE {_UNDER_WAY}"
            " AND cause IN (SELECT cause FROM pauses WHERE until = 0)"
        )


def end_probes(connection: Connection, claim: Claim, now: float) -> None:
    """Let another row try the causes that this claim was to try."""
    connection.execute(
        "UPDATE pauses SET until = ?, probe = NULL WHERE probe = ?",
        (now, _tried_by(connection, claim)),
    )


def _tried_by(connection: Connection, claim: Claim) -> int | None:
    """Return the row whose tries are the claim's; None once a later claim has the row."""
    query = "SELECT 1 FROM ledger WHERE id = ? AND fence != ? AND state = 'working'"
    found = connection.execute(query, (claim.row_id, claim.fence)).fetchone()
    return claim.row_id if found is None else None


def has_pauses(connection: Connection) -> bool:
    """Return whether anything is paused, or was not long ago."""
    return connection.execute("SELECT 1 FROM pauses LIMIT 1").fetchone() is not None


def try_again(
    connection: Connection, now: float, *, of_pages: Mapping[str, Any] | None = None
) -> None:
    """Let pages that are asked for now try the network and their hosts at once.

    `of_pages` are these pages, as `collection` and `keys`; without it all hosts are tried.
    """
    theirs = (
        f"cause IN (SELECT '{_HOST}' || host FROM ledger WHERE collection_id = :collection"
        " AND url_key IN (SELECT value FROM json_each(:keys)))"
    )
    hosts = f"cause LIKE '{_HOST}%'" if of_pages is None else theirs
    connection.execute(
        "UPDATE pauses SET until = :now WHERE probe IS NULL AND since <= :now AND until > :now"
        f" AND (cause = '{NETWORK}' OR {hosts})",
        {**(of_pages or {}), "now": now},
    )
    connection.execute(
        f"UPDATE ledger SET due = 0 WHERE {_UNDER_WAY} AND due > :now AND cause IN"
        " (SELECT cause FROM pauses WHERE until = :now AND since <= :now)",
        {"now": now},
    )


def list_pauses(connection: Connection, now: float) -> list[Pause]:
    """Return the pauses that hold up work at this time, without their numbers of pages."""
    query = (
        "SELECT cause, reason, CASE WHEN since > :now THEN :now ELSE since END AS since, until"
        " FROM pauses"
        " WHERE until > :now AND probe IS NULL"  # a try may end at any time
    )
    return [Pause(**row) for row in connection.execute(query, {"now": now})]


def list_put_off(connection: Connection, now: float, proxies: Collection[str] = ()) -> list[Pause]:
    """Return what waits for a later time, by cause, the earliest first.

    With `proxies` also what waits for a worker with another one.
    """
    query = f"{_BY_CAUSE} UNION ALL {_BY_HOST} ORDER BY until, cause"
    found = connection.execute(query, {"now": now}).fetchall()
    if proxies:
        of = {"now": now, "proxies": json.dumps([*proxies])}
        found += connection.execute(_BY_PROXY, of).fetchall()
    return [Pause(**row) for row in found if row["pages"]]
