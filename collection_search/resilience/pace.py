"""The distance between the requests of one key: as the settings say, or learnt."""

from __future__ import annotations

import math
import threading
from collections import deque
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final

from .known_rate import MAX_INTERVAL_S, KnownRate, rate_of_limit
from .rate_limit import INSTANT_S, RateLimiter, Slot

if TYPE_CHECKING:
    from collections.abc import Callable

    from ..contracts.search import StatedRate
    from .known_rate import RateMemory

SPACING: Final = 1.05
"""Factor on the interval between requests, since the network shifts them."""
CAUTIOUS_S: Final = 1.0
"""Seconds between requests while nothing is known of the plan: the slowest that is sold."""
TOGETHER_S: Final = 0.1
"""Requests that start within this time and are all answered show that the plan has no such rate."""
POLL_S: Final = 0.01
"""How often a request that waits for the first answers looks whether they have come."""
WINDOW_S: Final = 1.0
"""A refusal tells the rate by the requests that were answered in so many seconds around it."""
MAX_NOTED: Final = 1_000
"""Requests of the last second that are remembered."""


@dataclass(slots=True, eq=False)
class Turn:
    """The turn of one request; two turns of the same time are not equal."""

    slot: Slot
    is_probe: bool = False
    """Whether it goes before its time, to find out whether the plan allows that."""
    is_late: bool = False
    """Whether it would come after the longest wait; nothing is reserved then."""
    begins: float | None = None
    """When it may start, once it is counted."""
    started: float | None = None

    @property
    def at(self) -> float:
        """When the request was made, or may be made."""
        return self.slot.at if self.started is None else self.started


class Pace:
    """The turns of a key's requests; safe for threads. Times are seconds of its `clock`.

    With `rate_per_s` they keep that rate. Without, a rate is learnt: at first two requests may be
    on their way at once, and others wait for both answers, each a second at most. Are both
    answered, no request waits any more. Is one refused, or does an answer state a limit, that
    teaches the rate, and the requests that wait leave one by one.
    """

    def __init__(
        self,
        *,
        rate_per_s: float | None,
        burst: int,
        clock: Callable[[], float],
        wall_clock: Callable[[], float],
        memory: RateMemory | None = None,
    ) -> None:
        self._learns = rate_per_s is None
        self._clock, self._wall_clock, self._memory = clock, wall_clock, memory
        interval_s = SPACING / rate_per_s if rate_per_s else SPACING * CAUTIOUS_S
        self._limiter = RateLimiter(interval_s, burst=burst if rate_per_s else 1, clock=clock)
        self._lock = threading.RLock()
        self._known: KnownRate | None = None
        self._known_from = -math.inf
        """When the known rate began, on the limiter's clock."""
        self._is_saved = True
        self._is_loaded = memory is None or not self._learns
        self._under_way: set[Turn] = set()
        """First requests of calls that have no answer yet, while nothing is known."""
        self._awaited: set[Turn] = set()
        """Those of them that the next probe waits for: the last probe, and what it went with."""
        self._paused_until = -math.inf
        self._made: deque[float] = deque(maxlen=MAX_NOTED)
        """Starts of the last second's requests, without the refused ones."""
        self._answered: deque[float] = deque(maxlen=10)
        """Starts of the latest answered requests, while nothing is known."""

    @property
    def has_news(self) -> bool:
        """Return whether `exchange` has something to load or to save."""
        return not (self._is_loaded and self._is_saved)

    @property
    def _seeks(self) -> bool:
        return self._learns and self._known is None

    def exchange(self) -> None:
        """Load what another process has learnt, or save what this one has. Blocks."""
        if self._memory is None:
            return
        if not self._is_loaded:
            known = self._memory.load()
            with self._lock:
                if self._known is None and known is not None:
                    self._adopt(known)
                self._is_loaded = True
        with self._lock:
            unsaved = None if self._is_saved else self._known
            self._is_saved = True
        if unsaved is not None:
            self._memory.save(unsaved)

    def take(self, *, max_wait_s: float = math.inf, may_probe: bool = True) -> Turn:
        """Return the next turn; it is reserved unless it is more than `max_wait_s` away.

        While nothing is known of the plan, none is too far away: the first answers may free it.
        """
        with self._lock:
            if self._known is not None and not self._known.is_valid(self._wall_clock()):
                self._forget()
            slot = self._limiter.reserve(max_wait_s=0.0)
            if slot.wait_s <= 0:
                turn = Turn(slot)
                if may_probe:
                    self._depart(turn)
                return turn
            if may_probe and self._may_probe():
                return self._probing()
            if self._seeks:
                return Turn(self._limiter.reserve(max_wait_s=math.inf))
            slot = self._limiter.reserve(max_wait_s=max_wait_s)
            return Turn(slot, is_late=slot.wait_s > max_wait_s)

    def wait_s(self, turn: Turn, *, max_wait_s: float = math.inf, may_probe: bool = True) -> float:
        """Return the seconds until the turn's request may start, or 0 and count it.

        Call it again after that time. It returns more than `max_wait_s` where the rate has changed
        and the new turn would come too late; the turn is void then.
        """
        with self._lock:
            now = self._clock()
            if turn.slot.era != self._limiter.era:
                new = self.take(max_wait_s=max_wait_s, may_probe=may_probe)
                if new.is_late:
                    return new.slot.wait_s
                self._renew(turn, new)
            elif turn.slot.at - now > INSTANT_S and may_probe and self._may_probe():
                self._limiter.give_back(turn.slot)
                self._renew(turn, self._probing())
            if (left_s := turn.slot.at - now) > INSTANT_S:
                poll_s = min(left_s, max(POLL_S, self._paused_until - now))
                return poll_s if self._seeks and poll_s <= max_wait_s else left_s
            if turn.begins is None:
                turn.begins = now + (0.0 if turn.is_probe else self._limiter.start())
            if (left_s := turn.begins - now) > INSTANT_S:
                return left_s
            turn.started = now
            self._note(now)
            if may_probe:
                self._depart(turn)
            return 0.0

    def give_back(self, turn: Turn) -> None:
        """Release the turn of a request that was not made."""
        with self._lock:
            self._leave(turn)
            self._limiter.give_back(turn.slot)

    def pause(self, seconds: float) -> None:
        """Give no further turn before this time has passed."""
        with self._lock:
            self._paused_until = max(self._paused_until, self._clock() + seconds)
            self._limiter.pause(seconds)

    def end(self, turn: Turn) -> None:
        """Learn nothing from a request that ended in another way."""
        with self._lock:
            self._leave(turn)

    def answered(self, turn: Turn, stated: StatedRate | None = None) -> None:
        """Learn from an answered request, and from the limit that the answer states."""
        with self._lock:
            self._arrive(turn)
            if not self._learns:
                return
            if stated is not None and self._state(stated):
                return
            if not self._seeks:
                return
            at = turn.at
            if any(abs(at - other) <= TOGETHER_S for other in self._answered):
                self._learn(KnownRate("free", at=self._wall_clock()))
            self._answered.append(at)

    def throttled(self, turn: Turn, pause_s: float | None) -> bool:
        """Learn from a refusal for too many requests; return whether it taught a rate.

        `pause_s` is the time that the provider asks for. The other refusals of requests that were
        made before the rate was known belong to the same lesson.
        """
        with self._lock:
            self._arrive(turn)
            teaches = self._learns and self._lesson(turn.at)
            if pause_s is not None:
                self.pause(pause_s)
            return teaches

    def _lesson(self, at: float) -> bool:
        """Learn from the refusal of a request that was made then; return whether it taught."""
        known, with_it = self._known, self._others_around(at)
        if known is None or known.source == "free":
            if not with_it:  # it came alone: a longer time is used up, which is no rate
                return False
            self._learn(KnownRate("learnt", WINDOW_S / with_it, at=self._wall_clock()))
            return True
        is_late = at <= self._known_from
        if known.source == "stated":
            return is_late
        longer_s = WINDOW_S / max(1, with_it) if is_late else 2 * known.interval_s
        if longer_s > known.interval_s:
            longer_s = min(longer_s, MAX_INTERVAL_S)
            self._learn(replace(known, interval_s=longer_s, at=self._wall_clock()))
        return True

    def _state(self, stated: StatedRate) -> bool:
        """Use the limit that an answer states; return whether it names a rate."""
        known = rate_of_limit(stated, self._wall_clock())
        if known is None:
            if stated.pause_s:
                self.pause(stated.pause_s)
            return False
        old = self._known
        if old is None or (old.interval_s, old.burst) != (known.interval_s, known.burst):
            self._learn(known)
        return True

    def _learn(self, known: KnownRate) -> None:
        self._adopt(known, pause_s=SPACING * known.interval_s if known.source == "learnt" else 0.0)
        self._is_saved = self._memory is None

    def _adopt(self, known: KnownRate, pause_s: float = 0.0) -> None:
        now = self._clock()
        self._known, self._known_from = known, now
        pause_s = max(pause_s, self._paused_until - now)
        self._limiter.change(
            SPACING * known.interval_s,
            burst=known.burst,
            made=self._made,
            pause_s=max(0.0, pause_s),
        )
        self._under_way.clear()
        self._awaited.clear()
        self._answered.clear()

    def _forget(self) -> None:
        self._known = None
        self._limiter.change(SPACING * CAUTIOUS_S, made=self._made)

    def _may_probe(self) -> bool:
        return self._seeks and not self._awaited and self._clock() >= self._paused_until

    def _probing(self) -> Turn:
        turn = Turn(Slot(0.0, self._clock(), self._limiter.era), is_probe=True)
        self._depart(turn)
        self._awaited = self._under_way.copy()
        return turn

    def _depart(self, turn: Turn) -> None:
        if self._seeks:
            self._under_way.add(turn)

    def _arrive(self, turn: Turn) -> None:
        self._under_way.discard(turn)
        self._awaited.discard(turn)

    def _leave(self, turn: Turn) -> None:
        self._arrive(turn)
        if turn.is_probe:  # another may find out what this one did not
            self._awaited.clear()

    def _renew(self, turn: Turn, new: Turn) -> None:
        turn.slot, turn.is_probe, turn.begins = new.slot, new.is_probe, None
        for turns in (self._under_way, self._awaited):
            turns.discard(turn)
            if new in turns:
                turns.remove(new)
                turns.add(turn)

    def _note(self, now: float) -> None:
        while self._made and self._made[0] < now - WINDOW_S:
            self._made.popleft()
        self._made.append(now)

    def _others_around(self, at: float) -> int:
        """Return how many other requests of that second were not refused, and drop this one."""
        if at in self._made:
            self._made.remove(at)
        return sum(abs(at - other) <= WINDOW_S for other in self._made)
