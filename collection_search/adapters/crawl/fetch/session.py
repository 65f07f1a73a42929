"""The requests of one event loop, with throttle and retries."""

from __future__ import annotations

import time
from types import MappingProxyType
from typing import TYPE_CHECKING, Final

import aiohttp

from ...retry_after import retry_after_s
from .decompression import ACCEPTED
from .host_throttle import HostThrottles
from .page_response import MAX_RETRY_AFTER_S, THROTTLED, is_challenge, throttle_error
from .transfer import exchange

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Mapping

    from .connector import GuardedConnector
    from .policy import Clock, FetchPolicy
    from .shared_turns import SharedTurns
    from .transfer import Admit, Received, TransferLimits
    from .url_rules import Target

_MAX_ATTEMPTS: Final = 3
_NO_HEADERS: Final[Mapping[str, str]] = MappingProxyType({})
_HEADERS: Final = {
    "Accept": "text/html,application/xhtml+xml,application/pdf,text/*;q=0.9,*/*;q=0.1",
    "Accept-Encoding": ACCEPTED,
}


class PoliteSession:
    """The connections of one event loop, and the throttles of its hosts."""

    def __init__(
        self,
        policy: FetchPolicy,
        connector: GuardedConnector,
        *,
        clock: Clock,
        sleep: Callable[[float], Awaitable[None]],
        turns: SharedTurns | None = None,
    ) -> None:
        self._policy = policy
        self._clock = clock
        self._session = aiohttp.ClientSession(
            connector=connector,
            cookie_jar=aiohttp.DummyCookieJar(),
            headers={**_HEADERS, "User-Agent": policy.user_agent},
            auto_decompress=False,
            trust_env=False,
        )
        self._session._retry_connection = False  # noqa: SLF001 - every request waits for the throttle
        self._throttles = HostThrottles(policy, clock.monotonic, sleep, turns)

    async def ask(
        self,
        target: Target,
        *,
        admit: Admit,
        limits: TransferLimits,
        left_s: float,
        headers: Mapping[str, str] = _NO_HEADERS,
    ) -> tuple[Received, float]:
        """Return the answer and the seconds of its transfers. Raises FetchError.

        After a 429 or 503 with a short Retry-After the request is sent again.
        """
        throttle = self._throttles.of(target.site)
        spent_s = waited_s = 0.0
        for attempt in range(1, _MAX_ATTEMPTS + 1):
            await throttle.acquire()
            started = time.monotonic()
            try:
                received = await exchange(
                    self._session,
                    target,
                    headers=headers,
                    limits=limits,
                    admit=admit,
                    deadline_s=left_s - spent_s,
                    proxy=self._policy.egress_proxy,
                )
            finally:
                throttle.release()
                spent_s += time.monotonic() - started
            if received.status not in THROTTLED or is_challenge(received):
                throttle.speed_up()
                return received, spent_s
            header, now = received.headers.get("Retry-After"), self._clock.time()
            asked_s = retry_after_s(header, now=now, longest_s=MAX_RETRY_AFTER_S)
            wait_s = await throttle.back_off(asked_s)
            waited_s += wait_s
            is_long = asked_s is None or waited_s > self._policy.max_retry_after_s
            if is_long or attempt == _MAX_ATTEMPTS:
                raise throttle_error(target.host, received.status, wait_s)
        raise AssertionError  # the last attempt returns or raises

    def keep_delay(self, target: Target, seconds: float) -> None:
        """Use the delay that the site of the address asks for."""
        self._throttles.of(target.site).set_crawl_delay(seconds)

    async def aclose(self) -> None:
        """Close the connections."""
        await self._session.close()
