"""A whole data folder, carried over to PostgreSQL, compared, and carried on with after a stop."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from ...errors import InputError
from ..checkpoints.moving import copy_checkpoints, find_threads
from ..stores.postgres.database import SCHEMA
from .moved_tables import TABLES, Digest, target_columns, to_compared, to_target
from .source import open_source
from .target import check_url, difference, open_target

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from .moved_tables import Table
    from .source import MigrationSource
    from .target import MigrationTarget

BATCH: Final = 500
"""Rows that are stored at once."""


class Moved(NamedTuple):
    """What was carried over."""

    rows: dict[str, int]
    """By table."""
    threads: int
    """Paused and ended runs with their checkpoints."""


def move_home(
    home: Path,
    url: str,
    *,
    schema: str = SCHEMA,
    restart: bool = False,
    on_progress: Callable[[str, int, int], None] = lambda _step, _done, _total: None,
    batch: int = BATCH,
) -> Moved | None:
    """Carry a data folder over; None when that was finished before. Blocks, not for an event loop.

    What an interrupted call has stored stays, and the next one goes on behind it. `on_progress`
    gets the step with the count so far and in all: `copy` and `compare` count rows, `checkpoints`
    runs. Raises InputError for an open review without its checkpoint or a target with other data;
    StoreError.
    """
    check_url(url)
    with open_source(home) as source:
        threads = find_threads(home / "checkpoints.db")
        _require_checkpoints(source, threads)
        with open_target(url, schema=schema) as target:
            if not target.begin(str(home.resolve()), restart=restart):
                return None
            _copy(source, target, batch, on_progress)
            if threads:
                tell = partial(on_progress, "checkpoints")
                copy_checkpoints(home / "checkpoints.db", url, schema=schema, on_progress=tell)
            rows = _compare(source, target, on_progress)
            target.finish()
    return Moved(rows, len(threads))


def _require_checkpoints(source: MigrationSource, threads: set[str]) -> None:
    """Raise InputError with the names of open reviews whose runs could not go on."""
    lost = [gate for gate in source.waiting_gates() if gate.thread_id not in threads]
    if lost:
        names = ", ".join(f"{gate.gate_id} (tenant {gate.tenant_id})" for gate in lost)
        raise InputError(
            f"Open reviews have no checkpoint in {source.home / 'checkpoints.db'}: {names}."
            " Restore that file from a backup, answer them in the program that keeps their runs,"
            " or delete their collection, and try again."
        )


def _copy(
    source: MigrationSource,
    target: MigrationTarget,
    batch: int,
    on_progress: Callable[[str, int, int], None],
) -> None:
    """Copy the tables, each behind the key that was stored last."""
    total, done = sum(map(source.count, TABLES)), 0
    for table in TABLES:
        after, rows = target.reached(table)
        done += rows
        on_progress("copy", done, total)
        columns = source.columns(table)
        written = target_columns(table, columns)
        for some in _batches(source, table, columns, after, batch):
            given = [to_target(table, columns, row) for row in some]
            target.write(table, written, given, _key(table, columns, some[-1]))
            done += len(some)
            on_progress("copy", done, total)
        if table.has_sequence:
            target.give_ids_after(table, source.last_id(table))


def _compare(
    source: MigrationSource, target: MigrationTarget, on_progress: Callable[[str, int, int], None]
) -> dict[str, int]:
    """Return the number of rows by table. Raises StoreError where number or hash differ."""
    total, rows, wrong = sum(map(source.count, TABLES)), {}, []
    for table in TABLES:
        columns = source.columns(table)
        if not _is_equal(source, target, table, columns):
            wrong.append(table.name)
        rows[table.name] = source.count(table)
        on_progress("compare", sum(rows.values()), total)
    if wrong:
        raise difference(wrong)
    return rows


def _is_equal(
    source: MigrationSource, target: MigrationTarget, table: Table, columns: list[str]
) -> bool:
    if not columns:
        return target.count(table) == 0
    here = Digest()
    for some in _batches(source, table, columns, None, BATCH):
        for row in some:
            here.add(to_compared(table, columns, row))
    return here == target.digest(table, target_columns(table, columns))


def _batches(
    source: MigrationSource, table: Table, columns: list[str], after: list[Any] | None, size: int
) -> Iterator[list[tuple[Any, ...]]]:
    while columns and (rows := source.batch(table, columns, after, size)):
        yield rows
        after = _key(table, columns, rows[-1])


def _key(table: Table, columns: list[str], row: tuple[Any, ...]) -> list[Any]:
    return [row[columns.index(name)] for name in table.key]
