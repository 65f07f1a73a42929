"""Refreshes of collections by this server: one at a time for each collection."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, Literal

from pydantic import BaseModel, Field

from ..contracts.refresh_report import RefreshReport
from ..errors import CollectionSearchError
from ..text.redaction import redact

if TYPE_CHECKING:
    from ..context import SearchContext

_MOST_KEPT: Final = 200
"""Collections whose last refresh is remembered."""


class RefreshState(BaseModel):
    """How far a refresh is."""

    status: Literal["none", "running", "done", "failed"]
    done: int = Field(default=0, description="Pages that are done, or that a crawl has found.")
    total: int = 0
    report: RefreshReport | None = None
    error: str | None = None


@dataclass(slots=True)
class _Refresh:
    """A refresh that runs or has ended."""

    task: asyncio.Task[RefreshReport]
    done: int = 0
    total: int = 0


_refreshes: Final[dict[tuple[str, str], _Refresh]] = {}
"""By tenant and collection, in the order of their beginning."""


async def run_refresh(
    context: SearchContext, collection: str, *, ask: bool, crawl: bool
) -> RefreshReport:
    """Return the report of a refresh, of the one that runs where there is one.

    It goes on when the caller is cancelled. Raises what `arefresh` raises.
    """
    key = context.tenant(), collection
    running = _refreshes.get(key)
    if running is None or running.task.done():
        running = _started(context, collection, ask=ask, crawl=crawl)
        _refreshes.pop(key, None)
        _refreshes[key] = running
        _make_room()
    return await asyncio.shield(running.task)


def refresh_state(tenant: str, collection: str) -> RefreshState:
    """Return how far the refresh of a collection is."""
    known = _refreshes.get((tenant, collection))
    if known is None or (known.task.done() and known.task.cancelled()):
        return RefreshState(status="none")
    if not known.task.done():
        return RefreshState(status="running", done=known.done, total=known.total)
    if (error := known.task.exception()) is None:
        return RefreshState(
            status="done", done=known.done, total=known.total, report=known.task.result()
        )
    said = redact(str(error)) if isinstance(error, CollectionSearchError) else type(error).__name__
    return RefreshState(status="failed", done=known.done, total=known.total, error=said)


def _started(context: SearchContext, collection: str, *, ask: bool, crawl: bool) -> _Refresh:
    from ..graphs.refresh import arefresh

    def note(done: int, total: int) -> None:
        refresh.done, refresh.total = done, total

    work = arefresh(collection, context=context, ask=ask, crawl=crawl, on_progress=note)
    refresh = _Refresh(asyncio.create_task(work, name=f"refresh of {collection}"))
    return refresh


def _make_room() -> None:
    for key in [one for one, each in _refreshes.items() if each.task.done()][:-_MOST_KEPT]:
        del _refreshes[key]
