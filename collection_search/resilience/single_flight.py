"""One call for all who ask the same at the same time."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Generic, TypeVar
from weakref import WeakKeyDictionary

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine, Hashable

T = TypeVar("T")


@dataclass(slots=True)
class _Flight(Generic[T]):
    task: asyncio.Task[T]
    waiting: int = 0


class SingleFlight(Generic[T]):
    """Lets callers with the same tenant and key share one call, within one event loop.

    The call belongs to none of them: whoever is cancelled leaves, and the call is cancelled with
    the last. It runs in the context of the first, whose spans it therefore belongs to.
    """

    def __init__(self) -> None:
        self._loops: WeakKeyDictionary[
            asyncio.AbstractEventLoop, dict[tuple[str, Hashable], _Flight[T]]
        ] = WeakKeyDictionary()

    async def run(
        self, tenant_id: str, key: Hashable, call: Callable[[], Coroutine[Any, Any, T]]
    ) -> tuple[T, bool]:
        """Return the call's result, and whether another caller had started it.

        All get the same object, or the same exception: neither may be changed.
        """
        loop = asyncio.get_running_loop()
        flights = self._loops.setdefault(loop, {})
        place = (tenant_id, key)
        flight = flights.get(place)
        is_shared = flight is not None
        if flight is None:
            flight = flights[place] = _Flight(loop.create_task(call()))
            flight.task.add_done_callback(lambda task: _land(flights, place, task))
        flight.waiting += 1
        try:
            await asyncio.wait({flight.task})  # leaves the task alone when the caller is cancelled
            return flight.task.result(), is_shared
        finally:
            flight.waiting -= 1
            if not flight.waiting and not flight.task.done():
                _remove(flights, place, flight.task)  # whoever comes now starts anew
                flight.task.cancel()
                await asyncio.wait({flight.task})


def _land(
    flights: dict[tuple[str, Hashable], _Flight[Any]],
    place: tuple[str, Hashable],
    task: asyncio.Task[Any],
) -> None:
    _remove(flights, place, task)
    if not task.cancelled():
        task.exception()  # read, since nobody may be left to do so


def _remove(
    flights: dict[tuple[str, Hashable], _Flight[Any]],
    place: tuple[str, Hashable],
    task: asyncio.Task[Any],
) -> None:
    flight = flights.get(place)
    if flight is not None and flight.task is task:
        del flights[place]
