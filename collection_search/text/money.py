"""Amounts of money for people, rounded."""

from __future__ import annotations

from decimal import Decimal
from typing import Final

_WHOLE_FROM: Final = 10
"""Dollars from which on cents are left out."""
_DIGITS: Final = 2


def round_usd(amount: float | Decimal) -> str:
    """Return the amount with two significant digits, at least cents; from $10 on whole dollars.

    A small amount keeps its first two digits and never becomes $0. The exact amount is what
    `contracts.prices.format_usd` returns.

    >>> [round_usd(each) for each in (0.0240058, 0.00003075, 1.234, 0.5, 0)]
    ['$0.024', '$0.000031', '$1.20', '$0.50', '$0.00']
    >>> round_usd(12.4), round_usd(1234.5), round_usd(9.96)
    ('$12', '$1,234', '$10')
    """
    exact = Decimal(repr(amount)) if isinstance(amount, float) else Decimal(amount)
    if exact < _WHOLE_FROM:
        exact = Decimal(f"{exact:.{_DIGITS - 1}e}")
    if exact >= _WHOLE_FROM:
        return f"${exact:,.0f}"
    whole, _, cents = f"{exact.normalize():f}".partition(".")
    return f"${whole}.{cents:0<2}"
