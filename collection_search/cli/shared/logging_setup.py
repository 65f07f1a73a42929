"""Log records on the terminal: by default only this package's warnings, as one line each."""

from __future__ import annotations

import logging
import sys
import time
from contextlib import contextmanager
from typing import TYPE_CHECKING, Final

from .wrapping import fit_stderr

if TYPE_CHECKING:
    from collections.abc import Iterator

_PACKAGE: Final = "collection_search"
_REPORTED: Final = (
    "collection_search.graphs.",
    "collection_search.nodes.",
    "collection_search.adapters.search.http.adapter",
    "collection_search.tools.similarity.",
)
"""Their warnings are in the run's output, which the command prints."""
_TRACEBACK_CHARS: Final = 100_000


@contextmanager
def terminal_logging() -> Iterator[None]:
    """Send log records to stderr while the command runs, and restore the set-up afterwards."""
    root, ours, handler = logging.getLogger(), logging.getLogger(_PACKAGE), _Terminal()
    levels = root.level, ours.level
    root.addHandler(handler)
    logging.captureWarnings(capture=True)
    try:
        yield
    finally:
        logging.captureWarnings(capture=False)
        root.removeHandler(handler)
        root.setLevel(levels[0])
        ours.setLevel(levels[1])


def log_verbosely() -> None:
    """Show each step of this package, and what libraries log from level INFO on.

    Each record has the seconds since the command's start. Secrets are masked, in tracebacks too.
    """
    root = logging.getLogger()
    root.setLevel(logging.INFO)
    logging.getLogger(_PACKAGE).setLevel(logging.DEBUG)
    for handler in root.handlers:
        if isinstance(handler, _Terminal):
            handler.is_verbose = True


class _Terminal(logging.Handler):
    def __init__(self) -> None:
        super().__init__()
        self.is_verbose = False
        self._started = time.time()

    def emit(self, record: logging.LogRecord) -> None:
        if self.is_verbose:
            from ...text.redaction import redact

            text = redact(self.format(record), most=_TRACEBACK_CHARS)
            print(f"{record.created - self._started:7.3f} s  {text}", file=sys.stderr)
        elif _is_worth_a_line(record):
            for row in fit_stderr(f"warning: {_one_line(record)}"):
                print(row, file=sys.stderr)


def _is_worth_a_line(record: logging.LogRecord) -> bool:
    ours = record.name.startswith(f"{_PACKAGE}.") and not record.name.startswith(_REPORTED)
    return ours and record.levelno == logging.WARNING


def _one_line(record: logging.LogRecord) -> str:
    cause = record.exc_info[1] if record.exc_info else None
    return " ".join((f"{record.getMessage()}: {cause}" if cause else record.getMessage()).split())
