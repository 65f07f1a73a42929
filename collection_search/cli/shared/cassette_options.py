"""The options of a command that records or replays, and its notes about the cassette."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from ...errors import InputError
from .exit_codes import ExitCode

if TYPE_CHECKING:
    from ...cassette import Cassette
    from .terminal import Screen

Record = Annotated[
    Path | None,
    typer.Option(help="Add everything that search and models say to this file, without secrets."),
]
Replay = Annotated[
    Path | None,
    typer.Option(help="Answer from a recorded file: needs no network and no key."),
]


def open_cassette(record: Path | None, replay: Path | None) -> Cassette | None:
    """Return the cassette of the options, if any. Raises InputError for an unusable file."""
    if record is None and replay is None:
        return None
    if record is not None and replay is not None:
        raise InputError("--record and --replay exclude each other: give one of them.")
    from ...cassette import Cassette

    return Cassette.replay(replay) if replay is not None else Cassette.record(record or Path())


def report_cassette(cassette: Cassette | None, code: ExitCode, screen: Screen) -> ExitCode:
    """Print the cassette's use and return the exit code; an unrecorded question is wrong input."""
    if cassette is None:
        return code
    if not cassette.replays:
        screen.note(f"Recorded in {cassette.path}; --replay {cassette.path} plays it.")
        return code
    screen.note(f"Replayed from {cassette.path}: nothing was sent anywhere.")
    return ExitCode.WRONG_INPUT if cassette.missing else code
