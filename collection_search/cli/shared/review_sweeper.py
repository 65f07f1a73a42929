"""Reviews past their deadline, decided while a worker runs."""

from __future__ import annotations

import asyncio
import threading
import time
from typing import TYPE_CHECKING, Final

from ...errors import CollectionSearchError
from .review_outcome import format_review

if TYPE_CHECKING:
    from ...context import SearchContext
    from .terminal import Screen

EVERY_S: Final = 300.0
"""Time between two sweeps."""


class ReviewSweeper:
    """Sweeps in a thread of its own: a run that it resumes may wait for pages of this worker."""

    def __init__(self, context: SearchContext, screen: Screen) -> None:
        self._context = context
        self._screen = screen
        self._thread: threading.Thread | None = None
        self._due = time.monotonic()

    @property
    def is_busy(self) -> bool:
        """Return whether a sweep is under way."""
        return self._thread is not None and self._thread.is_alive()

    def start_if_due(self) -> None:
        """Start a sweep where the last one is long enough ago."""
        if self.is_busy or time.monotonic() < self._due:
            return
        self._due = time.monotonic() + EVERY_S
        self._thread = threading.Thread(target=self._sweep, name="review-sweep", daemon=True)
        self._thread.start()

    def _sweep(self) -> None:
        try:
            if not asyncio.run(self._context.storage()).gates.unfinished():
                return  # LangGraph is not even imported
            from ...graphs.collection_review import CollectionReviewGraph

            for gate in CollectionReviewGraph(self._context).sweep():
                said = format_review(gate.decision)
                self._screen.note(f"{gate.collection}: {gate.gate_id}: {said}")
        except CollectionSearchError as error:
            self._screen.warn(f"the reviews past their deadline were not decided: {error}")
