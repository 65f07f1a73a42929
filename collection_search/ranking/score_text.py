"""Scores as people read them."""

from __future__ import annotations

import math
from decimal import ROUND_FLOOR, Decimal


def format_score(score: float, *, beside: float = 0.0, decimals: int = 1) -> str:
    """Return a score for people, rounded down: it never seems to reach what it does not reach.

    With two decimals where the threshold `beside` it has more than `decimals`.

    >>> format_score(59.96), format_score(92.0), format_score(84.9, decimals=0)
    ('59.9', '92.0', '84')
    >>> format_score(59.96, beside=59.95)
    '59.96'
    """
    if not math.isfinite(score):
        return str(score)
    shown = max(decimals, min(_decimals(beside), 2))
    return str(Decimal(str(score)).quantize(Decimal(1).scaleb(-shown), ROUND_FLOOR))


def _decimals(number: float) -> int:
    exponent = Decimal(str(number)).normalize().as_tuple().exponent
    return max(0, -exponent) if isinstance(exponent, int) else 0
