"""All limits of one provider and key: rate, cooldown, quota, circuit breaker, retry budget."""

from __future__ import annotations

import math
import time
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

from ..errors import SearchProviderError, SearchProviderQuotaExceeded, SearchProviderUnavailable
from .breaker import Breaker, Pass, Refusal
from .cooldown import format_moment, requested_cooldown_s, throttle_cooldown_s
from .pace import Pace, Turn
from .quota import low_quota_notice
from .retry_budget import RetryBudget

if TYPE_CHECKING:
    from collections.abc import Callable

    from ..contracts.search import StatedRate
    from ..errors import ErrorCode
    from .known_rate import RateMemory
    from .quota import Quota, Reservation

NO_ANSWER: Final[frozenset[ErrorCode]] = frozenset({"serviceUnavailable", "timeout", "unknown"})
"""Codes that count as a failure of the provider; any other code is an answer."""
MAY_BE_BILLED: Final[frozenset[ErrorCode]] = frozenset({"timeout", "unknown"})
"""Codes after which the provider may have done the work."""


@dataclass(slots=True)
class Permit:
    """The right to one call, after `wait_s` seconds. It is settled or abandoned once."""

    wait_s: float
    passed: Pass
    first: Turn
    """The turn of the call's first request."""
    reservation: Reservation | None = None
    """Requests reserved in the quota; None without a quota."""
    is_open: bool = True
    turn: Turn = field(init=False)
    """The turn of the request that is made now."""

    def __post_init__(self) -> None:
        """Begin with the first request."""
        self.turn = self.first

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

    Every call is admitted first, started, and then settled, or abandoned when it was cancelled. No
    method sleeps. With a quota, `admit`, `settle` and an unsent `abandon` work on a file and may
    raise StoreError: call them in a worker thread from a coroutine. Safe for threads.

    Without `rate_per_s` the rate is learnt, see `Pace`. `memory` keeps it for other processes:
    while `has_news` is true, `exchange_rate` reads or writes it and may block.
    """

    def __init__(
        self,
        name: str,
        *,
        rate_per_s: float | None = None,
        burst: int = 1,
        quota: Quota | None = None,
        memory: RateMemory | None = None,
        clock: Callable[[], float] = time.monotonic,
        wall_clock: Callable[[], float] = time.time,
    ) -> None:
        self.name = name
        self._quota = quota
        self._wall_clock = wall_clock
        self._pace = Pace(
            rate_per_s=rate_per_s, burst=burst, clock=clock, wall_clock=wall_clock, memory=memory
        )
        self._breaker = Breaker(clock=clock)
        self._budget = RetryBudget(clock=clock)

    @property
    def needs_thread(self) -> bool:
        """Return whether `admit` and `settle` work on a file."""
        return self._quota is not None

    @property
    def has_news(self) -> bool:
        """Return whether `exchange_rate` has something to do."""
        return self._pace.has_news

    def exchange_rate(self) -> None:
        """Read what another process learnt of the rate, or write what this one did."""
        self._pace.exchange()

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
        permit.turn = self._turn(max_wait_s, may_probe=False)
        return permit.turn.slot.wait_s

    def start(self, permit: Permit, *, max_wait_s: float = math.inf) -> float:
        """Return the seconds that the call's request still has to wait, or 0 and count it.

        Wait and call it again until it is 0: callers may wake late, and the rate may have been
        learnt meanwhile. Raises SearchProviderQuotaExceeded where its turn is now further away
        than `max_wait_s`; a retry now does not help.
        """
        wait_s = self._pace.wait_s(
            permit.turn, max_wait_s=max_wait_s, may_probe=permit.turn is permit.first
        )
        if wait_s > max_wait_s:
            raise self._no_room(wait_s, max_wait_s)
        return wait_s

    def told_when(self, failure: SearchProviderError) -> SearchProviderError:
        """Return the error of a used-up quota with the time of the next request; others unchanged.

        Call it after `settle`.
        """
        refusal = self._breaker.refusal() if failure.code == "quotaExceeded" else None
        if refusal is None:
            return failure
        moment = format_moment(refusal.retry_in_s, self._wall_clock())
        return SearchProviderQuotaExceeded(
            f"{failure} It is asked again {moment}.",
            code=failure.code,
            retryable=failure.retryable,
            retry_in_ms=failure.retry_in_ms or math.ceil(refusal.retry_in_s * 1000),
            http_status=failure.http_status,
        )

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
        rate: StatedRate | None = None,
    ) -> list[str]:
        """Count a call that ended, and return notices to the user.

        `requests` were made, the failed one included; `quota_remaining` and `rate` come from the
        provider.
        """
        if not permit.close():
            return []
        self._learn(permit, failure, rate)
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
        self._pace.end(permit.first)
        if not sent:
            self._pace.give_back(permit.turn)
            self._count(permit, 0)

    def _scheduled(self, passed: Pass, *, is_retry: bool, max_wait_s: float) -> Permit:
        if not self._budget.take(is_retry=is_retry):
            raise SearchProviderUnavailable(
                f"{self.name} is not tried again: too many of the last minute's requests were"
                " retries. Search again later.",
                retryable=False,
            )
        turn = self._turn(max_wait_s)
        return Permit(turn.slot.wait_s, passed, turn)

    def _turn(self, max_wait_s: float, *, may_probe: bool = True) -> Turn:
        turn = self._pace.take(max_wait_s=max_wait_s, may_probe=may_probe)
        if turn.is_late:
            raise self._no_room(turn.slot.wait_s, max_wait_s)
        return turn

    def _no_room(self, wait_s: float, max_wait_s: float) -> SearchProviderQuotaExceeded:
        return SearchProviderQuotaExceeded(
            f"{self.name} has no room for another request within {max_wait_s:.0f} s, only in"
            f" {wait_s:.0f} s: its rate limit is reached. Search with fewer queries, or later.",
            retryable=False,
            retry_in_ms=math.ceil(wait_s * 1000),
        )

    def _learn(
        self, permit: Permit, failure: SearchProviderError | None, rate: StatedRate | None
    ) -> None:
        if failure is None:
            self._breaker.succeeded(permit.passed)
            self._pace.answered(permit.first, rate)
            return
        reason = str(failure).rstrip(". ") or failure.code
        if failure.code == "quotaExceeded":
            self._breaker.used_up(permit.passed, requested_cooldown_s(failure), reason)
        elif failure.code == "authenticationFailed":
            self._breaker.key_refused(permit.passed, reason)
        elif failure.code in NO_ANSWER:
            self._breaker.failed(permit.passed, reason)
        else:
            self._breaker.succeeded(permit.passed)
        if failure.code != "rateLimited":
            self._pace.end(permit.first)
        elif self._pace.throttled(permit.first, throttle_cooldown_s(failure)):
            self._budget.grant()

    def _count(self, permit: Permit, used: int) -> int | None:
        """Settle the reservation and return the rest of the quota, None without one."""
        if self._quota is None or permit.reservation is None:
            return None
        return self._quota.settle(self.name, permit.reservation, used)
