"""Counts of the pages that a worker ingested."""

from __future__ import annotations

import threading
from collections import Counter
from typing import TYPE_CHECKING, Final
from urllib.parse import urlsplit

from .put_off import name_cause

if TYPE_CHECKING:
    from ...contracts.ingestion import PageDone
    from .terminal import Screen

_HOST: Final = "host:"
"""Begins the cause of a site, as in `Pause.cause`."""
_OUTCOMES: Final = ("new", "changed", "unchanged", "gone", "failed")


class Progress:
    """Counts of pages since the last printed sum; each failed page is printed at once.

    A page or a cause of waiting is printed again only when something else is wrong with it, or
    when it has worked meanwhile.
    """

    def __init__(self, screen: Screen) -> None:
        self._screen = screen
        self._lock = threading.Lock()
        self._counts: Counter[str] = Counter()
        self._problem = ""
        self._failures: dict[str, str] = {}
        """The error that was printed last, by collection and page."""
        self._pauses: dict[str, str] = {}
        """The same by cause of waiting, until it works again."""
        self.failed = 0
        """Pages that failed since the beginning."""

    def on_page_done(self, page: PageDone) -> None:
        """Count a page; the engine calls this from its threads."""
        told = f"{page.claim.scope.collection}: {page.claim.url}"
        is_new = False
        with self._lock:
            self._counts[page.outcome] += 1
            if page.outcome == "failed":
                self.failed += 1
                is_new = self._failures.get(told) != page.error
                self._failures[told] = page.error
            else:
                self._failures.pop(told, None)
                self._forget_pauses(page.claim.url)
        if is_new:
            self._screen.warn(f"{told} was not ingested: {page.error}")

    def on_pause(self, cause: str, error: str) -> None:
        """Print that work waits; the engine calls this from its threads."""
        with self._lock:
            is_new = self._pauses.get(cause) != error
            self._pauses[cause] = error
        if is_new:
            self._screen.note(f"Waiting for {name_cause(cause)}, which is tried again: {error}")

    def _forget_pauses(self, url: str) -> None:
        """Forget what works, now that the page was ingested: its site, network and embedder."""
        site = f"{_HOST}{urlsplit(url).netloc}"
        others = [cause for cause in self._pauses if not cause.startswith(_HOST)]
        for cause in (site, *others):
            self._pauses.pop(cause, None)

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
