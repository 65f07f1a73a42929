"""Amounts of money, exact sums of them, and tokens counted from characters.

Amounts are US dollars. None means that an amount is not known.
"""

from __future__ import annotations

from decimal import Decimal
from typing import TYPE_CHECKING, Any, Final

from ..text.validation import number_within

if TYPE_CHECKING:
    from collections.abc import Iterable

CHARS_PER_TOKEN: Final = 3
"""Estimate for Latin text without a tokenizer. English prose has 4; German, code and addresses have
fewer, so an estimated cost is rather too high."""
MAX_USD: Final = 1e9
"""A higher cost is treated as an error."""


def parse_usd(value: Any) -> float | None:
    """Return a valid amount of money from another system, None for everything else.

    >>> (parse_usd(0.007), parse_usd(0), parse_usd(-1), parse_usd(float("nan")), parse_usd(10**400),
    ...  parse_usd("7"))
    (0.007, 0.0, None, None, None, None)
    """
    return number_within(value, 0, MAX_USD)


def total_cost(costs: Iterable[float]) -> float:
    """Return the sum, exact to the last digit.

    >>> total_cost([0.1, 0.2])
    0.3
    """
    return float(sum(map(to_decimal, costs), Decimal(0)))


def total_if_known(costs: Iterable[float | None]) -> float | None:
    """Return the exact sum, None when a part of it is not known.

    >>> total_if_known([0.1, 0.2]), total_if_known([0.1, None]), total_if_known([])
    (0.3, None, 0.0)
    """
    known: list[float] = []
    for cost in costs:
        if cost is None:
            return None
        known.append(cost)
    return total_cost(known)


def sum_tokens(counts: Iterable[int | None]) -> int | None:
    """Return the sum of tokens, None when a part of it is not known.

    >>> sum_tokens([3, 4]), sum_tokens([3, None]), sum_tokens([])
    (7, None, 0)
    """
    known: list[int] = []
    for count in counts:
        if count is None:
            return None
        known.append(count)
    return sum(known)


def tokens_in(texts: Iterable[str]) -> int:
    """Return an upper estimate of the tokens in the texts, by their characters.

    >>> tokens_in(["How do tasks end?", "\u65e5\u672c\u8a9e"])
    9
    """
    plain = other = 0
    for text in texts:
        ascii_chars = len(text.encode("ascii", "ignore"))
        plain += ascii_chars
        other += len(text) - ascii_chars
    return -(-plain // CHARS_PER_TOKEN) + other


def format_usd(amount: float | Decimal) -> str:
    """Return the amount for people, with as many digits as it needs, at least cents.

    >>> format_usd(0.5), format_usd(3e-07), format_usd(0.00021), format_usd(Decimal("12"))
    ('$0.50', '$0.0000003', '$0.00021', '$12.00')
    """
    whole, _, cents = f"{to_decimal(amount).normalize():f}".partition(".")
    return f"${whole}.{cents:0<2}"


def to_decimal(amount: float | Decimal) -> Decimal:
    """Return the amount as it is written, so that sums are exact to the last digit."""
    return amount if isinstance(amount, Decimal) else Decimal(repr(amount))
