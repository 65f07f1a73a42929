"""`collection-search run --estimate`: the cost of a run, estimated without any request."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

from ...contracts.prices import format_usd
from ...text.money import round_usd

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from ...context import SearchContext
    from ...tools.estimate import Estimate
    from .terminal import Screen


def show_estimate(given: Mapping[str, Any], context: SearchContext, screen: Screen) -> None:
    """Print the estimate. Raises InputError, and ConfigError as the run would."""
    from ...contracts.inputs import SearchInput
    from ...graphs.validating_graph import validate_input
    from ...tools.estimate import estimate_run

    estimate = asyncio.run(estimate_run(validate_input(SearchInput, given), context))
    limit = context.cost_limit()
    if screen.as_json:
        screen.json({"estimate": {**estimate.as_dict(), "max_cost_usd": limit}})
        return
    for line in format_estimate(estimate, limit, width=screen.width):
        screen.line(line)


def format_estimate(
    estimate: Estimate, limit_usd: float | None, *, width: int | None = None
) -> Iterator[str]:
    """Yield the estimate as lines of text, the prices below the parts where `width` is too narrow.

    >>> from collection_search.tools.estimate import Estimate, CostPart
    >>> from datetime import date
    >>> day = date(2026, 11, 21)
    >>> search = CostPart("search", "search", "tavily", "requests", 3, 5, 0.024, 0.04, day)
    >>> plan = CostPart("chat", "plan", "my-model", "tokens", 400, 900, None, None)
    >>> for line in format_estimate(Estimate([plan, search], ["1 of 6 searches"]), 0.03):
    ...     print(line)
    The run would cost $0.024 to $0.04, without what my-model takes (its price is not known):
      plan    my-model  400 to 900 tokens  price not known
      search  tavily    3 to 5 requests    $0.024 to $0.04, at prices of 2026-11-21
    Known from before, and free for now: 1 of 6 searches.
    The ceiling of $0.03 may end it early.
    """
    if not estimate.parts:
        known = "known from before, " if estimate.known else ""
        yield f"The run costs nothing: what it uses is {known}free or on this machine."
        return
    without = ", ".join(estimate.unknown)
    missing = f", without what {without} takes (its price is not known)" if without else ""
    yield f"The run would cost {_range(estimate.low_usd, estimate.high_usd)}{missing}:"
    rows = [(part, f"{_span(part.low, part.high)} {part.unit}") for part in estimate.parts]
    tasks, names, units = (
        max(len(text) for text in column)
        for column in zip(*((part.task, part.name, unit) for part, unit in rows), strict=True)
    )
    lines: list[tuple[str, str]] = []
    for part, unit in rows:
        price = "price not known"
        if part.low_usd is not None and part.high_usd is not None:
            source = f"at prices of {part.seen}" if part.seen else "at your own price"
            price = f"{_range(part.low_usd, part.high_usd)}, {source}"
        lines.append((f"  {part.task:<{tasks}}  {part.name:<{names}}  {unit:<{units}}", price))
    is_narrow = width is not None and any(len(f"{line}  {price}") > width for line, price in lines)
    for line, price in lines:
        yield from [line, f"  {'':<{tasks}}  {price}"] if is_narrow else [f"{line}  {price}"]
    if estimate.known:
        yield f"Known from before, and free for now: {', '.join(estimate.known)}."
    if limit_usd is not None and estimate.high_usd > limit_usd:
        yield f"The ceiling of {format_usd(limit_usd)} may end it early."


def _range(low: float, high: float) -> str:
    shown = [round_usd(amount) for amount in (low, high)]
    return " to ".join(dict.fromkeys(shown))


def _span(low: float, high: float) -> str:
    return " to ".join(dict.fromkeys(f"{amount:,g}" for amount in (low, high)))
