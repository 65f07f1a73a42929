"""The attempts of one search, within its time limit, the provider's limits and the budget."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, TypeVar

from ...contracts.price_list import LIST_PRICES, PriceList
from ...errors import SearchProviderError, SearchProviderTimeout, StoreError
from ...resilience.provider_limits import MAY_BE_BILLED
from .billing import AttemptPrice, cost_of, requests_of
from .response_validation import validate_response

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from ...contracts.search import SearchAdapterResponse
    from ...ports.search_function import Asked
    from ...resilience import Permit, ProviderGuard
    from ..spending.budget import RunBudget
    from .callers import AdapterCaller
    from .retry import RetrySchedule
    from .telemetry import SearchFacts

T = TypeVar("T")

TICK_S: Final = 0.05
"""A time limit that is this close has passed."""


@dataclass(frozen=True, slots=True)
class AttemptRules:
    """The rules for every search of one worker."""

    provider: str
    schedule: RetrySchedule
    timer: Callable[[], float]
    timeout_s: float
    retry_timeout_s: float
    """Of the attempt after a timeout."""
    price_of: Callable[[Asked], AttemptPrice]
    prices: PriceList = LIST_PRICES
    guard: ProviderGuard | None = None
    budget: RunBudget | None = None
    on_billed: Callable[[str, int, float | None], None] | None = None
    """Called for each attempt that is or may be billed: provider, requests and their cost."""


@dataclass(frozen=True, slots=True)
class Attempts:
    """The attempts of one search of a provider, counted in the report."""

    rules: AttemptRules
    asked: Asked
    report: SearchFacts
    caller: AdapterCaller
    ends_at: float
    """By the worker's timer."""

    async def answer(self) -> SearchAdapterResponse:
        """Return the first successful answer, or raise the last failure after all retries.

        Raises CostLimitReached before an attempt that the budget does not allow, and
        OutOfTimeError where only the time was too short.
        """
        failures: list[SearchProviderError] = []
        timeout_s = self.rules.timeout_s
        while True:
            try:
                return await self._paid(timeout_s, is_retry=bool(failures))
            except _NotAdmittedError as error:
                if failures:  # the provider's own failure says more
                    raise failures[-1] from None
                if error.reason.code == "rateLimited":  # no room in the time that is left
                    raise OutOfTimeError(error.reason) from None
                raise error.reason from None
            except SearchProviderError as error:
                failures.append(error)
            delay_s = self._delay_s(failures)
            if self._left_s() <= max(delay_s or 0.0, TICK_S):
                raise OutOfTimeError(failures[-1])
            if delay_s is None:
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
        """Return the answer of one attempt, with its price reserved in the budget."""
        rules, tried, reserved = self.rules, self.report.attempts, None
        requests = 0
        spent: float | None = 0.0
        if rules.budget is not None:
            reserved = rules.prices.search_cost(rules.provider, rules.price_of(self.asked).units)
            rules.budget.reserve(reserved, "search", rules.provider)
        try:
            answer = await self._guarded(timeout_s, is_retry=is_retry)
            requests, spent = requests_of(answer), cost_of(rules.provider, answer, rules.prices)
            self.report.requests += requests - 1
        except BaseException as error:
            if self.report.attempts > tried:
                requests, spent = self._lost(error)
            raise
        finally:
            if rules.budget is not None:
                rules.budget.settle(reserved, spent)
            if requests:
                self.report.add_billed(requests, spent)
                if rules.on_billed is not None:
                    rules.on_billed(rules.provider, requests, spent)
        return answer

    def _lost(self, error: BaseException) -> tuple[int, float | None]:
        """Return how many requests of a failed attempt may be billed, and what they cost.

        An attempt ends with its first failed request; a cancelled one may have made all of them.
        """
        price = self.rules.price_of(self.asked)
        if isinstance(error, SearchProviderError):
            if error.code not in MAY_BE_BILLED:
                return 0, 0.0
            price = AttemptPrice(1, price.units / max(1, price.requests))
        return price.requests, self.rules.prices.search_cost(self.rules.provider, price.units)

    async def _guarded(self, timeout_s: float, *, is_retry: bool) -> SearchAdapterResponse:
        """Return the answer of one attempt that the provider's limits allow."""
        guard, permit = self.rules.guard, None
        if guard is not None:
            permit = await self._admitted(guard, is_retry=is_retry)
        self.report.attempts += 1
        self.report.requests += 1
        try:
            return await self._settled(permit, timeout_s)
        finally:  # has no effect after `settle`
            if guard is not None and permit is not None:
                guard.abandon(permit)

    async def _admitted(self, guard: ProviderGuard, *, is_retry: bool) -> Permit:
        """Wait until the provider's limits allow a request. Raises _NotAdmittedError."""
        permits: list[Permit] = []
        is_gone = False

        def admitted() -> Permit:
            requests = self.rules.price_of(self.asked).requests
            permit = guard.admit(
                is_retry=is_retry,
                requests=requests,
                least=1 if self.caller.takes_turns else requests,
                max_wait_s=max(0.0, self._left_s()),
            )
            permits.append(permit)
            if is_gone:
                guard.abandon(permit, sent=False)
            return permit

        try:
            await self._exchange_rate(guard)
            permit = await self._guard_call(admitted)
            while (wait_s := guard.start(permit, max_wait_s=max(0.0, self._left_s()))) > 0:
                await self.caller.sleep(wait_s)
        except BaseException as error:
            is_gone = True
            for permit in permits:
                await self._give_back(guard, permit)
            if isinstance(error, SearchProviderError):
                raise _NotAdmittedError(error) from error
            raise
        return permit

    async def _exchange_rate(self, guard: ProviderGuard) -> None:
        """Share what was learnt of the provider's rate with other processes; that uses a file."""
        if guard.has_news:
            await self.caller.work(guard.exchange_rate)

    async def _give_back(self, guard: ProviderGuard, permit: Permit) -> None:
        def abandon() -> None:
            with suppress(StoreError):  # the quota then counts a request too many
                guard.abandon(permit, sent=False)

        await (self.caller.finish(abandon) if guard.needs_thread else self._guard_call(abandon))

    def _turns(
        self, guard: ProviderGuard, permit: Permit, timeout_s: float
    ) -> Callable[[], Iterator[float]]:
        """Return a function that yields the seconds to wait before a call's next request.

        At least half of the time that is left remains for the call itself: the results of its
        first requests must not be lost.
        """
        made = 1

        def turn() -> Iterator[float]:
            nonlocal made
            left_s = max(0.0, self._left_s())
            most_s = max(left_s - timeout_s, left_s / 2)
            until = self.rules.timer() + most_s
            guard.next(permit, made, max_wait_s=most_s)
            made += 1
            while (wait_s := guard.start(permit, max_wait_s=most_s)) > 0:
                yield wait_s
                most_s = max(0.0, until - self.rules.timer())

        return turn

    async def _settled(self, permit: Permit | None, timeout_s: float) -> SearchAdapterResponse:
        """Return the answer of one attempt, and report its outcome to the provider's guard."""
        left_s, guard = self._left_s(), self.rules.guard
        turn = self._turns(guard, permit, timeout_s) if guard and permit else None
        try:
            answer = await self._attempt(min(timeout_s, left_s), left_s, turn)
        except SearchProviderError as error:
            await self._settle(permit, failure=error)
            told = error if guard is None else guard.told_when(error)
            raise told from (None if told is error else error)
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
            notices = await self._guard_call(
                lambda: guard.settle(
                    permit,
                    failure=failure,
                    requests=requests_of(answer) if answer else 1,
                    quota_remaining=answer.quota_remaining if answer else None,
                    rate=answer.rate if answer else None,
                )
            )
        except StoreError as error:  # what was reserved stays counted; the answer was paid for
            notices = [f"The count of the quota may be too high: {error}"]
        self.report.notices.extend(notices)
        await self._exchange_rate(guard)

    async def _guard_call(self, call: Callable[[], T]) -> T:
        """Return the result of a call of the guard, made in a thread where it uses a file."""
        guard = self.rules.guard
        return await self.caller.work(call) if guard and guard.needs_thread else call()

    async def _attempt(
        self, timeout_s: float, left_s: float, turn: Callable[[], Iterator[float]] | None
    ) -> SearchAdapterResponse:
        provider = self.rules.provider
        try:
            answer = await self.caller.search(
                self.asked, timeout_s=timeout_s, left_s=left_s, turn=turn
            )
        except TimeoutError as error:
            raise SearchProviderTimeout(
                f"{provider} did not answer in time; try later or raise the time limit."
            ) from error
        return validate_response(answer, provider=provider)


class _EndedError(Exception):
    """The end of a search without a further attempt."""

    def __init__(self, reason: SearchProviderError) -> None:
        super().__init__(str(reason))
        self.reason = reason


class _NotAdmittedError(_EndedError):
    """The provider's limits did not allow the attempt."""


class OutOfTimeError(_EndedError):
    """The search's own time was over; with more time it may succeed."""
