"""Calls of a store that wait while it cannot be used."""

from __future__ import annotations

import asyncio
import logging
import time
from typing import TYPE_CHECKING, Final, ParamSpec, TypeVar

from ...errors import StoreError
from ...runtime.concurrency import offload

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

logger = logging.getLogger(__name__)

P = ParamSpec("P")
T = TypeVar("T")

FIRST_DELAY_S: Final = 0.5
MAX_DELAY_S: Final = 15.0
PATIENCE_S: Final = 15.0
"""After this time callers that wait are told of the failure; the work still goes on."""


class StoreRetry:
    """Repeats calls of a store that is locked or full, so that finished work is not lost.

    Other errors, and all errors once `is_open` returns False, reach the caller. `tell` is called
    when there is a `failure`.
    """

    def __init__(
        self,
        is_open: Callable[[], bool],
        tell: Callable[[], None] = lambda: None,
        *,
        sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
        monotonic: Callable[[], float] = time.monotonic,
    ) -> None:
        self._is_open = is_open
        self._tell = tell
        self._sleep = sleep
        self._monotonic = monotonic
        self._failing: dict[object, tuple[float, StoreError]] = {}
        """Calls that are being repeated, with the time of their first failure."""

    @property
    def failure(self) -> StoreError | None:
        """The error of a call that has failed for `PATIENCE_S`; None without one."""
        latest = self._monotonic() - PATIENCE_S
        long = (error for since, error in [*self._failing.values()] if since <= latest)
        return next(long, None)

    async def call(self, function: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
        """Return what the blocking function returns, in a thread. Raises what it raises."""
        delay_s, this = FIRST_DELAY_S, object()
        try:
            while True:
                try:
                    return await offload(function, *args, **kwargs)
                except StoreError as error:
                    if not error.retryable or not self._is_open():
                        raise
                    self._note(this, error)
                await self._sleep(delay_s)
                delay_s = min(2 * delay_s, MAX_DELAY_S)
        finally:
            self._failing.pop(this, None)

    def _note(self, call: object, error: StoreError) -> None:
        if not self._failing:
            logger.warning("the ingestion waits for its store: %s", error)
        since, _ = self._failing.get(call, (self._monotonic(), error))
        self._failing[call] = since, error
        if self.failure is not None:
            self._tell()
