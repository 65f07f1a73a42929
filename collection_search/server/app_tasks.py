"""Work that outlives the request that began it, and ends with the app."""

from __future__ import annotations

import asyncio
import logging
from typing import TYPE_CHECKING, Annotated, Any, TypeVar

from fastapi import Depends, Request

from ..errors import InputError
from ..runtime.failure_log import log_failure

if TYPE_CHECKING:
    from collections.abc import Coroutine

T = TypeVar("T")

logger = logging.getLogger(__name__)


class AppTasks:
    """The tasks of one app, on one event loop; a failure is logged, whoever waits for it.

    Wrong input is logged as information: who waits is told.
    """

    def __init__(self) -> None:
        self._running: set[asyncio.Task[Any]] = set()

    def begin(self, work: Coroutine[Any, Any, T], *, name: str) -> asyncio.Task[T]:
        """Return the task that does the work; the name is for the log."""
        task = asyncio.create_task(work, name=name)
        self._running.add(task)
        task.add_done_callback(self._end)
        return task

    async def close(self) -> None:
        """Cancel the tasks, and return when they have ended."""
        for task in (tasks := list(self._running)):
            task.cancel()
        if tasks:
            await asyncio.wait(tasks)

    def _end(self, task: asyncio.Task[Any]) -> None:
        self._running.discard(task)
        if not task.cancelled() and (error := task.exception()) is not None:
            level = logging.INFO if isinstance(error, InputError) else logging.WARNING
            log_failure(logger, f"the {task.get_name()} failed", error, level=level)


async def app_tasks(request: Request) -> AppTasks:
    """Return the tasks of the app that serves the request."""
    tasks: AppTasks = request.app.state.tasks
    return tasks


Tasks = Annotated[AppTasks, Depends(app_tasks)]
