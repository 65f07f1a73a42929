"""Circuit breaker: closed, open, or open except for one trial."""

from __future__ import annotations

import math
import threading
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, Literal, NamedTuple

from ..errors import (
    SearchProviderAuthenticationFailed,
    SearchProviderError,
    SearchProviderQuotaExceeded,
    SearchProviderUnavailable,
)
from .cooldown import format_moment
from .sliding_window import SlidingWindow

if TYPE_CHECKING:
    from collections.abc import Callable

Cause = Literal["failing", "quota", "authentication"]

_ERRORS: Final[dict[Cause, tuple[type[SearchProviderError], str]]] = {
    "failing": (SearchProviderUnavailable, "it keeps failing"),
    "quota": (SearchProviderQuotaExceeded, "its quota is used up"),
    "authentication": (SearchProviderAuthenticationFailed, "it keeps refusing the key"),
}

TRIAL_S: Final = 60.0
"""Time after which a trial without an outcome is replaced by another."""
TRIAL_WAIT_S: Final = 1.0
"""Retry time of requests that are refused during a trial."""
STREAK_GAP_S: Final = 60.0
"""Failures that are further apart are no series."""


class Pass(NamedTuple):
    """The right to make one request."""

    era: int
    """Number of the breaker's state that granted it: a late answer does not count in another."""
    is_trial: bool


@dataclass(frozen=True, slots=True)
class Refusal:
    """The reason why no request may be made, and the seconds until the next attempt."""

    cause: Cause
    reason: str
    retry_in_s: float

    def error(self, provider: str, now: float) -> SearchProviderError:
        """Return the error to raise: of the class that opened the breaker. `now` is Unix time.

        Only a failing provider is worth another try, at the time that the error names.
        """
        kind, problem = _ERRORS[self.cause]
        return kind(
            f"{provider} is not asked, since {problem} ({self.reason})."
            f" It is asked again {format_moment(self.retry_in_s, now)}.",
            code="quotaExceeded" if self.cause == "quota" else None,
            retryable=self.cause == "failing",
            retry_in_ms=math.ceil(self.retry_in_s * 1000),
        )


@dataclass(slots=True)
class _Streak:
    """Successive failures."""

    count: int = 0
    since: float = 0.0
    last: float = 0.0

    def add(self, now: float) -> None:
        if not self.count or now - self.last > STREAK_GAP_S:
            self.count, self.since = 0, now
        self.count, self.last = self.count + 1, now


@dataclass(frozen=True, slots=True)
class BreakerRules:
    """Thresholds that open the breaker, and times in seconds."""

    min_failures: int = 5
    min_span_s: float = 1.0
    """Least time between the first failure and the last: one short fault opens nothing."""
    window_s: float = 5.0
    share: float = 0.5
    """Least share of failures among the requests of the window."""
    open_s: float = 5.0
    """Doubles with each trial that fails."""
    max_open_s: float = 30.0
    refused_keys: int = 3
    """Refusals of the key in a row: some providers refuse a good key now and then."""
    refused_key_open_s: float = 300.0
    used_up_open_s: float = 600.0
    """After a used-up quota without a told reset: credits may be bought meanwhile. Doubles with
    each trial that finds it used up."""
    max_used_up_open_s: float = 3_600.0


class Breaker:
    """A circuit breaker that opens on failures, a used-up quota or a refused key.

    Failures open it when `min_failures` of them came in a row, or `share` of the window's requests
    failed, over at least `min_span_s`. When the time is over, one trial decides. Safe for threads.
    """

    def __init__(
        self, rules: BreakerRules | None = None, *, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._rules = rules or BreakerRules()
        self._clock = clock
        self._lock = threading.RLock()
        self._window = SlidingWindow(self._rules.window_s)
        self._failed = _Streak()
        self._refused = _Streak()
        self._era = 0
        self._open: Refusal | None = None
        self._open_until = 0.0
        self._open_s = self._rules.open_s
        self._used_up_s = self._rules.used_up_open_s
        self._trial_until: float | None = None

    @property
    def is_open(self) -> bool:
        """Return True from the opening until a trial succeeds, the wait for the trial included."""
        with self._lock:
            return self._open is not None

    def enter(self) -> Pass | Refusal:
        """Return the right to make a request, or why there is none."""
        with self._lock:
            if self._open is None:
                return Pass(self._era, is_trial=False)
            if (refusal := self.refusal()) is not None:
                return refusal
            self._era += 1
            self._trial_until = self._clock() + TRIAL_S
            return Pass(self._era, is_trial=True)

    def refusal(self) -> Refusal | None:
        """Return why a request would be refused now, or None."""
        with self._lock:
            if self._open is None:
                return None
            now = self._clock()
            wait_s = self._open_until - now
            if wait_s <= 0 and self._trial_until is not None and now < self._trial_until:
                wait_s = TRIAL_WAIT_S
            return Refusal(self._open.cause, self._open.reason, wait_s) if wait_s > 0 else None

    def succeeded(self, passed: Pass) -> None:
        """Count an answer of the provider, also one that reports an error."""
        with self._lock:
            if passed.era != self._era:
                return
            if passed.is_trial:
                self._era += 1
                self._open = self._trial_until = None
                self._open_s = self._rules.open_s
                self._used_up_s = self._rules.used_up_open_s
                self._window.clear()
            self._failed, self._refused = _Streak(), _Streak()
            self._window.add(self._clock(), good=1)

    def failed(self, passed: Pass, reason: str) -> None:
        """Count a request without an answer, or with one that is not understood."""
        with self._lock:
            if passed.era != self._era:
                return
            now = self._clock()
            self._window.add(now, bad=1)
            self._failed.add(now)
            if passed.is_trial:
                self._open_s = min(2 * self._open_s, self._rules.max_open_s)
            if passed.is_trial or self._keeps_failing(now):
                self._open_for(self._open_s, "failing", reason)

    def key_refused(self, passed: Pass, reason: str) -> None:
        """Count a refusal of the key."""
        with self._lock:
            if passed.era != self._era:
                return
            self._refused.add(self._clock())
            if passed.is_trial or self._refused.count >= self._rules.refused_keys:
                self._open_for(self._rules.refused_key_open_s, "authentication", reason)

    def used_up(self, passed: Pass, seconds: float | None, reason: str) -> None:
        """Open the breaker, since the quota is used up: for this time, if the provider named one.

        Otherwise for minutes; the trial after that decides.
        """
        with self._lock:
            if seconds is not None:
                self._open_for(seconds, "quota", reason)
            elif passed.era == self._era:
                if passed.is_trial and self._open is not None and self._open.cause == "quota":
                    self._used_up_s = min(2 * self._used_up_s, self._rules.max_used_up_open_s)
                self._open_for(self._used_up_s, "quota", reason)

    def leave(self, passed: Pass) -> None:
        """Count nothing; after a trial the next request is another trial."""
        with self._lock:
            if passed.is_trial and passed.era == self._era:
                self._trial_until = None

    def _keeps_failing(self, now: float) -> bool:
        rules, streak = self._rules, self._failed
        if streak.count >= rules.min_failures and now - streak.since >= rules.min_span_s:
            return True
        good, bad = self._window.sums(now)
        return (
            bad >= rules.min_failures
            and bad >= rules.share * (good + bad)
            and now - self._window.first_bad_at(now) >= rules.min_span_s
        )

    def _open_for(self, seconds: float, cause: Cause, reason: str) -> None:
        self._era += 1
        self._open_until = self._clock() + seconds
        self._open = Refusal(cause, reason, seconds)
        self._trial_until = None
