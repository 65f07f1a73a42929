"""All limits of one provider under one key, joined: rate, cooldown, quota, breaker, retries."""

from __future__ import annotations

import math
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from ..errors import (
    SearchProviderError,
    SearchProviderQuotaExceeded,
    SearchProviderUnavailable,
)
from .breaker import Breaker, Pass, Refusal
from .cooldown import requested_cooldown_s, throttle_cooldown_s
from .quota import low_quota_notice, seconds_left
from .rate_limit import RateLimiter, Slot
from .retry_budget import RetryBudget

if TYPE_CHECKING:
    from collections.abc import Callable

    from ..errors import ErrorCode
    from .quota import Period, Quota, Reservation

SPACING: Final = 1.05
"""Requests keep this much more distance than the rate asks for, since the network shifts them."""
NO_ANSWER: Final[frozenset[ErrorCode]] = frozenset({"serviceUnavailable", "timeout", "unknown"})
"""Codes that speak against the provider; any other answer shows that it is there."""
MAY_BE_BILLED: Final[frozenset[ErrorCode]] = frozenset({"timeout", "unknown"})
"""Codes after which the provider may have done the work."""


@dataclass(slots=True)
class Permit:
    """The right to one call, after `wait_s` seconds. Settled or abandoned once; then it is void."""

    wait_s: float
    passed: Pass
    slot: Slot
    reservation: Reservation | None = None
    """What was taken from the quota; None without one."""
    is_open: bool = True

    @property
    def reserved(self) -> int:
        """How many requests were taken from the quota."""
        return self.reservation.requests if self.reservation else 0

    def close(self) -> bool:
        """Return whether it was still open, and make it void."""
        was_open, self.is_open = self.is_open, False
        return was_open


class ProviderGuard:
    """Rate, quota, breaker and retry budget of one provider and key, for the whole process.

    Every call is admitted first and then settled, or abandoned when it was cancelled. Nothing
    sleeps here. With a quota, `admit`, `settle` and an unsent `abandon` work on a file and may
    raise StoreError: a coroutine calls them in a worker thread. Safe for threads.
    """

    def __init__(
        self,
        name: str,
        *,
        rate_per_s: float | None = None,
        burst: int = 1,
        quota: Quota | None = None,
        quota_period: Period = "day",
        clock: Callable[[], float] = time.monotonic,
        wall_clock: Callable[[], float] = time.time,
    ) -> None:
        self.name = name
        self._quota = quota
        self._period: Period = quota.period if quota else quota_period
        self._wall_clock = wall_clock
        interval_s = SPACING / rate_per_s if rate_per_s else 0.0
        self._limiter = RateLimiter(interval_s, burst=burst, clock=clock)
        self._breaker = Breaker(clock=clock)
        self._budget = RetryBudget(clock=clock)

    @property
    def needs_thread(self) -> bool:
        """Return whether `admit` and `settle` work on a file."""
        return self._quota is not None

    def admit(
        self,
        *,
        is_retry: bool = False,
        requests: int = 1,
        least: int | None = None,
        max_wait_s: float = math.inf,
    ) -> Permit:
        """Return the right to a call of that many requests, with the seconds to wait before it.

        Where the quota has fewer left, but `least` (else all), it is the right to those. The wait
        is for the first of them: see `next`.

        Raises SearchProviderUnavailable, SearchProviderAuthenticationFailed or
        SearchProviderQuotaExceeded when the call may not be made, or not within `max_wait_s`; a
        retry now does not help, `retry_in_ms` says when one may. Nothing is taken then.
        """
        passed = self._breaker.enter()
        if isinstance(passed, Refusal):
            raise passed.error(self.name, self._wall_clock())
        try:
            permit = self._scheduled(passed, is_retry=is_retry, max_wait_s=max_wait_s)
        except SearchProviderError:
            self._breaker.leave(passed)
            raise
        try:
            if self._quota is not None:
                permit.reservation = self._quota.reserve(
                    self.name,
                    requests,
                    least=requests if least is None else least,
                    now=self._wall_clock(),
                )
        except BaseException:  # the store may fail too
            self.abandon(permit, sent=False)
            raise
        return permit

    def next(self, permit: Permit, number: int, *, max_wait_s: float = math.inf) -> float:
        """Return the seconds to wait before the call's further request `number`, from 1.

        `start` follows. Raises SearchProviderQuotaExceeded for one that was not granted, and where
        it cannot be made within `max_wait_s`; a retry now does not help.
        """
        if self._quota is not None and permit.reservation and number >= permit.reserved:
            raise self._quota.used_up(self.name, self._wall_clock())
        return self._slot(max_wait_s).wait_s

    def start(self) -> float:
        """Note that an admitted call's request is made, after its `wait_s`; return what is missing.

        These seconds are to be waited for too: whoever waits may come late, and close to the next.
        """
        return self._limiter.start()

    def may_retry(self) -> bool:
        """Return whether a retry would be admitted now, as far as that is known without a file."""
        return self._breaker.refusal() is None and self._budget.has_room()

    def settle(
        self,
        permit: Permit,
        *,
        failure: SearchProviderError | None = None,
        requests: int = 1,
        quota_remaining: int | None = None,
    ) -> list[str]:
        """Learn from a call that ended, and return what a person should know.

        `requests` were made, the failed one included; `quota_remaining` is what the provider says.
        """
        if not permit.close():
            return []
        self._learn(permit, failure)
        left = self._count(permit, _billed(failure, requests))
        return low_quota_notice(self.name, self._quota, left=left, reported=quota_remaining)

    def abandon(self, permit: Permit, *, sent: bool = True) -> None:
        """Give back what a cancelled call does not need; nothing happens after `settle`.

        A request that may have been sent stays counted; that needs no file.
        """
        if not permit.close():
            return
        self._breaker.leave(permit.passed)
        if not sent:
            self._limiter.give_back(permit.slot)
            self._count(permit, 0)

    def _scheduled(self, passed: Pass, *, is_retry: bool, max_wait_s: float) -> Permit:
        if not self._budget.take(is_retry=is_retry):
            raise SearchProviderUnavailable(
                f"{self.name} is not tried again: too many of the last minute's requests were"
                " retries. Search again later.",
                retryable=False,
            )
        slot = self._slot(max_wait_s)
        return Permit(slot.wait_s, passed, slot)

    def _slot(self, max_wait_s: float) -> Slot:
        slot = self._limiter.reserve(max_wait_s=max_wait_s)
        if slot.wait_s > max_wait_s:
            raise SearchProviderQuotaExceeded(
                f"{self.name} has no room for another request within {max_wait_s:.0f} s, only in"
                f" {slot.wait_s:.0f} s: its rate limit is reached. Search with fewer queries, or"
                " later.",
                retryable=False,
                retry_in_ms=math.ceil(slot.wait_s * 1000),
            )
        return slot

    def _learn(self, permit: Permit, failure: SearchProviderError | None) -> None:
        if failure is None:
            self._breaker.succeeded(permit.passed)
            return
        reason = str(failure).rstrip(". ") or failure.code
        if failure.code == "quotaExceeded":
            self._breaker.used_up(self._used_up_for_s(failure), reason)
        elif failure.code == "authenticationFailed":
            self._breaker.key_refused(permit.passed, reason)
        elif failure.code in NO_ANSWER:
            self._breaker.failed(permit.passed, reason)
        else:
            self._breaker.succeeded(permit.passed)
        cooldown_s = throttle_cooldown_s(failure)
        if cooldown_s is not None:
            self._limiter.pause(cooldown_s)

    def _used_up_for_s(self, failure: SearchProviderError) -> float:
        """Return the seconds until the plan is renewed: the provider's own, else our period's."""
        asked_s = requested_cooldown_s(failure)
        return seconds_left(self._wall_clock(), self._period) if asked_s is None else asked_s

    def _count(self, permit: Permit, used: int) -> int | None:
        """Settle the reservation and return what is left of the quota, None without one."""
        if self._quota is None or permit.reservation is None:
            return None
        return self._quota.settle(self.name, permit.reservation, used)


def _billed(failure: SearchProviderError | None, requests: int) -> int:
    """Return how many requests count: a failed one does not, unless it may have been worked on."""
    if failure is None or failure.code in MAY_BE_BILLED:
        return requests
    return max(0, requests - 1)
