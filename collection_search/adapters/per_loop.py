"""One object with connections per event loop, closed at the end of the loop."""

from __future__ import annotations

import asyncio
import atexit
import os
import socket
import threading
import weakref
from contextlib import suppress
from typing import TYPE_CHECKING, Any, Final, Generic, NamedTuple, TypeAlias, TypeVar

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Awaitable, Callable
    from concurrent.futures import Future

T = TypeVar("T")
Sockets = weakref.WeakSet[socket.socket]

_CLOSE_S: Final = 1.0


class _Life(NamedTuple, Generic[T]):
    value: T
    ending: AsyncGenerator[T]
    sockets: Sockets
    process: int

    def end_from_outside(self, loop: asyncio.AbstractEventLoop) -> Future[None] | None:
        """Schedule the closing in a running loop of this process."""
        if self.process != os.getpid() or not loop.is_running():
            return None
        with suppress(RuntimeError):
            return asyncio.run_coroutine_threadsafe(self.ending.aclose(), loop)
        return None


_Lives: TypeAlias = "weakref.WeakKeyDictionary[asyncio.AbstractEventLoop, _Life[T]]"


class PerLoop(Generic[T]):
    """One `T` for each event loop.

    `make(sockets)` returns an object that adds its sockets there: they are closed if its loop was
    closed without shutdown; else `close` ends it. The object must not refer to the owner of this,
    whose deletion closes the objects of running loops.
    """

    def __init__(self, make: Callable[[Sockets], T], close: Callable[[T], Awaitable[None]]) -> None:
        self._make = make
        self._close = close
        self._lives: _Lives[T] = weakref.WeakKeyDictionary()
        self._lock = threading.Lock()
        _all.add(self)
        weakref.finalize(self, _abandon, self._lives).atexit = False

    async def get(self) -> T:
        """Return the running loop's object; the first call makes it."""
        loop = asyncio.get_running_loop()
        life = self._lives.get(loop)
        if life is None:
            sockets: Sockets = weakref.WeakSet()
            ending = _until_end(self._lives, self._lock, loop, self._make(sockets), self._close)
            life = _Life(await anext(ending), ending, sockets, os.getpid())
            with self._lock:
                self._lives[loop] = life
            await self._forget_closed()
        return life.value

    async def aclose(self) -> None:
        """Close the running loop's object, and those of closed loops."""
        await self._forget_closed()
        life = self._lives.get(asyncio.get_running_loop())
        if life is not None:
            await life.ending.aclose()

    def close_running(self) -> None:
        """Close the objects of running loops from another thread."""
        for loop, life in list(self._lives.items()):
            if closed := life.end_from_outside(loop):
                with suppress(RuntimeError, TimeoutError):
                    closed.result(_CLOSE_S)

    async def _forget_closed(self) -> None:
        with self._lock:
            closed = [loop for loop in self._lives if loop.is_closed()]
            left = [self._lives.pop(loop) for loop in closed]
        for life in left:
            for one in list(life.sockets):  # a transport cannot be closed without its loop
                one.close()
            with suppress(RuntimeError):
                await self._close(life.value)


async def _until_end(
    lives: _Lives[T],
    lock: threading.Lock,
    loop: asyncio.AbstractEventLoop,
    value: T,
    close: Callable[[T], Awaitable[None]],
) -> AsyncGenerator[T]:
    """Yield the object, and close it when the loop shuts down its generators."""
    try:
        yield value
    finally:
        with lock:  # the object knows its loop, which would be kept for ever
            lives.pop(loop, None)
        with suppress(RuntimeError):  # the loop may be closing already
            await close(value)


def _abandon(lives: _Lives[Any]) -> None:
    """Close the objects of a deleted `PerLoop`."""
    for loop, life in list(lives.items()):
        life.end_from_outside(loop)


_all: weakref.WeakSet[Any] = weakref.WeakSet()


@atexit.register
def _close_running() -> None:
    for each in list(_all):
        each.close_running()
