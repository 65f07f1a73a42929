"""What is known of a plan's rate, and where it is kept between two processes."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, Literal, Protocol

if TYPE_CHECKING:
    from ..contracts.search import StatedRate

RateSource = Literal["free", "stated", "learnt"]
"""`free`: requests at once were answered. `stated`: by the vendor. `learnt`: from a refusal."""

MAX_INTERVAL_S: Final = 10.0
"""No learnt distance between two requests is longer."""
MAX_WINDOW_S: Final = 60.0
"""A limit of a longer time is a quota, not a rate."""
_DAY_S: Final = 86_400.0
VALID_S: Final[dict[RateSource, float]] = {
    "free": 30 * _DAY_S,
    "stated": _DAY_S,
    "learnt": _DAY_S,
}
"""After this time it is learnt anew: plans change."""


@dataclass(frozen=True, slots=True)
class KnownRate:
    """The rate of a provider for one key."""

    source: RateSource
    interval_s: float = 0.0
    """Seconds between two requests; 0: they may come at once."""
    burst: int = 1
    """Requests that may come at once after a pause."""
    at: float = 0.0
    """When it was learnt, in seconds since 1970."""

    def is_valid(self, now: float) -> bool:
        """Return whether it is not too old; `now` is in seconds since 1970.

        After a jump of the clock it may lie in the future; it is not valid for longer then.
        """
        return abs(now - self.at) < VALID_S[self.source]


class RateMemory(Protocol):
    """Keeps the rate of one provider and key; both methods may block and never raise."""

    def load(self) -> KnownRate | None:
        """Return what was saved last, None where there is nothing."""
        ...

    def save(self, known: KnownRate) -> None:
        """Keep it for other processes, if that is possible."""
        ...


def rate_of_limit(stated: StatedRate, now: float) -> KnownRate | None:
    """Return the rate that keeps a vendor's limit in every window; None where it names none.

    Half of the requests may come at once, the others at a distance.

    >>> from collection_search.contracts.search import StatedRate
    >>> one, many = (rate_of_limit(StatedRate(count, 1.0), 0) for count in (1, 20))
    >>> one and (one.interval_s, one.burst), many and (round(many.interval_s, 3), many.burst)
    ((1.0, 1), (0.091, 10))
    """
    count, window_s = stated.requests, stated.window_s
    if not count or not window_s or window_s > MAX_WINDOW_S:
        return None
    burst = math.ceil(count / 2)
    return KnownRate("stated", window_s / (count - burst + 1), burst, now)
