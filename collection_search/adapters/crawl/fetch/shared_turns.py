"""The turns of requests that this process shares with others."""

from __future__ import annotations

import asyncio
import logging
import time
from typing import TYPE_CHECKING, Final, ParamSpec, TypeVar

from ....errors import StoreError
from ....runtime.concurrency import offload_apart
from ....text.redaction import error_message

if TYPE_CHECKING:
    from collections.abc import Callable

    from ....ports.pages import RequestTurns

ANSWER_S: Final = 5.0
"""A store that answers later has failed."""
RETRY_S: Final = 30.0
"""How long a store that has failed is not asked."""

P = ParamSpec("P")
T = TypeVar("T")

_NOT_SHARED: Final = "For %.0f s this process keeps the delays of sites without the others: %s"
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
        return await self._call(self._turns.take, site, delay_s, most_s) or 0.0

    async def hold(self, site: str, seconds: float) -> None:
        """Let no process ask the site before so many seconds have passed."""
        if not self._has_failed():
            await self._call(self._turns.hold, site, seconds)

    async def _call(self, call: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T | None:
        """Return the answer of the store, None where it has failed."""
        try:
            async with asyncio.timeout(ANSWER_S):
                return await offload_apart(call, *args, **kwargs)
        except StoreError as error:
            cause = error_message(error)
        except TimeoutError:
            cause = f"no answer within {ANSWER_S:.0f} s"
        self._again_at = self._monotonic() + RETRY_S
        _LOGGER.warning(_NOT_SHARED, RETRY_S, cause)
        return None

    def _has_failed(self) -> bool:
        return self._monotonic() < self._again_at
