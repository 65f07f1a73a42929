"""What was spent, as people and programs ask for it."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from ...runtime.concurrency import offload
from ...settings.adapter_factory import adapter_of
from .spend_writer import spend_writer

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from ...context import SearchContext
    from ...ports.usage import SpendGroup, SpendLedger, SpendTotal


async def read_totals(
    context: SearchContext, *, since: float | None, by: SpendGroup = "day", run: str | None = None
) -> list[SpendTotal]:
    """Return the sums of the context's tenant from that Unix time on, or those of one run.

    The spending of runs that have just ended is among them. Raises ConfigError, StoreError.
    """
    ledger, owner = await _ledger(context), context.tenant()
    await offload(spend_writer().flush)
    if run is None:
        return await offload(ledger.totals, owner, since=since, by=by)
    total = await offload(ledger.run_total, owner, run)
    return [total] if total.first_at is not None else []


async def sum_runs(context: SearchContext, runs: Iterable[str]) -> tuple[float, bool]:
    """Return what these runs cost in US dollars, and whether all of it is known."""
    wanted = set(runs)
    totals = [
        one for one in await read_totals(context, since=None, by="run") if one.group in wanted
    ]
    return known_cost(totals), is_complete(totals)


def known_cost(totals: Sequence[SpendTotal]) -> float:
    """Return the sum in US dollars, as far as it is known."""
    return float(sum(one.cost_usd for one in totals))


def is_complete(totals: Sequence[SpendTotal]) -> bool:
    """Return whether the cost of everything is known."""
    return not any(one.unpriced for one in totals)


def total_as_json(total: SpendTotal) -> dict[str, Any]:
    """Return the sums of a group as JSON has them."""
    return {**asdict(total), "cost_usd": float(total.cost_usd)}


async def _ledger(context: SearchContext) -> SpendLedger:
    if context.usage_store is not None:
        return context.usage_store
    settings = context.using()
    return await adapter_of(settings, "usage", settings.engine)  # type: ignore[no-any-return]
