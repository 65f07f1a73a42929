"""One shared call for equal requests at the same time."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Generic, TypeAlias, TypeVar
from weakref import WeakKeyDictionary

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine, Hashable

T = TypeVar("T")


@dataclass(slots=True)
class _Flight(Generic[T]):
    task: asyncio.Task[T]
    waiting: int = 0


class SingleFlight(Generic[T]):
    """A call shared by callers with the same tenant and key, within one event loop.

    It is cancelled only when its last caller is. It runs in the context of the first caller, so its
    spans belong to that one.
    """

    def __init__(self) -> None:
        self._loops: WeakKeyDictionary[asyncio.AbstractEventLoop, _Flights[T]] = WeakKeyDictionary()

    async def run(
        self, tenant_id: str, key: Hashable, call: Callable[[], Coroutine[Any, Any, T]]
    ) -> tuple[T, bool]:
        """Return the call's result, and whether another caller had started it.

        All callers get the same object or exception: do not change it.
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
                _remove(flights, place, flight.task)  # the next caller starts a new call
                flight.task.cancel()
                await asyncio.wait({flight.task})


_Place: TypeAlias = "tuple[str, Hashable]"
_Flights: TypeAlias = dict[_Place, _Flight[T]]


def _land(flights: _Flights[T], place: _Place, task: asyncio.Task[T]) -> None:
    _remove(flights, place, task)
    if not task.cancelled():
        task.exception()  # read, since perhaps no caller is left


def _remove(flights: _Flights[T], place: _Place, task: asyncio.Task[T]) -> None:
    flight = flights.get(place)
    if flight is not None and flight.task is task:
        del flights[place]
