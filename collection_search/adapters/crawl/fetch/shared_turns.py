"""The turns of requests that this process shares with others."""

from __future__ import annotations

import logging
import time
from typing import TYPE_CHECKING, Final

from ....errors import StoreError
from ....runtime.concurrency import offload
from ....text.redaction import error_message

if TYPE_CHECKING:
    from collections.abc import Callable

    from ....ports.pages import RequestTurns

RETRY_S: Final = 30.0
"""How long a store that has failed is not asked."""

_LOGGER = logging.getLogger(__name__)


class SharedTurns:
    """Turns that never fail: without their store each process keeps the delays for itself."""

    def __init__(
        self, turns: RequestTurns, *, monotonic: Callable[[], float] = time.monotonic
    ) -> None:
        self._turns = turns
        self._monotonic = monotonic
        self._again_at = 0.0

    async def take(self, site: str, delay_s: float, most_s: float) -> float:
        """Return the seconds until the turn of this request; see `RequestTurns.take`."""
        if delay_s <= 0 or self._has_failed():
            return 0.0
        try:
            return await offload(self._turns.take, site, delay_s, most_s)
        except StoreError as error:
            self._fail(error)
            return 0.0

    async def hold(self, site: str, seconds: float) -> None:
        """Let no process ask the site before so many seconds have passed."""
        if self._has_failed():
            return
        try:
            await offload(self._turns.hold, site, seconds)
        except StoreError as error:
            self._fail(error)

    def _has_failed(self) -> bool:
        return self._monotonic() < self._again_at

    def _fail(self, error: StoreError) -> None:
        self._again_at = self._monotonic() + RETRY_S
        _LOGGER.warning(
            "Turns are not shared with other processes for %.0f s: %s",
            RETRY_S,
            error_message(error),
        )
