"""A provider's guard: what it lets through, what it learns, and what it says."""

from __future__ import annotations

from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING

import pytest

from collection_search.errors import (
    SearchProviderAuthenticationFailed,
    SearchProviderBadResponse,
    SearchProviderError,
    SearchProviderInvalidQuery,
    SearchProviderQuotaExceeded,
    SearchProviderTimeout,
    SearchProviderUnavailable,
    StoreError,
)
from collection_search.resilience import ProviderGuard, Quota, guard_of, process_guards
from collection_search.testing import FakeClock
from collection_search.text.known_secrets import key_id

if TYPE_CHECKING:
    from collection_search.resilience.quota import Period

NOV_30 = 1_796_083_140.0
"""2026-11-30 23:59 UTC."""


class Counted:
    """A quota store in memory that may fail."""

    def __init__(self) -> None:
        self.counts: Counter[str] = Counter()
        self.calls = 0
        self.is_broken = False

    def reserve(
        self, provider: str, key_id: str, *, period: str, limit: int, count: int = 1
    ) -> bool:
        self.calls += 1
        if self.is_broken:
            raise StoreError("the disk is full")
        if self.counts[period] + count > limit:
            return False
        self.counts[period] += count
        return True

    def settle(
        self, provider: str, key_id: str, *, period: str, used: int, reserved: int = 1
    ) -> int:
        self.calls += 1
        self.counts[period] += used - reserved
        return self.counts[period]

    def used(self, provider: str, key_id: str, *, period: str) -> int:
        return self.counts[period]


@pytest.fixture
def clock() -> FakeClock:
    return FakeClock(epoch_s=NOV_30)


@pytest.fixture
def store() -> Counted:
    return Counted()


@pytest.fixture
def guard(clock: FakeClock) -> ProviderGuard:
    return ProviderGuard("brave", clock=clock.monotonic, wall_clock=clock.time)


def limited(
    clock: FakeClock,
    store: Counted,
    limit: int = 100,
    period: Period = "month",
    rate_per_s: float | None = None,
) -> ProviderGuard:
    return ProviderGuard(
        "brave",
        rate_per_s=rate_per_s,
        quota=Quota(store, "key", limit, period),
        clock=clock.monotonic,
        wall_clock=clock.time,
    )


def call(
    guard: ProviderGuard, failure: SearchProviderError | None = None, requests: int = 1
) -> list[str]:
    return guard.settle(guard.admit(), failure=failure, requests=requests)


def fail_until_open(guard: ProviderGuard, clock: FakeClock) -> None:
    while guard.may_retry():
        call(guard, SearchProviderTimeout("brave did not answer."))
        clock.advance(0.5)


class TestBreaker:
    def test_it_says_who_why_and_when(self, guard: ProviderGuard, clock: FakeClock) -> None:
        """A refusal is no failure of the provider's; a retry at the named time may help."""
        fail_until_open(guard, clock)
        with pytest.raises(SearchProviderUnavailable) as caught:
            guard.admit()
        error = caught.value
        assert str(error) == (
            "brave is not asked, since it keeps failing (brave did not answer)."
            " It is asked again in 5 s."
        )
        assert (error.code, error.retryable) == ("serviceUnavailable", True)
        assert error.retry_in_ms is not None
        assert 0 < error.retry_in_ms <= 5_000

    @pytest.mark.parametrize(
        "failure",
        [
            SearchProviderInvalidQuery("the query is too long"),
            SearchProviderQuotaExceeded("slow down"),
        ],
    )
    def test_an_answer_is_an_answer(
        self, guard: ProviderGuard, clock: FakeClock, failure: SearchProviderError
    ) -> None:
        """Bad queries and throttles do not speak against the provider, and end a trial well."""
        for _ in range(50):
            call(guard, failure)
            clock.advance(0.1)
        fail_until_open(guard, clock)
        clock.advance(60)
        call(guard, failure)
        call(guard)

    def test_rubbish_speaks_against_it(self, guard: ProviderGuard, clock: FakeClock) -> None:
        """A provider that answers with something else is down."""
        for _ in range(5):
            call(guard, SearchProviderBadResponse("HTML"))
            clock.advance(0.5)
        with pytest.raises(SearchProviderUnavailable, match="HTML"):
            guard.admit()

    def test_a_used_up_plan_with_a_hint(self, guard: ProviderGuard, clock: FakeClock) -> None:
        """The provider says when it begins anew."""
        call(
            guard,
            SearchProviderQuotaExceeded("no credits", code="quotaExceeded", retry_in_ms=30_000),
        )
        with pytest.raises(SearchProviderQuotaExceeded, match=r"no credits.*in 30 s") as caught:
            guard.admit()
        assert (caught.value.code, caught.value.retryable) == ("quotaExceeded", False)
        assert caught.value.retry_in_ms == 30_000
        clock.advance(30)
        call(guard)
        call(guard)

    def test_a_used_up_plan_without_a_hint(self, guard: ProviderGuard, clock: FakeClock) -> None:
        """Credits may be bought at any time: a later search tries it after ten minutes."""
        call(guard, SearchProviderQuotaExceeded("used up", code="quotaExceeded"))
        with pytest.raises(SearchProviderQuotaExceeded, match="asked again at 2026-12-01 00:09"):
            guard.admit()
        clock.advance(599)
        with pytest.raises(SearchProviderQuotaExceeded, match="in 1 s") as caught:
            guard.admit()
        assert caught.value.retryable is False
        clock.advance(1)
        call(guard)
        call(guard)

    @pytest.mark.parametrize("hint_ms", [0, -5_000])
    def test_a_reset_that_is_over_is_no_hint(self, guard: ProviderGuard, hint_ms: int) -> None:
        """Otherwise every search would ask."""
        call(
            guard,
            SearchProviderQuotaExceeded("used up", code="quotaExceeded", retry_in_ms=hint_ms),
        )
        with pytest.raises(SearchProviderQuotaExceeded) as caught:
            guard.admit()
        assert caught.value.retry_in_ms == 600_000

    def test_the_first_refusal_says_when_too(self, guard: ProviderGuard) -> None:
        """Its own sentence stays; a told reset stays as well, and no other failure changes."""
        used_up = SearchProviderQuotaExceeded("Buy credits.", code="quotaExceeded")
        call(guard, used_up)
        told = guard.told_when(used_up)
        assert str(told) == "Buy credits. It is asked again at 2026-12-01 00:09 UTC."
        assert (told.code, told.retryable, told.retry_in_ms) == ("quotaExceeded", False, 600_000)
        throttle = SearchProviderQuotaExceeded("slow down")
        assert guard.told_when(throttle) is throttle

    def test_a_refused_key_is_not_hammered(self, guard: ProviderGuard) -> None:
        """The error stays that of the key, with what the adapter said to do."""
        for _ in range(3):
            call(guard, SearchProviderAuthenticationFailed("Check BRAVE_API_KEY."))
        with pytest.raises(SearchProviderAuthenticationFailed, match="BRAVE_API_KEY") as caught:
            guard.admit()
        assert caught.value.retryable is False
        assert caught.value.retry_in_ms == 300_000

    def test_a_cancelled_trial_leaves_room(self, guard: ProviderGuard, clock: FakeClock) -> None:
        """Sent or not."""
        fail_until_open(guard, clock)
        clock.advance(60)
        for sent in (True, False):
            guard.abandon(guard.admit(), sent=sent)
        call(guard)
        call(guard)

    def test_an_absurd_hint_is_capped(self, guard: ProviderGuard, clock: FakeClock) -> None:
        """Nobody is shut out for a year by a broken header."""
        call(
            guard,
            SearchProviderQuotaExceeded("?", code="quotaExceeded", retry_in_ms=10**15),
        )
        clock.advance(31 * 86_400)
        call(guard)


class TestRate:
    def test_requests_keep_their_distance(self, clock: FakeClock) -> None:
        """A little more than the plan asks for."""
        guard = ProviderGuard("brave", rate_per_s=1, clock=clock.monotonic)
        assert [guard.admit().wait_s for _ in range(3)] == pytest.approx([0, 1.05, 2.1])

    def test_further_requests_of_a_call_have_slots_too(self, clock: FakeClock) -> None:
        """In one row with those of others; one that comes too late is named, not taken."""
        guard = ProviderGuard("brave", rate_per_s=1, clock=clock.monotonic)
        permit = guard.admit(requests=3)
        assert guard.next(permit, 1) == pytest.approx(1.05)
        assert guard.admit().wait_s == pytest.approx(2.1)
        with pytest.raises(SearchProviderQuotaExceeded, match="no room"):
            guard.next(permit, 2, max_wait_s=3)
        assert guard.next(permit, 2) == pytest.approx(3.15)

    def test_a_throttle_holds_all_off(self, guard: ProviderGuard) -> None:
        """For as long as the provider asked."""
        call(guard, SearchProviderQuotaExceeded("slow down", retry_in_ms=2_500))
        assert guard.admit().wait_s == 2.5

    def test_a_slot_that_comes_too_late(self, clock: FakeClock, store: Counted) -> None:
        """The error says so before the wait; nothing is taken."""
        guard = ProviderGuard(
            "brave",
            rate_per_s=0.1,
            quota=Quota(store, "key", 100),
            clock=clock.monotonic,
            wall_clock=clock.time,
        )
        guard.admit()
        for _ in range(3):
            with pytest.raises(SearchProviderQuotaExceeded, match="only in 10 s") as caught:
                guard.admit(max_wait_s=5)
        assert (caught.value.code, caught.value.retryable) == ("rateLimited", False)
        assert caught.value.retry_in_ms == 10_500
        assert store.counts["2026-11"] == 1
        assert guard.admit(max_wait_s=11).wait_s == 10.5

    def test_a_slot_that_was_not_used_goes_to_the_next(self, clock: FakeClock) -> None:
        """Unless a request was sent in it."""
        guard = ProviderGuard("brave", rate_per_s=1, clock=clock.monotonic)
        guard.admit()
        permits = [guard.admit(), guard.admit()]
        guard.abandon(permits[0], sent=False)
        guard.abandon(permits[1])
        assert [guard.admit().wait_s for _ in range(2)] == pytest.approx([1.05, 3.15])


class TestRetries:
    def test_too_many_are_refused(self, guard: ProviderGuard) -> None:
        """One can know before; a first request always passes."""
        for _ in range(5):
            assert guard.may_retry()
            guard.settle(guard.admit(is_retry=True))
        assert not guard.may_retry()
        with pytest.raises(SearchProviderUnavailable, match="retries") as caught:
            guard.admit(is_retry=True)
        assert caught.value.retryable is False
        call(guard)

    def test_none_while_it_is_open(self, guard: ProviderGuard, clock: FakeClock) -> None:
        """The failure is told at once, not after a pause."""
        fail_until_open(guard, clock)
        assert not guard.may_retry()
        clock.advance(60)
        assert guard.may_retry()


class TestQuota:
    def test_it_ends_at_the_limit(self, clock: FakeClock, store: Counted) -> None:
        """The error says when there is room again; a new month has its own."""
        guard = limited(clock, store, limit=2)
        call(guard)
        call(guard)
        with pytest.raises(SearchProviderQuotaExceeded) as caught:
            guard.admit()
        error = caught.value
        assert str(error) == (
            "brave is not asked: the 2 searches of this month are used up. It is asked again at"
            " 2026-12-01 00:00 UTC. Raise the quota, or choose another provider."
        )
        assert (error.code, error.retryable, error.retry_in_ms) == ("quotaExceeded", False, 60_000)
        clock.advance(60)
        call(guard)
        assert store.counts == {"2026-11": 2, "2026-12": 1}

    @pytest.mark.parametrize(
        ("failure", "requests", "counted"),
        [
            (None, 1, 1),
            (None, 3, 3),
            (SearchProviderUnavailable("refused"), 1, 0),
            (SearchProviderQuotaExceeded("slow down"), 1, 0),
            (SearchProviderQuotaExceeded("slow down"), 3, 2),
            (SearchProviderAuthenticationFailed("no"), 1, 0),
            (SearchProviderTimeout("late"), 1, 1),
            (SearchProviderBadResponse("HTML"), 1, 1),
        ],
    )
    def test_what_counts(
        self,
        clock: FakeClock,
        store: Counted,
        failure: SearchProviderError | None,
        requests: int,
        counted: int,
    ) -> None:
        """A request that failed is given back, unless the provider may have done the work."""
        guard = limited(clock, store)
        call(guard, failure, requests)
        assert store.counts["2026-11"] == counted

    def test_a_call_gets_what_is_left(self, clock: FakeClock, store: Counted) -> None:
        """If fewer requests will do; one that was not granted is refused."""
        guard = limited(clock, store, limit=3, rate_per_s=1_000)
        guard.settle(guard.admit())
        clock.advance(0.01)
        with pytest.raises(SearchProviderQuotaExceeded):
            guard.admit(requests=3)
        permit = guard.admit(requests=3, least=1)
        assert (permit.reserved, store.counts["2026-11"]) == (2, 3)
        assert guard.next(permit, 1) < 0.01
        with pytest.raises(SearchProviderQuotaExceeded) as caught:
            guard.next(permit, 2)
        assert caught.value.code == "quotaExceeded"
        guard.settle(permit, requests=2)
        with pytest.raises(SearchProviderQuotaExceeded):
            guard.admit(requests=3, least=1)
        assert store.counts["2026-11"] == 3

    def test_a_call_over_midnight(self, clock: FakeClock, store: Counted) -> None:
        """It is settled in the month in which it was reserved."""
        guard = limited(clock, store)
        permit = guard.admit()
        clock.advance(61)
        later = guard.admit()
        guard.settle(permit, failure=SearchProviderUnavailable("down"))
        guard.settle(later)
        assert store.counts == {"2026-11": 0, "2026-12": 1}

    def test_a_cancelled_call(self, clock: FakeClock, store: Counted) -> None:
        """What may have been sent stays counted, without touching the file."""
        guard = limited(clock, store)
        guard.abandon(guard.admit(requests=2), sent=False)
        assert store.counts["2026-11"] == 0
        permit = guard.admit(requests=2)
        calls = store.calls
        guard.abandon(permit)
        assert (store.counts["2026-11"], store.calls) == (2, calls)

    def test_a_permit_is_settled_once(self, clock: FakeClock, store: Counted) -> None:
        """Whatever comes after is ignored, so that cleaning up twice does no harm."""
        guard = limited(clock, store)
        permit = guard.admit()
        guard.settle(permit)
        guard.abandon(permit, sent=False)
        assert guard.settle(permit, failure=SearchProviderUnavailable("down")) == []
        assert store.counts["2026-11"] == 1

    def test_a_refusal_takes_nothing(self, clock: FakeClock, store: Counted) -> None:
        """Neither the trial nor the slot: the next one gets them."""
        guard = limited(clock, store, limit=100)
        fail_until_open(guard, clock)
        clock.advance(60)
        month = "2026-12"
        store.counts[month] = 100
        for _ in range(2):
            with pytest.raises(SearchProviderQuotaExceeded, match="100 searches"):
                guard.admit()
        store.counts[month] = 0
        store.is_broken = True
        for _ in range(2):
            with pytest.raises(StoreError, match="disk"):
                guard.admit()
        store.is_broken = False
        call(guard)

    def test_nothing_is_counted_for_an_open_breaker(self, clock: FakeClock, store: Counted) -> None:
        """A call that is not made costs nothing."""
        guard = limited(clock, store)
        call(guard, SearchProviderQuotaExceeded("empty", code="quotaExceeded"))
        calls = store.calls
        with pytest.raises(SearchProviderQuotaExceeded):
            guard.admit()
        assert store.calls == calls

    def test_it_warns_when_little_is_left(self, clock: FakeClock, store: Counted) -> None:
        """From a fifth on, by our count or the provider's, whichever is lower."""
        guard = limited(clock, store)
        store.counts["2026-11"] = 78
        assert call(guard) == []
        assert call(guard) == ["brave: 20 of 100 searches left this month"]
        assert guard.settle(guard.admit(), quota_remaining=12) == [
            "brave: 12 of 100 searches left this month"
        ]

    def test_the_provider_warns_alone(self, guard: ProviderGuard) -> None:
        """Where no quota is set, what it reports must be small."""
        assert guard.settle(guard.admit(), quota_remaining=21) == []
        assert guard.settle(guard.admit(), quota_remaining=7) == ["brave: 7 searches left"]

    def test_only_a_quota_needs_a_file(
        self, guard: ProviderGuard, clock: FakeClock, store: Counted
    ) -> None:
        """Then a coroutine uses a thread."""
        assert not guard.needs_thread
        assert limited(clock, store).needs_thread


class TestTable:
    @pytest.fixture(autouse=True)
    def _empty(self) -> None:
        process_guards._GUARDS.clear()

    def test_one_for_the_process(self) -> None:
        """Many threads that ask at once get the same."""
        with ThreadPoolExecutor(8) as pool:
            made = list(
                pool.map(lambda _: guard_of("x", "key", lambda _: ProviderGuard("x")), range(100))
            )
        assert len({id(guard) for guard in made}) == 1

    def test_keys_and_providers_are_apart(self) -> None:
        """One customer's used-up key is no other's."""
        places = [("x", "one"), ("x", "two"), ("y", "one"), ("x", None)]
        made = [guard_of(*place, lambda _: ProviderGuard("x")) for place in places]
        assert len({id(guard) for guard in made}) == 4

    def test_it_forgets_what_was_not_used_for_longest(self) -> None:
        """A server whose users bring their keys does not grow without end."""
        first = guard_of("x", "0", lambda _: ProviderGuard("x"))
        for number in range(1, process_guards.MAX_GUARDS + 10):
            assert guard_of("x", "0", lambda _: ProviderGuard("x")) is first
            guard_of("x", str(number), lambda _: ProviderGuard("x"))
        assert len(process_guards._GUARDS) == process_guards.MAX_GUARDS

    def test_no_key_is_kept(self) -> None:
        """A short hash stands for it, the same in every process."""
        seen: list[str] = []

        def build(key: str) -> ProviderGuard:
            seen.append(key)
            return ProviderGuard("x")

        guard_of("x", "tvly-secret", build)
        assert seen == [key_id("tvly-secret")]
        assert "secret" not in repr(process_guards._GUARDS)
        assert key_id("") == key_id(None) != key_id(" ")
