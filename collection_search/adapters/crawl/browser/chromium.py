"""A headless Chromium without a network of its own: started when needed, stopped when idle."""

from __future__ import annotations

import asyncio
import importlib.util
import os
import shutil
from contextlib import asynccontextmanager
from functools import partial
from typing import TYPE_CHECKING, Any, Final, TypeVar

from ....errors import ConfigError, FetchError, MissingExtraError
from ...per_loop import PerLoop
from .running_browser import CLOSE_S, CLOSED, MEMORY_BYTES, START_S, start_browser

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Coroutine, Sequence
    from pathlib import Path

    from playwright.async_api import BrowserContext

    from ...per_loop import Sockets
    from .running_browser import RunningBrowser

NAMES: Final = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
IDLE_S: Final = 60.0
WAIT_S: Final = 120.0
AT_ONCE: Final = 2
"""Pages that one browser shows at the same time."""
T = TypeVar("T")


def find_chromium(path: Path | None = None, *, sandbox: bool = True) -> str:
    """Return the program of the browser, `path` if it is given.

    Raises MissingExtraError without playwright, ConfigError naming the setting without a browser
    or with a sandbox that cannot be had.
    """
    if importlib.util.find_spec("playwright") is None:
        raise MissingExtraError(
            "The setting fetch_browser needs an extra."
            " Run: pip install 'collection-search[browser]'"
        )
    names = (str(path),) if path else NAMES
    program = next(filter(None, map(shutil.which, names)), None)
    if program is None:
        raise ConfigError(
            f"browser_path: {path} is no program that can be run."
            if path
            else "fetch_browser needs Chromium, and none is in PATH: install it, or name its"
            " program in browser_path."
        )
    if sandbox and os.name == "posix" and os.geteuid() == 0:
        raise ConfigError(
            "browser_sandbox: Chromium has no sandbox as root. Run this as another user, or set"
            " browser_sandbox to false where a container takes its place."
        )
    return program


def shared_chromium(program: str, *, sandbox: bool) -> PerLoop[Chromium]:
    """Return the process's one browser of this program; each event loop starts its own."""
    key = program, sandbox
    if key not in _shared:

        def make(_: Sockets) -> Chromium:
            return Chromium(program, sandbox=sandbox)

        _shared.setdefault(key, PerLoop(make, Chromium.aclose))
    return _shared[key]


class Chromium:
    """One browser of an event loop. It has profiles that end with each page.

    All its connections lead to a proxy that refuses them. It ends with this process, also when that
    is killed, `idle_s` after the last page, and after a crash; the next page starts it again. Its
    processes have `memory_bytes` together, on systems that have /proc. `network` are the flags that
    take its network from it.
    """

    def __init__(
        self,
        program: str,
        *,
        sandbox: bool,
        idle_s: float = IDLE_S,
        memory_bytes: int = MEMORY_BYTES,
        network: Sequence[str] = CLOSED,
    ) -> None:
        self.running: RunningBrowser | None = None
        """The browser of the last launch; start and stop change it, one at a time."""
        self._start = partial(
            start_browser, program, sandbox=sandbox, memory_bytes=memory_bytes, network=network
        )
        self._idle_s = idle_s
        self._changing = asyncio.Lock()
        self._slots = asyncio.Semaphore(AT_ONCE)
        self._in_use = 0
        self._idle: asyncio.TimerHandle | None = None
        self._tasks: set[asyncio.Task[Any]] = set()

    @asynccontextmanager
    async def profile(
        self, user_agent: str, *, wait_s: float = WAIT_S
    ) -> AsyncGenerator[BrowserContext]:
        """Yield a fresh profile, which is closed after the end.

        `wait_s` is for the turn, when other pages are in the browser. Raises FetchError
        (`render_failed`); playwright's errors inside are passed on while the browser runs.
        """
        from playwright.async_api import Error

        await self._wait_for_turn(wait_s)
        running: RunningBrowser | None = None
        profile: BrowserContext | None = None
        try:
            running = await self._ready()
            profile = await self._opened(running, user_agent)
            if profile is None:  # the browser has ended or does not obey: there is a new one
                running.pages -= 1
                running = await self._ready()
                profile = await self._opened(running, user_agent)
            if profile is None:
                raise _start_failed("it opens no page")
            try:
                yield profile
            except Error as error:
                if running.is_usable():
                    raise
                text = f"the browser ended while the page was shown: {running.fault}"
                again = running.was_shared  # it may have been the other page
                raise FetchError(text, reason="render_failed", retryable=again) from error
        finally:
            self._run(self._leave(running, profile))

    async def release(self) -> None:
        """Stop the browser unless a page is in use."""
        await self._tasks_done()
        await self._stop(unless_used=True)

    async def aclose(self) -> None:
        """Stop the browser."""
        self._stay()
        await self._stop()
        await self._tasks_done()

    async def _wait_for_turn(self, wait_s: float) -> None:
        try:
            async with asyncio.timeout(wait_s):
                await self._slots.acquire()
        except TimeoutError as error:
            text = "other pages were in the browser all the time"
            raise FetchError(text, reason="render_failed", retryable=True) from error
        self._in_use += 1
        self._stay()

    async def _ready(self) -> RunningBrowser:
        """Return a browser that can be used. A start goes on when its page is cancelled."""
        from playwright.async_api import Error

        try:
            running = await asyncio.shield(self._run(self._started()))
        except (Error, OSError, TimeoutError) as error:
            raise _start_failed(_first_line(error)) from error
        running.pages += 1
        return running

    async def _started(self) -> RunningBrowser:
        async with self._changing:
            running = self.running
            if running is None or not running.is_usable():
                self.running = None
                if running is not None:
                    await running.aclose()
                running = self.running = await self._start()
            return running

    async def _stop(
        self, running: RunningBrowser | None = None, *, unless_used: bool = False
    ) -> None:
        """Stop this browser, or whichever runs. A stop that has begun is not cancelled."""
        await asyncio.shield(self._run(self._stopped(running, unless_used=unless_used)))

    async def _stopped(self, running: RunningBrowser | None, *, unless_used: bool) -> None:
        async with self._changing:
            if (unless_used and self._in_use) or self.running is None:
                return
            if running is None or running is self.running:
                running, self.running = self.running, None
                await running.aclose()

    async def _opened(self, running: RunningBrowser, user_agent: str) -> BrowserContext | None:
        """Return a new profile, None from a browser that was stopped because it had none."""
        from playwright.async_api import Error

        try:
            async with asyncio.timeout(START_S):
                return await running.browser.new_context(
                    user_agent=user_agent,
                    accept_downloads=False,
                    service_workers="block",
                    permissions=[],
                )
        except (Error, TimeoutError):
            await self._stop(running)
            return None

    async def _leave(self, running: RunningBrowser | None, profile: BrowserContext | None) -> None:
        """Close the profile and free its place; a browser that does not obey is stopped."""
        try:
            if running is not None and profile is not None:
                try:
                    async with asyncio.timeout(CLOSE_S):
                        await profile.close()
                except Exception:  # noqa: BLE001 - a browser in an unknown state is not used again
                    await self._stop(running)
        finally:
            if running is not None:
                running.pages -= 1
            self._in_use -= 1
            self._slots.release()
            if not self._in_use:
                self._stay()
                loop = asyncio.get_running_loop()
                self._idle = loop.call_later(self._idle_s, self._stop_idle)

    def _stay(self) -> None:
        """Forget a stop that has not begun."""
        idle, self._idle = self._idle, None
        if idle is not None:
            idle.cancel()

    def _stop_idle(self) -> None:
        self._run(self._stopped(None, unless_used=True))

    def _run(self, work: Coroutine[Any, Any, T]) -> asyncio.Task[T]:
        """Return a task that goes on when nobody waits for it any more."""
        task = asyncio.create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._forget)
        return task

    def _forget(self, task: asyncio.Task[Any]) -> None:
        self._tasks.discard(task)
        if not task.cancelled():
            task.exception()  # who waits for it has it; nobody else is to be told

    async def _tasks_done(self) -> None:
        loop = asyncio.get_running_loop()
        while tasks := [task for task in self._tasks if task.get_loop() is loop]:
            await asyncio.wait(tasks)


def _start_failed(why: str) -> FetchError:
    text = f"Chromium does not start: {why}"
    return FetchError(text, reason="render_failed", retryable=True)


def _first_line(error: Exception) -> str:
    return str(error).partition("\n")[0][:200] or type(error).__name__


_shared: dict[tuple[str, bool], PerLoop[Chromium]] = {}
