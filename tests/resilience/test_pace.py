"""The rate that is learnt: when, how long it holds, and what it costs."""

from __future__ import annotations

import pytest

from collection_search.contracts.search import StatedRate
from collection_search.resilience.known_rate import VALID_S, KnownRate
from collection_search.resilience.pace import POLL_S, Pace, Turn
from collection_search.testing import FakeClock


class Kept:
    """A memory in memory."""

    def __init__(self, known: KnownRate | None = None) -> None:
        self.known = known

    def load(self) -> KnownRate | None:
        return self.known

    def save(self, known: KnownRate) -> None:
        self.known = known


@pytest.fixture
def clock() -> FakeClock:
    return FakeClock()


def pace_at(clock: FakeClock, memory: Kept | None = None) -> Pace:
    return Pace(
        rate_per_s=None, burst=1, clock=clock.monotonic, wall_clock=clock.time, memory=memory
    )


def starting(pace: Pace, count: int) -> list[Turn]:
    """Return those of so many turns at once whose requests start now."""
    turns = [pace.take() for _ in range(count)]
    return [turn for turn in turns if pace.wait_s(turn) == 0]


def test_two_are_under_way_while_nothing_is_known(clock: FakeClock) -> None:
    """The others look again in a moment, and leave after a second each without an answer."""
    pace = pace_at(clock)
    turns = [pace.take() for _ in range(4)]
    assert [pace.wait_s(turn) for turn in turns] == [0, 0, POLL_S, POLL_S]
    clock.advance(1.05)
    assert [pace.wait_s(turn) for turn in turns[2:]] == [0, POLL_S]


def test_two_answers_let_all_go(clock: FakeClock) -> None:
    """The others too, which wait."""
    pace = pace_at(clock)
    turns = [pace.take() for _ in range(9)]
    for turn in turns[:2]:
        pace.wait_s(turn)
        pace.answered(turn)
    assert [pace.wait_s(turn) for turn in turns[2:]] == [0] * 7


def test_the_answer_of_one_lets_nobody_go(clock: FakeClock) -> None:
    """The other one may be refused yet; one that starts late belongs to the two as well."""
    for is_late in (False, True):
        pace = pace_at(clock)
        late, probe, waiting = (pace.take() for _ in range(3))
        started = (probe,) if is_late else (late, probe)
        assert [pace.wait_s(turn) for turn in started] == [0] * len(started)
        pace.answered(probe)
        assert pace.wait_s(waiting) == POLL_S
        assert pace.take().slot.wait_s > 0
        assert pace.wait_s(late) == 0
        assert pace.throttled(late, None)
        assert pace.wait_s(waiting) == pytest.approx(1.05)


def test_answers_one_after_the_other_prove_nothing(clock: FakeClock) -> None:
    """Nobody waits for it either."""
    pace = pace_at(clock)
    for _ in range(5):
        (turn,) = starting(pace, 1)
        clock.advance(0.4)
        pace.answered(turn)
    assert len(starting(pace, 5)) < 5


def test_one_refusal_teaches_the_distance(clock: FakeClock) -> None:
    """By the requests that were answered in its second."""
    pace = pace_at(clock)
    first, second = starting(pace, 2)
    waiting = pace.take()
    assert pace.throttled(second, None)
    pace.answered(first)
    assert pace.wait_s(waiting) == pytest.approx(1.05)
    assert pace.take().slot.wait_s == pytest.approx(2.1)


def test_refusals_at_once_are_one_lesson(clock: FakeClock) -> None:
    """They do not lengthen the distance beyond what they show."""
    pace = pace_at(clock)
    for turn in starting(pace, 2):
        pace.answered(turn)
    clock.advance(10)
    first, *late = starting(pace, 5)
    assert all(pace.throttled(turn, None) for turn in late)
    pace.answered(first)
    clock.advance(10)
    assert [pace.take().slot.wait_s for _ in range(3)] == pytest.approx([0, 1.05, 2.1])


def test_a_refusal_that_came_alone_is_no_rate(clock: FakeClock) -> None:
    """A longer time is used up then: only what the provider asks for is waited."""
    pace = pace_at(clock)
    (turn,) = starting(pace, 1)
    assert not pace.throttled(turn, 3.0)
    assert pace.take().slot.wait_s == 3.0


def test_a_further_refusal_doubles_the_distance(clock: FakeClock) -> None:
    """As where another program uses the same key; never beyond ten seconds."""
    pace = pace_at(clock)
    pace.throttled(starting(pace, 2)[1], None)
    for _ in range(9):
        clock.advance(60)
        assert pace.throttled(starting(pace, 1)[0], None)
    clock.advance(60)
    assert [pace.take().slot.wait_s for _ in range(2)] == pytest.approx([0, 10.5])


def test_a_stated_limit_needs_no_refusal(clock: FakeClock) -> None:
    """What was sent before it came counts in it."""
    pace = pace_at(clock)
    first, second = starting(pace, 2)
    pace.answered(first, StatedRate(1, 1.0))
    assert pace.throttled(second, None)
    assert pace.take().slot.wait_s == pytest.approx(2.1)
    pace.answered(first, StatedRate(50, 1.0))
    assert len(starting(pace, 20)) == 20


def test_a_pause_without_a_limit(clock: FakeClock) -> None:
    """Nothing is left until the reset: nobody tries."""
    pace = pace_at(clock)
    (turn,) = starting(pace, 1)
    pace.answered(turn, StatedRate(pause_s=4.0))
    assert pace.take().slot.wait_s == pytest.approx(4.0)


def test_a_turn_that_comes_too_late_now(clock: FakeClock) -> None:
    """The caller is told the wait, and the turn may be given back without harm."""
    pace = pace_at(clock)
    _, second = starting(pace, 2)
    waiting = pace.take(max_wait_s=5)
    pace.throttled(second, 30.0)
    assert pace.wait_s(waiting, max_wait_s=5) == pytest.approx(30)
    pace.give_back(waiting)
    assert pace.take().slot.wait_s == pytest.approx(30)


def test_none_is_too_late_while_nothing_is_known(clock: FakeClock) -> None:
    """Of a crowd in a new process nobody is refused for a rate that only seems to be slow."""
    pace = pace_at(clock)
    turns = [pace.take(max_wait_s=5) for _ in range(800)]
    assert not any(turn.is_late for turn in turns)
    for turn in turns[:2]:
        pace.wait_s(turn, max_wait_s=5)
        pace.answered(turn)
    assert [pace.wait_s(turn, max_wait_s=5) for turn in turns[2:]] == [0] * 798


def test_a_crowd_is_told_when_the_rate_turns_out_to_be_slow(clock: FakeClock) -> None:
    """Those that fit into the time wait for their turn, the others are told how long it would be."""
    pace = pace_at(clock)
    turns = [pace.take(max_wait_s=5) for _ in range(20)]
    assert [pace.wait_s(turn, max_wait_s=5) for turn in turns[:2]] == [0, 0]
    pace.throttled(turns[1], None)
    waits = [pace.wait_s(turn, max_wait_s=5) for turn in turns[2:]]
    assert sum(wait_s <= 5 for wait_s in waits) == 4
    assert all(wait_s > 5 for wait_s in waits[4:])


def test_who_waits_for_the_first_answers_waits_no_longer_than_it_may(clock: FakeClock) -> None:
    pace = pace_at(clock)
    _, _, *waiting = [pace.take(max_wait_s=0.06) for _ in range(9)]
    assert pace.wait_s(waiting[-1], max_wait_s=0.06) == POLL_S
    assert pace.wait_s(waiting[-1], max_wait_s=POLL_S / 2) > 5


def test_a_probe_that_ends_otherwise_makes_room(clock: FakeClock) -> None:
    """Cancelled, or failed."""
    pace = pace_at(clock)
    _, probe = starting(pace, 2)
    waiting = pace.take()
    assert pace.wait_s(waiting) > 0
    pace.end(probe)
    assert pace.wait_s(waiting) == 0


def test_it_is_kept_for_the_next_process(clock: FakeClock) -> None:
    """Until the plan may have changed."""
    memory = Kept()
    pace = pace_at(clock, memory)
    assert pace.has_news
    pace.exchange()
    assert not pace.has_news
    pace.throttled(starting(pace, 2)[1], None)
    assert pace.has_news
    pace.exchange()
    assert memory.known == KnownRate("learnt", 1.0, 1, clock.time())
    later = pace_at(clock, memory)
    later.exchange()
    assert len(starting(later, 5)) == 1
    clock.advance(VALID_S["learnt"])
    assert len(starting(later, 5)) == 2


def test_a_rate_of_the_settings_learns_nothing(clock: FakeClock) -> None:
    """It is the user's word; a pause holds nevertheless."""
    pace = Pace(rate_per_s=10, burst=1, clock=clock.monotonic, wall_clock=clock.time)
    turn = pace.take()
    assert pace.wait_s(turn) == 0
    assert not pace.throttled(turn, 2.0)
    pace.answered(turn, StatedRate(1, 1.0))
    assert pace.take().slot.wait_s == 2.0
    assert pace.take().slot.wait_s == pytest.approx(2.105)
    assert not pace.has_news
