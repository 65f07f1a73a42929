"""Counts of the pages that a worker ingested."""

from __future__ import annotations

import threading
from collections import Counter
from typing import TYPE_CHECKING, Final

from .put_off import name_cause

if TYPE_CHECKING:
    from ...contracts.ingestion import PageDone
    from .terminal import Screen

_OUTCOMES: Final = ("new", "changed", "unchanged", "gone", "failed")


class Progress:
    """Counts of pages since the last printed sum; each failed page is printed at once."""

    def __init__(self, screen: Screen) -> None:
        self._screen = screen
        self._lock = threading.Lock()
        self._counts: Counter[str] = Counter()
        self._problem = ""
        self.failed = 0
        """Pages that failed since the beginning."""
        self.first_failure = ""
        """The first of them, with its cause."""

    def on_page_done(self, page: PageDone) -> None:
        """Count a page; the engine calls this from its threads."""
        url, collection = page.claim.url, page.claim.scope.collection
        is_failed = page.outcome == "failed"
        with self._lock:
            self._counts[page.outcome] += 1
            self.failed += is_failed
            if is_failed:
                self.first_failure = self.first_failure or f"{url}: {page.error}"
        if is_failed:
            self._screen.warn(f"{collection}: {url} was not ingested: {page.error}")

    def on_pause(self, cause: str, error: str) -> None:
        """Print that work waits; the engine calls this from its threads."""
        self._screen.note(f"Waiting for {name_cause(cause)}, which is tried again: {error}")

    def warn_once(self, problem: str) -> None:
        """Print a problem of the work, unless it is the one that was printed last."""
        if problem != self._problem:
            self._problem = problem
            self._screen.warn(problem)

    def print_sum(self) -> None:
        """Print the counts since the last sum, if there are any."""
        with self._lock:
            counts, self._counts = self._counts, Counter()
        if counts:
            parts = [f"{counts[one]} {one}" for one in _OUTCOMES if counts[one]]
            total = counts.total()
            self._screen.note(f"{total} {'page' if total == 1 else 'pages'}: {', '.join(parts)}.")
