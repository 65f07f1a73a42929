"""Counts of the pages that a worker ingested."""

from __future__ import annotations

import threading
from collections import Counter
from typing import TYPE_CHECKING, Final
from urllib.parse import urlsplit

from ...text.counted import counted
from .failed_pages import UningestedPage, warn_of_failed
from .put_off import name_cause

if TYPE_CHECKING:
    from ...contracts.ingestion import PageDone
    from .terminal import Screen

_HOST: Final = "host:"
"""Begins the cause of a site, as in `Pause.cause`."""
_OUTCOMES: Final = ("new", "changed", "unchanged", "gone", "failed")


class Progress:
    """Counts of pages since the last printed sum, and the pages that failed.

    Failed pages are printed as a table with the sum, or with `at_once` each as it fails. A page
    or a cause of waiting is printed again only when something else is wrong with it, or when it
    has worked meanwhile.
    """

    def __init__(self, screen: Screen, *, at_once: bool) -> None:
        self._screen = screen
        self._at_once = at_once
        self._lock = threading.Lock()
        self._counts: Counter[str] = Counter()
        self._problem = ""
        self._failures: dict[tuple[str, str], str] = {}
        """The last error, by collection and page."""
        self._unprinted: dict[tuple[str, str], UningestedPage] = {}
        """Failed pages of the next table."""
        self._pauses: dict[str, str] = {}
        """The same by cause of waiting, until it works again."""
        self.failed = 0
        """Pages that failed since the beginning."""

    def on_page_done(self, page: PageDone) -> None:
        """Count a page; the engine calls this from its threads."""
        url, collection = page.claim.url, page.claim.scope.collection
        key = collection, url
        is_new = False
        with self._lock:
            self._counts[page.outcome] += 1
            if page.outcome == "failed":
                self.failed += 1
                is_new = self._failures.get(key) != page.error
                self._failures[key] = page.error
                if is_new and not self._at_once:
                    self._unprinted[key] = UningestedPage(url, page.error, collection)
            else:
                self._failures.pop(key, None)
                self._unprinted.pop(key, None)
                self._forget_pauses(url)
        if is_new and self._at_once:
            self._screen.warn(f"{collection}: {url} was not ingested: {page.error}")

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
        """Print the failed pages that were not printed, and the counts since the last sum."""
        with self._lock:
            counts, self._counts = self._counts, Counter()
            failed, self._unprinted = list(self._unprinted.values()), {}
        warn_of_failed(failed, self._screen)
        if counts:
            parts = [f"{counts[one]} {one}" for one in _OUTCOMES if counts[one]]
            self._screen.note(f"{counted(counts.total(), 'page')}: {', '.join(parts)}.")
