"""`collection-search costs`: the spending by day, run or name."""

from __future__ import annotations

import asyncio
import time
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from ..contracts.prices import format_usd
from ..text.clean import MAX_QUERY_CHARS, excerpt
from ..text.counted import counted
from .shared.context_options import AsJson, Tenant, search_context
from .shared.terminal import Screen
from .shared.time_spans import parse_since
from .shared.wrapping import fit_line

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from ..ports.usage import SpendTotal


def costs(
    *,
    since: Annotated[
        str, typer.Option(help="30d, 12h, 8w, or a day such as 2026-11-01 (UTC).")
    ] = "30d",
    by: Annotated[
        Literal["day", "run", "name"], typer.Option(help="What the sums are made of.")
    ] = "day",
    run: Annotated[str | None, typer.Option(metavar="ID", help="One run alone.")] = None,
    tenant: Tenant = None,
    as_json: AsJson = False,
) -> None:
    """Tell what searches, models and embeddings cost.

    By dated list prices. What is free is not listed; answers used again cost nothing.
    """
    from ..tools.spending.totals import read_totals

    screen, context = Screen(as_json=as_json), search_context(tenant_id=tenant)
    start, owner = parse_since(since, now=time.time()), context.tenant()
    totals = asyncio.run(read_totals(context, since=start, by=by, run=run))
    if as_json:
        screen.json(_as_json(totals, tenant=owner, since=start, by="run" if run else by, run=run))
        return
    is_by_run = by == "run" or run is not None
    width = screen.width
    for line in format_runs(totals) if is_by_run else format_totals(totals, width=width):
        screen.line(line)
    if not totals:
        screen.line(f"Nothing was spent by {owner}" + (f" in the run {run}." if run else "."))


def format_totals(totals: Sequence[SpendTotal], *, width: int | None = None) -> Iterator[str]:
    """Yield a line for each total, in rows of the `width`, and one for their sum.

    >>> from decimal import Decimal
    >>> from collection_search.ports.usage import SpendTotal
    >>> one = SpendTotal("tavily", kind="search", requests=4, cost_usd=Decimal("0.032"))
    >>> two = SpendTotal("mojeek", kind="search", requests=1, unpriced=1, cached_requests=2)
    >>> for line in format_totals([one, two]):
    ...     print(line)
    search     tavily  $0.032  4 calls
    search     mojeek   $0.00  1 call, 2 spared; the price of 1 is not known
               in all  $0.032
    """
    if not totals:
        return
    total = format_usd(sum(one.cost_usd for one in totals))
    amounts = [format_usd(one.cost_usd) for one in totals]
    left = max(map(len, ["in all", *(one.group for one in totals)]))
    right = max(map(len, [total, *amounts]))
    gap = f"{'':11}" if any(one.kind for one in totals) else ""
    for one, amount in zip(totals, amounts, strict=True):
        head = f"{one.kind or '':<11}" if gap else ""
        line = f"{head}{one.group:<{left}}  {amount:>{right}}  {_calls(one)}"
        hang = len(gap) + left + right + 4
        yield from [line] if width is None else fit_line(line, width, hang=hang)
    yield f"{gap}{'in all':<{left}}  {total:>{right}}"


def format_runs(totals: Sequence[SpendTotal]) -> Iterator[str]:
    """Yield for each run its time in UTC and its cost, its question and its id; then the sum.

    >>> from dataclasses import replace
    >>> from decimal import Decimal
    >>> from collection_search.ports.usage import SpendTotal
    >>> run = SpendTotal("run-1", first_at=0.0, requests=4, cost_usd=Decimal("0.032"))
    >>> for line in format_runs([replace(run, question="Which tea?"), run]):
    ...     print(line)
    1970-01-01 00:00  $0.032  4 calls
      Which tea?
      run-1
    1970-01-01 00:00  $0.032  4 calls
      (its question is not kept)
      run-1
    in all            $0.064
    """
    if not totals:
        return
    total = format_usd(sum(one.cost_usd for one in totals))
    amounts = [format_usd(one.cost_usd) for one in totals]
    right = max(map(len, [total, *amounts]))
    for one, amount in zip(totals, amounts, strict=True):
        yield f"{_minute(one)}  {amount:>{right}}  {_calls(one)}"
        yield f"  {excerpt(one.question or '(its question is not kept)', MAX_QUERY_CHARS)}"
        yield f"  {one.group}"
    yield f"{'in all':<16}  {total:>{right}}"


def _minute(total: SpendTotal) -> str:
    return f"{datetime.fromtimestamp(total.first_at or 0, UTC):%Y-%m-%d %H:%M}"


def _calls(total: SpendTotal) -> str:
    text = counted(total.requests, "call")
    if total.cached_requests:
        text += f", {total.cached_requests} spared"
    if total.input_tokens or total.output_tokens:
        text += f", {total.input_tokens + total.output_tokens:,} tokens"
    return text + (f"; the price of {total.unpriced} is not known" if total.unpriced else "")


def _as_json(totals: Sequence[SpendTotal], **facts: Any) -> dict[str, Any]:
    from ..tools.spending.totals import is_complete, known_cost, total_as_json

    return {
        **facts,
        "totals": [total_as_json(one) for one in totals],
        "cost_usd": known_cost(totals),
        "cost_complete": is_complete(totals),
    }
