"""One search, attempt after attempt: within its time, its provider's limits and its money."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeVar

from ..costs import search_cost
from ..errors import SearchProviderError, SearchProviderTimeout, StoreError
from .search_answers import checked

if TYPE_CHECKING:
    from collections.abc import Callable

    from ..contracts import SearchAdapterResponse
    from ..costs import RunBudget
    from ..resilience import Permit, ProviderGuard
    from .retry import RetrySchedule
    from .search_calls import Asked, Caller
    from .search_report import SearchReport

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Price:
    """What an attempt may take at most."""

    requests: int = 1
    units: float = 1.0
    """Of the list price."""


@dataclass(frozen=True, slots=True)
class Rules:
    """What holds for every search of one worker."""

    provider: str
    schedule: RetrySchedule
    timer: Callable[[], float]
    timeout_s: float
    retry_timeout_s: float
    """Of the attempt after a timeout."""
    price_of: Callable[[Asked], Price]
    guard: ProviderGuard | None = None
    budget: RunBudget | None = None


@dataclass(frozen=True, slots=True)
class Attempts:
    """One search of a provider; the report is told what was tried."""

    rules: Rules
    asked: Asked
    report: SearchReport
    caller: Caller
    ends_at: float
    """By the worker's timer."""

    async def answer(self) -> SearchAdapterResponse:
        """Return the first successful answer, or raise the last failure once retries are over.

        Raises CostLimitReached before an attempt that the run's ceiling does not allow.
        """
        failures: list[SearchProviderError] = []
        timeout_s = self.rules.timeout_s
        while True:
            try:
                return await self._paid(timeout_s, is_retry=bool(failures))
            except _NotAdmittedError as error:
                raise error.reason from None
            except SearchProviderError as error:
                failures.append(error)
            delay_s = self._delay_s(failures)
            if delay_s is None or self._left_s() <= delay_s:
                raise failures[-1]
            await self.caller.sleep(delay_s)
            timed_out = failures[-1].code == "timeout"
            timeout_s = self.rules.retry_timeout_s if timed_out else self.rules.timeout_s

    def _left_s(self) -> float:
        return self.ends_at - self.rules.timer()

    def _delay_s(self, failures: list[SearchProviderError]) -> float | None:
        delay_s = self.rules.schedule.delay_s(failures)
        guard = self.rules.guard
        return None if delay_s is None or (guard and not guard.may_retry()) else delay_s

    async def _paid(self, timeout_s: float, *, is_retry: bool) -> SearchAdapterResponse:
        """Return the answer of one attempt that the run can afford."""
        rules, price = self.rules, None
        spent: float | None = 0.0
        if rules.budget is not None:
            price = search_cost(rules.provider, rules.price_of(self.asked).units)
            rules.budget.reserve(price)
        try:
            answer = await self._guarded(timeout_s, is_retry=is_retry)
            spent = cost_of(rules.provider, answer)
        finally:
            if rules.budget is not None:
                rules.budget.settle(price, spent)
        return answer

    async def _guarded(self, timeout_s: float, *, is_retry: bool) -> SearchAdapterResponse:
        """Return the answer of one attempt for which the provider has a place."""
        guard, permit = self.rules.guard, None
        if guard is not None:
            permit = await self._admitted(guard, is_retry=is_retry)
        self.report.attempts += 1
        self.report.requests += 1
        try:
            return await self._settled(permit, timeout_s)
        finally:  # of a call that came to no end; nothing happens after one that did
            if guard is not None and permit is not None:
                guard.abandon(permit)

    async def _admitted(self, guard: ProviderGuard, *, is_retry: bool) -> Permit:
        """Wait for the provider's next free place. Raises _NotAdmittedError where there is none."""
        try:
            permit = await self._told(
                lambda: guard.admit(
                    is_retry=is_retry,
                    requests=self.rules.price_of(self.asked).requests,
                    max_wait_s=max(0.0, self._left_s()),
                )
            )
        except SearchProviderError as error:
            raise _NotAdmittedError(error) from error
        try:
            if permit.wait_s > 0:
                await self.caller.sleep(permit.wait_s)
            if (missing_s := guard.start()) > 0:
                await self.caller.sleep(missing_s)
        except BaseException:  # who is cancelled cannot wait for a file: the quota then counts
            guard.abandon(permit, sent=guard.needs_thread)
            raise
        return permit

    async def _settled(self, permit: Permit | None, timeout_s: float) -> SearchAdapterResponse:
        """Return the answer of one attempt; how it ended is told to the provider's guard."""
        left_s = self._left_s()
        try:
            answer = await self._attempt(min(timeout_s, left_s), left_s)
        except SearchProviderError as error:
            await self._settle(permit, failure=error)
            raise
        await self._settle(permit, answer=answer)
        return answer

    async def _settle(
        self,
        permit: Permit | None,
        *,
        failure: SearchProviderError | None = None,
        answer: SearchAdapterResponse | None = None,
    ) -> None:
        guard = self.rules.guard
        if guard is None or permit is None:
            return
        try:
            notices = await self._told(
                lambda: guard.settle(
                    permit,
                    failure=failure,
                    requests=answer.request_count if answer else 1,
                    quota_remaining=answer.quota_remaining if answer else None,
                )
            )
        except StoreError as error:  # what was reserved stays counted; the answer was paid for
            notices = [f"The count of the quota may be too high: {error}"]
        self.report.notices.extend(notices)

    async def _told(self, call: Callable[[], T]) -> T:
        """Return what the guard says, from a thread where it keeps a file."""
        guard = self.rules.guard
        return await self.caller.work(call) if guard and guard.needs_thread else call()

    async def _attempt(self, timeout_s: float, left_s: float) -> SearchAdapterResponse:
        provider = self.rules.provider
        try:
            answer = await self.caller.search(self.asked, timeout_s=timeout_s, left_s=left_s)
        except TimeoutError as error:
            raise SearchProviderTimeout(
                f"{provider} did not answer in time; try later or raise the time limit."
            ) from error
        return checked(answer, provider=provider)


class _NotAdmittedError(Exception):
    """The provider was not asked, so that no further attempt follows."""

    def __init__(self, reason: SearchProviderError) -> None:
        super().__init__(str(reason))
        self.reason = reason


def price_of(adapter: object) -> Callable[[Asked], Price]:
    """Return what tells the price of an attempt with this adapter.

    One request for one unit, unless its `price(max_results, options)` says otherwise.
    """
    own: Callable[..., tuple[int, float]] | None = getattr(adapter, "price", None)
    if not callable(own):
        return lambda _: Price()
    return lambda asked: Price(*own(asked.count, asked.options))


def cost_of(provider: str, answer: SearchAdapterResponse) -> float | None:
    """Return what the answer cost: as the provider says, else by its list price; None: unknown."""
    if answer.cost_usd is not None:
        return answer.cost_usd
    units = answer.request_count if answer.credits is None else answer.credits
    return search_cost(provider, units)
