"""Refreshes of collections by this server: one at a time for each collection."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Final, Literal

from fastapi import Depends, Request
from pydantic import BaseModel, Field

from ..contracts.refresh_report import RefreshReport
from ..errors import CollectionSearchError
from ..text.redaction import redact

if TYPE_CHECKING:
    from ..context import SearchContext
    from .app_tasks import AppTasks

_MAX_KEPT: Final = 200
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


class Refreshes:
    """The refreshes of one app, which end with it, and how the last ones ended."""

    def __init__(self, tasks: AppTasks) -> None:
        self._tasks = tasks
        self._known: dict[tuple[str, str], _Refresh] = {}
        """By tenant and collection, in the order of their beginning."""

    async def run(
        self, context: SearchContext, collection: str, *, ask: bool, crawl: bool
    ) -> RefreshReport:
        """Return the report of a refresh, of the one that runs where there is one.

        It goes on when the caller is cancelled. Raises what `arefresh` raises.
        """
        key = context.tenant(), collection
        running = self._known.get(key)
        if running is None or running.task.done():
            running = self._begin(context, collection, ask=ask, crawl=crawl)
            self._known.pop(key, None)
            self._known[key] = running
            self._make_room()
        return await asyncio.shield(running.task)

    def state(self, tenant: str, collection: str) -> RefreshState:
        """Return how far the refresh of a collection is."""
        known = self._known.get((tenant, collection))
        if known is None or (known.task.done() and known.task.cancelled()):
            return RefreshState(status="none")
        done, total = known.done, known.total
        if not known.task.done():
            return RefreshState(status="running", done=done, total=total)
        error = known.task.exception()
        if error is None:
            report = known.task.result()
            return RefreshState(status="done", done=done, total=total, report=report)
        is_own = isinstance(error, CollectionSearchError)
        said = redact(str(error)) if is_own else type(error).__name__
        return RefreshState(status="failed", done=done, total=total, error=said)

    def _begin(
        self, context: SearchContext, collection: str, *, ask: bool, crawl: bool
    ) -> _Refresh:
        from ..graphs.refresh import arefresh

        def note(done: int, total: int) -> None:
            refresh.done, refresh.total = done, total

        work = arefresh(collection, context=context, ask=ask, crawl=crawl, on_progress=note)
        refresh = _Refresh(self._tasks.begin(work, name=f"refresh of {collection}"))
        return refresh

    def _make_room(self) -> None:
        for key in [one for one, each in self._known.items() if each.task.done()][:-_MAX_KEPT]:
            del self._known[key]


async def app_refreshes(request: Request) -> Refreshes:
    """Return the refreshes of the app that serves the request."""
    refreshes: Refreshes = request.app.state.refreshes
    return refreshes


CurrentRefreshes = Annotated[Refreshes, Depends(app_refreshes)]
