"""The price of a search attempt: its maximum before the attempt, its cost after it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from ...contracts.price_list import LIST_PRICES, PriceList
from ...contracts.prices import parse_usd
from ...text.validation import whole_number

if TYPE_CHECKING:
    from collections.abc import Callable

    from ...contracts.search import SearchAdapterResponse
    from ...ports.description import SearchDescription
    from ...ports.search_function import Asked


@dataclass(frozen=True, slots=True)
class AttemptPrice:
    """The most that an attempt may use."""

    requests: int = 1
    units: float = 1.0
    """Units of the list price."""


def price_of(adapter: SearchDescription) -> Callable[[Asked], AttemptPrice]:
    """Return a function for the price of an attempt; by default one request is one unit."""
    if (own := adapter.price) is None:
        return lambda _: AttemptPrice()
    return lambda asked: AttemptPrice(*own.price(asked.count, asked.options))


def cost_of(
    provider: str, answer: SearchAdapterResponse, prices: PriceList = LIST_PRICES
) -> float | None:
    """Return the provider's figure for the answer, else its price; None: unknown."""
    if (said := parse_usd(answer.cost_usd)) is not None:
        return said
    units = parse_usd(answer.credits)
    return prices.search_cost(provider, requests_of(answer) if units is None else units)


def requests_of(answer: SearchAdapterResponse) -> int:
    """Return how many requests the answer took."""
    return max(1, whole_number(answer.request_count) or 1)
