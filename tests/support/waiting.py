"""Waiting for what another thread, task or process does: never for ever."""

from __future__ import annotations

import asyncio
import time
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Callable

PATIENCE_S: Final = 60.0
"""Long: a busy machine is slow, and only a test that fails waits to the end."""
STEP_S: Final = 0.01


def wait_until(condition: Callable[[], object], timeout_s: float = PATIENCE_S) -> None:
    """Return once the condition is true. Raises AssertionError when it does not come true."""
    deadline = time.monotonic() + timeout_s
    while not condition():
        assert time.monotonic() < deadline, f"not true within {timeout_s:.0f} s"
        time.sleep(STEP_S)


async def wait_until_async(
    condition: Callable[[], object],
    timeout_s: float = PATIENCE_S,
) -> None:
    """Do the same while other tasks run."""
    deadline = time.monotonic() + timeout_s
    while not condition():
        assert time.monotonic() < deadline, f"not true within {timeout_s:.0f} s"
        await asyncio.sleep(STEP_S)
