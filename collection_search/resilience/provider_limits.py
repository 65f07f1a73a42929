"""What stands between a worker and one provider under one key."""

from __future__ import annotations

import math
import time
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Final

from ..errors import (
    SearchProviderAuthenticationFailed,
    SearchProviderError,
    SearchProviderQuotaExceeded,
    SearchProviderUnavailable,
)
from .breaker import Breaker, Pass, Refusal
from .limiter import Limiter, Slot
from .periods import period_name, seconds_left
from .retry_budget import RetryBudget

if TYPE_CHECKING:
    from collections.abc import Callable

    from ..errors import ErrorCode
    from ..ports.usage import QuotaStore
    from .periods import Period

SPACING: Final = 1.05
"""Requests keep this much more distance than the rate asks for, since the network shifts them."""
LOW_SHARE: Final = 0.2
LOW_COUNT: Final = 20
"""When a quota counts as low: by its limit, or where only the provider knows that."""
MAX_OPEN_S: Final = 31 * 86_400.0
NO_ANSWER: Final[frozenset[ErrorCode]] = frozenset({"serviceUnavailable", "timeout", "unknown"})
"""Codes that speak against the provider; any other answer shows that it is there."""
MAY_BE_BILLED: Final[frozenset[ErrorCode]] = frozenset({"timeout", "unknown"})
"""Codes after which the provider may have done the work."""


@dataclass(frozen=True, slots=True)
class Quota:
    """How many requests a key may make per period, counted for all processes together."""

    store: QuotaStore
    key_id: str
    limit: int
    period: Period = "month"


@dataclass(slots=True)
class Permit:
    """The right to one call, after `wait_s` seconds. Settled or abandoned once; then it is void."""

    wait_s: float
    passed: Pass
    slot: Slot
    period: str | None = None
    """Name of the period in which requests were reserved."""
    reserved: int = 0
    is_open: bool = True

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
        self._limiter = Limiter(interval_s, burst=burst, clock=clock)
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
            raise self._refused(passed)
        try:
            permit = self._scheduled(passed, is_retry=is_retry, max_wait_s=max_wait_s)
        except SearchProviderError:
            self._breaker.leave(passed)
            raise
        try:
            self._reserve(permit, requests, requests if least is None else least)
        except BaseException:  # the store may fail too
            self.abandon(permit, sent=False)
            raise
        return permit

    def next(self, permit: Permit, number: int, *, max_wait_s: float = math.inf) -> float:
        """Return the seconds to wait before the call's further request `number`, from 1.

        `start` follows. Raises SearchProviderQuotaExceeded for one that was not granted, and where
        it cannot be made within `max_wait_s`; a retry now does not help.
        """
        if self._quota is not None and permit.period is not None and number >= permit.reserved:
            raise self._used_up(self._quota, self._wall_clock())
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
        return self._low(left, quota_remaining)

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

    def _reserve(self, permit: Permit, requests: int, least: int) -> None:
        quota = self._quota
        if quota is None:
            return
        now = self._wall_clock()
        period = period_name(now, quota.period)
        while not quota.store.reserve(
            self.name, quota.key_id, period=period, limit=quota.limit, count=requests
        ):
            used = quota.store.used(self.name, quota.key_id, period=period)
            requests = min(requests - 1, quota.limit - used)
            if requests < least:
                raise self._used_up(quota, now)
        permit.period, permit.reserved = period, requests

    def _used_up(self, quota: Quota, now: float) -> SearchProviderQuotaExceeded:
        wait_s = seconds_left(now, quota.period)
        return SearchProviderQuotaExceeded(
            f"{self.name} is not asked: the {quota.limit} searches of this {quota.period} are used"
            f" up. It is asked again {self._moment(wait_s)}. Raise the quota, or choose another"
            " provider.",
            code="quotaExceeded",
            retry_in_ms=math.ceil(wait_s * 1000),
        )

    def _refused(self, refusal: Refusal) -> SearchProviderError:
        """Return the error of an open breaker: of the class that opened it."""
        retry_in_ms = math.ceil(refusal.retry_in_s * 1000)
        again = f"It is tried again {self._moment(refusal.retry_in_s)}."
        if refusal.cause == "quota":
            return SearchProviderQuotaExceeded(
                f"{self.name} is not asked, since its quota is used up ({refusal.reason}). {again}",
                code="quotaExceeded",
                retry_in_ms=retry_in_ms,
            )
        if refusal.cause == "authentication":
            return SearchProviderAuthenticationFailed(
                f"{self.name} is not asked, since it keeps refusing the key ({refusal.reason})."
                f" {again}",
                retry_in_ms=retry_in_ms,
            )
        return SearchProviderUnavailable(
            f"{self.name} is not asked, since it keeps failing ({refusal.reason}). {again}",
            retryable=False,
            retry_in_ms=retry_in_ms,
        )

    def _learn(self, permit: Permit, failure: SearchProviderError | None) -> None:
        if failure is None:
            self._breaker.succeeded(permit.passed)
            return
        reason = str(failure).rstrip(". ") or failure.code
        if failure.code == "quotaExceeded":
            self._breaker.used_up(self._reset_in_s(failure), reason)
        elif failure.code == "authenticationFailed":
            self._breaker.key_refused(permit.passed, reason)
        elif failure.code in NO_ANSWER:
            self._breaker.failed(permit.passed, reason)
        else:
            self._breaker.succeeded(permit.passed)
        if failure.code == "rateLimited" and failure.retry_in_ms is not None:
            self._limiter.hold_off(_clamped(failure.retry_in_ms))

    def _reset_in_s(self, failure: SearchProviderError) -> float:
        if failure.retry_in_ms is not None:
            return _clamped(failure.retry_in_ms)
        return seconds_left(self._wall_clock(), self._period)

    def _count(self, permit: Permit, used: int) -> int | None:
        """Settle the reservation and return what is left of the quota, None without one."""
        quota, period = self._quota, permit.period
        if quota is None or period is None:
            return None
        counted = quota.store.settle(
            self.name, quota.key_id, period=period, used=used, reserved=permit.reserved
        )
        return max(0, quota.limit - counted)

    def _low(self, left: int | None, reported: int | None) -> list[str]:
        known = [number for number in (left, reported) if number is not None]
        if not known:
            return []
        least = min(known)
        if self._quota is None:
            is_low, of_all = least <= LOW_COUNT, ""
        else:
            is_low, of_all = least <= LOW_SHARE * self._quota.limit, f" of {self._quota.limit}"
        until = f" this {self._period}" if self._quota else ""
        return [f"{self.name}: {least}{of_all} searches left{until}"] if is_low else []

    def _moment(self, seconds: float) -> str:
        """Return when that will be, as a person reads it."""
        if seconds < 60:  # noqa: PLR2004 - a minute
            return f"in {math.ceil(seconds)} s"
        at = datetime.fromtimestamp(self._wall_clock(), UTC) + timedelta(seconds=seconds)
        return f"at {at:%Y-%m-%d %H:%M} UTC"


def _billed(failure: SearchProviderError | None, requests: int) -> int:
    """Return how many requests count: a failed one does not, unless it may have been worked on."""
    if failure is None or failure.code in MAY_BE_BILLED:
        return requests
    return max(0, requests - 1)


def _clamped(milliseconds: int) -> float:
    return min(max(0.0, milliseconds / 1000), MAX_OPEN_S)
