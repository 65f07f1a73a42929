"""All limits of one provider and key: rate, cooldown, quota, circuit breaker, retry budget."""

from __future__ import annotations

import math
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from ..errors import SearchProviderError, SearchProviderQuotaExceeded, SearchProviderUnavailable
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
"""Factor on the interval between requests, since the network shifts them."""
NO_ANSWER: Final[frozenset[ErrorCode]] = frozenset({"serviceUnavailable", "timeout", "unknown"})
"""Codes that count as a failure of the provider; any other code is an answer."""
MAY_BE_BILLED: Final[frozenset[ErrorCode]] = frozenset({"timeout", "unknown"})
"""Codes after which the provider may have done the work."""


@dataclass(slots=True)
class Permit:
    """The right to one call, after `wait_s` seconds. It is settled or abandoned once."""

    wait_s: float
    passed: Pass
    slot: Slot
    reservation: Reservation | None = None
    """Requests reserved in the quota; None without a quota."""
    is_open: bool = True

    @property
    def reserved(self) -> int:
        """Number of requests reserved in the quota."""
        return self.reservation.requests if self.reservation else 0

    def close(self) -> bool:
        """Make the permit void and return whether it was still open."""
        was_open, self.is_open = self.is_open, False
        return was_open


class ProviderGuard:
    """Rate, quota, breaker and retry budget of one provider and key, for the whole process.

    Every call is admitted first and then settled, or abandoned when it was cancelled. No method
    sleeps. With a quota, `admit`, `settle` and an unsent `abandon` work on a file and may raise
    StoreError: call them in a worker thread from a coroutine. Safe for threads.
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

    @property
    def is_open(self) -> bool:
        """Return whether the breaker is open: from its opening until a trial succeeds."""
        return self._breaker.is_open

    def admit(
        self,
        *,
        is_retry: bool = False,
        requests: int = 1,
        least: int | None = None,
        max_wait_s: float = math.inf,
    ) -> Permit:
        """Return the right to a call of that many requests, with the seconds to wait before it.

        With fewer left in the quota, but `least` (default: all), it is the right to those. The wait
        is for the first request: see `next`.

        Raises SearchProviderUnavailable, SearchProviderAuthenticationFailed or
        SearchProviderQuotaExceeded when the call may not be made within `max_wait_s`, and reserves
        nothing then; `retry_in_ms` says when a retry may help.
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

        Call `start` then. Raises SearchProviderQuotaExceeded for one that was not granted or cannot
        be made within `max_wait_s`; a retry now does not help.
        """
        if self._quota is not None and permit.reservation and number >= permit.reserved:
            raise self._quota.used_up(self.name, self._wall_clock())
        return self._slot(max_wait_s).wait_s

    def start(self) -> float:
        """Count a request after its `wait_s`, and return the seconds that it still has to wait.

        Callers may wake late and so come too close to the next request.
        """
        return self._limiter.start()

    def may_retry(self) -> bool:
        """Return whether a retry would be admitted now, without a look at the quota."""
        return self._breaker.refusal() is None and self._budget.has_room()

    def settle(
        self,
        permit: Permit,
        *,
        failure: SearchProviderError | None = None,
        requests: int = 1,
        quota_remaining: int | None = None,
    ) -> list[str]:
        """Count a call that ended, and return notices to the user.

        `requests` were made, the failed one included; `quota_remaining` comes from the provider.
        """
        if not permit.close():
            return []
        self._learn(permit, failure)
        if failure is not None and failure.code not in MAY_BE_BILLED:
            requests = max(0, requests - 1)  # the failed one costs nothing
        left = self._count(permit, requests)
        return low_quota_notice(self.name, self._quota, left=left, reported=quota_remaining)

    def abandon(self, permit: Permit, *, sent: bool = True) -> None:
        """Release what a cancelled call reserved; after `settle` do nothing.

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
            asked_s = requested_cooldown_s(failure)
            period_s = seconds_left(self._wall_clock(), self._period)
            self._breaker.used_up(period_s if asked_s is None else asked_s, reason)
        elif failure.code == "authenticationFailed":
            self._breaker.key_refused(permit.passed, reason)
        elif failure.code in NO_ANSWER:
            self._breaker.failed(permit.passed, reason)
        else:
            self._breaker.succeeded(permit.passed)
        if (cooldown_s := throttle_cooldown_s(failure)) is not None:
            self._limiter.pause(cooldown_s)

    def _count(self, permit: Permit, used: int) -> int | None:
        """Settle the reservation and return the rest of the quota, None without one."""
        if self._quota is None or permit.reservation is None:
            return None
        return self._quota.settle(self.name, permit.reservation, used)
