"""What was spent, and what a run would cost."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Annotated, Any, Final

from fastapi import APIRouter, Body, Query
from pydantic import BaseModel, Field

from ...contracts.inputs import SearchInput
from ...graphs.validating_graph import validate_input
from ...ports.usage import SpendGroup, SpendKind
from ...text.timestamps import iso_time
from ...tools.estimate import estimate_run
from ...tools.spending.totals import is_complete, known_cost, read_totals
from ..access import Viewer  # noqa: TC001 - FastAPI reads it
from ..opened import Base, context_of
from ..runs.caller_choices import read_choices

if TYPE_CHECKING:
    from ...ports.usage import SpendTotal

router = APIRouter(tags=["costs"])

_DAY_S: Final = 86_400


class CostRow(BaseModel):
    """The sums of a day, run, or provider or model."""

    key: str = Field(description="The UTC day, the run's id, or the provider's or model's name.")
    kind: SpendKind | None = Field(description="Set where rows are by name.")
    cost_usd: float
    complete: bool = Field(description="Whether the price of everything is known.")
    calls: int = Field(description="Billed requests.")
    spared: int = Field(description="Requests that a cached answer saved.")
    tokens: int
    question: str | None = Field(description="What a run was asked, where that is kept.")
    first_at: str | None


class Costs(BaseModel):
    """What a tenant spent, by dated list prices; what is free is not listed."""

    rows: list[CostRow]
    total_usd: float
    complete: bool


class EstimatedCost(BaseModel):
    """What a run would cost."""

    low_usd: float
    high_usd: float
    parts: list[dict[str, Any]]
    unknown: list[str] = Field(description="Names whose price is not known.")
    known_from_before: list[str] = Field(description="Parts that cached answers make free.")
    max_cost_usd: float | None = Field(description="The ceiling of the settings.")


@router.get("/costs")
async def read_costs(
    caller: Viewer,
    base: Base,
    by: SpendGroup = "day",
    days: Annotated[int, Query(ge=1, le=3660)] = 30,
) -> Costs:
    """Return what your tenant spent in the last days."""
    since = time.time() - days * _DAY_S
    totals = await read_totals(context_of(base, caller), since=since, by=by)
    return Costs(
        rows=[_row(one) for one in totals],
        total_usd=known_cost(totals),
        complete=is_complete(totals),
    )


@router.post("/estimate")
async def estimate_cost(
    caller: Viewer,
    base: Base,
    given: Annotated[dict[str, Any], Body()],
    provider: Annotated[str | None, Query(max_length=200)] = None,
) -> EstimatedCost:
    """Return what a run with this input would cost at least and at most; nothing is asked.

    `provider` is the one that the run would choose; by default the settings choose it.
    """
    choices = {} if provider is None else {"provider": provider}
    context = await read_choices(base, caller.tenant, choices, run_id=None)
    estimate = await estimate_run(validate_input(SearchInput, given), context)
    return EstimatedCost(**estimate.as_dict(), max_cost_usd=context.cost_limit())


def _row(total: SpendTotal) -> CostRow:
    return CostRow(
        key=total.group,
        kind=total.kind,
        cost_usd=float(total.cost_usd),
        complete=not total.unpriced,
        calls=total.requests,
        spared=total.cached_requests,
        tokens=total.input_tokens + total.output_tokens,
        question=total.question,
        first_at=None if total.first_at is None else iso_time(total.first_at),
    )
