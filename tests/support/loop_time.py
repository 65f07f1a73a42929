"""The time of an event loop, for limits that end when a test says so."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import pytest


class LoopTime:
    """Moves the time of the running event loop on, until the end of the test."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        loop = asyncio.get_running_loop()
        real, self._ahead_s = loop.time, 0.0
        monkeypatch.setattr(loop, "time", lambda: real() + self._ahead_s)

    def advance(self, seconds: float) -> None:
        """Let time pass: what is due by then ends at the loop's next step."""
        self._ahead_s += seconds
