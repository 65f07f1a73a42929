"""Log records on the terminal: by default only this package's warnings, as one line each."""

from __future__ import annotations

import logging
import sys
from contextlib import contextmanager
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Iterator

_OURS: Final = "collection_search."
_REPORTED: Final = (
    "collection_search.graphs.",
    "collection_search.nodes.",
    "collection_search.adapters.search.http.adapter",
    "collection_search.tools.similarity.",
)
"""Their warnings are in the run's output, which the command prints."""


@contextmanager
def terminal_logging() -> Iterator[None]:
    """Send log records to stderr while the command runs, and restore the set-up afterwards."""
    root, handler = logging.getLogger(), _Terminal()
    level = root.level
    root.addHandler(handler)
    logging.captureWarnings(capture=True)
    try:
        yield
    finally:
        logging.captureWarnings(capture=False)
        root.removeHandler(handler)
        root.setLevel(level)


def log_verbosely() -> None:
    """Show every record from level INFO on, with tracebacks."""
    logging.getLogger().setLevel(logging.INFO)


class _Terminal(logging.Handler):
    def emit(self, record: logging.LogRecord) -> None:
        if logging.getLogger().level == logging.INFO:
            print(self.format(record), file=sys.stderr)
        elif _is_worth_a_line(record):
            print(f"warning: {_one_line(record)}", file=sys.stderr)


def _is_worth_a_line(record: logging.LogRecord) -> bool:
    ours = record.name.startswith(_OURS) and not record.name.startswith(_REPORTED)
    return ours and record.levelno == logging.WARNING


def _one_line(record: logging.LogRecord) -> str:
    cause = record.exc_info[1] if record.exc_info else None
    return " ".join((f"{record.getMessage()}: {cause}" if cause else record.getMessage()).split())
