"""The output of an error: one sentence, one exit code, one JSON object."""

from __future__ import annotations

import json
import sys
from enum import IntEnum
from typing import TYPE_CHECKING, Any, Final

from ...errors import (
    ArrowSyntaxError,
    CollectionSearchError,
    CostLimitReached,
    FetchError,
    IngestError,
    InputError,
    ModelError,
    QualityThresholdError,
    SearchProviderError,
)
from .interruption import INTERRUPTED
from .near_names import explain_option
from .signals import stop_signal
from .terminal import printable
from .wrapping import fit_stderr

if TYPE_CHECKING:
    from collections.abc import Mapping

    from pydantic import ValidationError


class ExitCode(IntEnum):
    """The exit code of a command."""

    DONE = 0
    NOT_WRITTEN = 1
    """The output cannot be written: the disk is full, for example."""
    WRONG_INPUT = 2
    """Usage, input, settings or a database that cannot be used: nothing was done."""
    NOTHING_FOUND = 3
    PROVIDER_FAILED = 4
    """Or a model, or the site of a page; or the ceiling of the cost allowed no call."""
    INGESTION_FAILED = 5
    """At least in part."""
    HUNG_UP = 129
    """By SIGHUP: the terminal was closed."""
    INTERRUPTED = 130
    """By Ctrl-C."""
    READER_GONE = 141
    """Another program read the output and has ended, as after `| head`."""
    TERMINATED = 143
    """By SIGTERM."""


class UsageError(CollectionSearchError):
    """The command line cannot be understood."""

    def __init__(self, error: Any) -> None:
        path = error.ctx.command_path if error.ctx else "collection-search"
        problem = (explain_option(error) or _explain_value(error)).strip().rstrip(".")
        end = "" if problem.endswith("?") else "."
        super().__init__(f"{problem}{end} See '{path} --help'.")


def _explain_value(error: Any) -> str:
    """Return the sentence of a wrong value; where Typer quotes pydantic, in our words."""
    if error.__cause__ is not None:
        from pydantic import ValidationError

        from ...text.problems import list_problems

        if isinstance(error.__cause__, ValidationError):
            error.message = list_problems(error.__cause__)[0]["msg"]
    said: str = error.format_message()
    return said


def refuse_option(error: ValidationError, flags: Mapping[str, str]) -> InputError:
    """Return the error of the first wrong option, with its flag and the given value.

    `flags` are the fields whose flag has another name.
    """
    from ...text.problems import list_problems

    problem = list_problems(error, with_input=True)[0]
    name = str(problem["loc"][0])
    flag = flags.get(name, f"--{name}")
    return InputError(f"{flag} {problem['input']!r} cannot be used: {problem['msg']}.")


class Interrupted(CollectionSearchError):  # noqa: N818 - an end, not a mistake
    """Ctrl-C, SIGTERM or SIGHUP; `outcome` is the run's where it had one already."""

    def __init__(self, message: str = INTERRUPTED, outcome: str | None = None) -> None:
        super().__init__(message)
        self.outcome = outcome


_CODES: Final[dict[type[CollectionSearchError], ExitCode]] = {
    SearchProviderError: ExitCode.PROVIDER_FAILED,
    ModelError: ExitCode.PROVIDER_FAILED,
    CostLimitReached: ExitCode.PROVIDER_FAILED,
    FetchError: ExitCode.PROVIDER_FAILED,
    IngestError: ExitCode.INGESTION_FAILED,
    QualityThresholdError: ExitCode.NOTHING_FOUND,
}


def exit_code(error: CollectionSearchError) -> ExitCode:
    """Return the code of an error; an error that is not listed is wrong input: 2.

    >>> exit_code(ModelError("no answer")), exit_code(CollectionSearchError("no such folder"))
    (<ExitCode.PROVIDER_FAILED: 4>, <ExitCode.WRONG_INPUT: 2>)
    """
    if isinstance(error, Interrupted):
        return interrupt_code()
    codes = (code for kind, code in _CODES.items() if isinstance(error, kind))
    return next(codes, ExitCode.WRONG_INPUT)


def interrupt_code() -> ExitCode:
    """Return the code of the signal that stopped the command."""
    number = stop_signal()
    return ExitCode.INTERRUPTED if number is None else ExitCode(128 + number)


def print_error(error: CollectionSearchError, *, as_json: bool) -> ExitCode:
    """Print the error, on stdout too where JSON was asked for, and return the exit code."""
    text = error.reason if isinstance(error, ArrowSyntaxError) else str(error)
    message = " ".join(printable(text).split())
    for row in fit_stderr(f"collection-search: {message}"):
        print(row, file=sys.stderr)
    if isinstance(error, ArrowSyntaxError):
        print(f"{printable(error.line)}\n{' ' * error.position}^", file=sys.stderr)
    if as_json:
        cause: dict[str, Any] = {"kind": type(error).__name__, "message": message}
        cause |= {"position": error.position} if isinstance(error, ArrowSyntaxError) else {}
        print(json.dumps({"error": cause, "outcome": getattr(error, "outcome", None)}))
    return exit_code(error)
