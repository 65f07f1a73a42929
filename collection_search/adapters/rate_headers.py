"""The rate limit that the headers of an answer state, in the forms that vendors use."""

from __future__ import annotations

import math
import re
import time
from typing import TYPE_CHECKING, Final

from ..contracts.search import StatedRate
from .retry_after import parse_numbers, parse_seconds

if TYPE_CHECKING:
    from collections.abc import Mapping

LONGEST_RATE_S: Final = 60.0
"""A limit of a longer time is a quota."""
_EPOCH_S: Final = 1e9
"""A larger time of reset is a date, in seconds since 1970."""
_POLICY = re.compile(r"(?:^|[\s;])(?:q\s*=\s*)?(?P<count>\d+)\b[^,]*;\s*w\s*=\s*(?P<window>\d+)")


def read_stated_rate(headers: Mapping[str, str], *, now: float | None = None) -> StatedRate | None:
    """Return the limit of the shortest time in the headers, whose names are in lower case.

    None where they state no limit of a minute or less. `now` are the seconds since 1970, by default
    the clock's.

    >>> read_stated_rate({"x-ratelimit-policy": "1;w=1, 2000;w=2592000"})
    StatedRate(requests=1, window_s=1.0, pause_s=0.0)
    >>> read_stated_rate({"ratelimit-policy": '"default";q=20;w=10'})
    StatedRate(requests=20, window_s=10.0, pause_s=0.0)
    >>> read_stated_rate({"x-ratelimit-limit": "50", "x-ratelimit-remaining": "0",
    ...     "x-ratelimit-reset": "3"})
    StatedRate(requests=None, window_s=None, pause_s=3.0)
    """
    said = {name.removeprefix("x-"): value for name, value in headers.items()}
    policies = [
        (float(found["window"]), int(found["count"]))
        for part in said.get("ratelimit-policy", "").split(",")
        if (found := _POLICY.search(part))
    ]
    short = [policy for policy in policies if 0 < policy[0] <= LONGEST_RATE_S and policy[1]]
    if short:
        window_s, count = min(short)
        return StatedRate(count, window_s)
    pause_s = _pause_s(said, time.time() if now is None else now)
    return StatedRate(pause_s=pause_s) if pause_s else None


def _pause_s(said: Mapping[str, str], now: float) -> float:
    """Return the seconds until the shortest window begins anew, if nothing is left in it."""
    left = parse_numbers(said.get("ratelimit-remaining"))
    reset = (said.get("ratelimit-reset") or "").split(",")[0]
    resets = parse_seconds(reset, longest_s=math.inf)
    if not left or left[0] or resets is None:
        return 0.0
    wait_s = resets - now if resets > _EPOCH_S else resets
    return wait_s if 0 < wait_s <= LONGEST_RATE_S else 0.0
