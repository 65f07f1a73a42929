"""What an attempt of a search costs: at most, before it is made, and in the end."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from ...contracts.prices import parse_usd, search_cost
from ...text.validation import whole_number

if TYPE_CHECKING:
    from collections.abc import Callable

    from ...contracts.search import SearchAdapterResponse
    from ...ports.description import SearchDescription
    from ...ports.search_function import Asked


@dataclass(frozen=True, slots=True)
class AttemptPrice:
    """What an attempt may take at most."""

    requests: int = 1
    units: float = 1.0
    """Of the list price."""


def price_of(adapter: SearchDescription) -> Callable[[Asked], AttemptPrice]:
    """Return what tells the price of an attempt with this adapter.

    One request for one unit, unless the adapter says otherwise.
    """
    if (own := adapter.price) is None:
        return lambda _: AttemptPrice()
    return lambda asked: AttemptPrice(*own.price(asked.count, asked.options))


def cost_of(provider: str, answer: SearchAdapterResponse) -> float | None:
    """Return what the answer cost: as the provider says, else by its list price; None: unknown."""
    if (said := parse_usd(answer.cost_usd)) is not None:
        return said
    units = parse_usd(answer.credits)
    return search_cost(provider, requests_of(answer) if units is None else units)


def requests_of(answer: SearchAdapterResponse) -> int:
    """Return how many requests the answer took."""
    return max(1, whole_number(answer.request_count) or 1)
