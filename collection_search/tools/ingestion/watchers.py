"""Those who follow the work of an ingestion engine."""

from __future__ import annotations

import logging
from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from ...contracts.ingestion import PageDone

    PageListener = Callable[[PageDone], None]
    PauseListener = Callable[[str, str], None]

logger = logging.getLogger(__name__)


class Watchers:
    """A listener of pages, and functions that wake waiting callers.

    The engine's threads call them: they must be quick and may not raise.
    """

    def __init__(self) -> None:
        self.on_page_done: PageListener | None = None
        """Gets each page that was stored, found unchanged, retired or given up."""
        self.on_pause: PauseListener | None = None
        """Gets the cause of each new pause, as in `Pause.cause`, and its error."""
        self._wakes: list[Callable[[], None]] = []

    @contextmanager
    def waking(self, wake: Callable[[], None]) -> Iterator[None]:
        """Call `wake` within the block whenever a page is done, and when the work ends."""
        self._wakes.append(wake)
        try:
            yield
        finally:
            self._wakes.remove(wake)

    def tell_pause(self, cause: str, error: str) -> None:
        """Tell that work waits for a cause outside of its pages."""
        if self.on_pause is not None:
            self.on_pause(cause, error)

    def tell(self, page: PageDone | None = None) -> None:
        """Tell that a page is done; without one, that the work has ended."""
        if page is not None:
            logger.debug("page %s: %s", page.outcome, page.claim.url)
            if self.on_page_done is not None:
                self.on_page_done(page)
        for wake in tuple(self._wakes):
            wake()
