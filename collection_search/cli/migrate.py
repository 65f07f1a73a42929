"""`collection-search migrate`: from the embedded files to a PostgreSQL database."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from ..errors import InputError, MissingExtraError
from .shared.terminal import Screen

if TYPE_CHECKING:
    from collections.abc import Callable

    from ..adapters.moving.home import Moved
    from ..settings import Settings


def migrate(
    *,
    to: Annotated[
        str | None,
        typer.Option(
            "--to",
            metavar="URL",
            help="The database; by default COLLECTION_SEARCH_DATABASE_URL, which hides a password"
            " from other users of this machine.",
        ),
    ] = None,
    restart: Annotated[
        bool, typer.Option("--restart", help="Empty an unfinished target and begin anew.")
    ] = False,
) -> None:
    """Carry all data over from the embedded files to PostgreSQL.

    Collections, ledger, reviews with their runs, spending and the server's runs of all tenants.
    The files of COLLECTION_SEARCH_HOME stay as they are; nobody may write to them meanwhile. An
    interrupted migration goes on when the command is repeated. At the end every table is compared
    by the number and the hash of its rows.
    """
    from ..settings.process_defaults import process_settings

    settings, screen = process_settings(), Screen()
    url = to or _set_url(settings)
    move_home = _mover()
    with screen.bar("Migrating") as advance:
        moved = move_home(settings.home, url, restart=restart, on_progress=_in_one_bar(advance))
    if moved is None:
        screen.line("The data was carried over before; nothing was changed.")
        return
    for table, rows in moved.rows.items():
        if rows:
            screen.line(f"{table:<20}{rows:>12,}")
    screen.line(
        f"Carried over and compared {sum(moved.rows.values()):,} rows and the checkpoints"
        f" of {moved.threads:,} runs."
    )
    if settings.database_url is None:
        screen.note("Set COLLECTION_SEARCH_DATABASE_URL to use the database from now on.")


def _set_url(settings: Settings) -> str:
    if settings.database_url is None:
        raise InputError("Name the database by --to, or set COLLECTION_SEARCH_DATABASE_URL.")
    return settings.postgres_url()


def _mover() -> Callable[..., Moved | None]:
    """Return what carries a folder over. Raises MissingExtraError."""
    try:
        from ..adapters.moving.home import move_home
    except ModuleNotFoundError as error:
        raise MissingExtraError(
            f"PostgreSQL needs the package {error.name}, which is not installed."
            " Run: pip install 'collection-search[postgres]'."
        ) from error
    return move_home


def _in_one_bar(advance: Callable[[int, int], None]) -> Callable[[str, int, int], None]:
    """Return the progress of all steps in one bar: rows are counted twice, runs once."""
    totals: dict[str, int] = {}

    def report(step: str, done: int, total: int) -> None:
        before = sum(count for name, count in totals.items() if name != step)
        totals[step] = total
        rows = 0 if "compare" in totals else totals["copy"]
        advance(before + done, sum(totals.values()) + rows)

    return report
