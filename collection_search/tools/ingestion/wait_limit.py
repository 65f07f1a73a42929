"""The limit of a wait for pages."""

from __future__ import annotations

import time
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable


@dataclass(slots=True)
class WaitLimit:
    """A time limit that starts again with each finished page where it `is_renewed`.

    >>> from collection_search.testing import FakeClock
    >>> clock = FakeClock()
    >>> limit = WaitLimit(10, is_renewed=True, monotonic=clock.monotonic)
    >>> for left in (3, 2, 2):
    ...     clock.advance(6)
    ...     limit.note(left)
    >>> limit.left_s
    4.0
    """

    timeout_s: float
    is_renewed: bool = False
    monotonic: Callable[[], float] = time.monotonic
    _ends_at: float = field(init=False)
    _pages_left: int | None = field(init=False, default=None)

    def __post_init__(self) -> None:
        self._ends_at = self.monotonic() + self.timeout_s

    @property
    def left_s(self) -> float:
        """Return the seconds until the end; 0 or less after it."""
        return self._ends_at - self.monotonic()

    def note(self, pages_left: int) -> None:
        """Note how many pages are not finished yet."""
        before, self._pages_left = self._pages_left, pages_left
        if self.is_renewed and before is not None and pages_left < before:
            self._ends_at = self.monotonic() + self.timeout_s
