"""A headless Chromium without a network of its own: started when needed, stopped when idle."""

from __future__ import annotations

import asyncio
import importlib
import importlib.util
import os
import shutil
from contextlib import asynccontextmanager, suppress
from typing import TYPE_CHECKING, Final

from ....errors import ConfigError, FetchError, MissingExtraError
from ...per_loop import PerLoop
from .refusing_proxy import RefusingProxy

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator
    from pathlib import Path

    from playwright.async_api import Browser, BrowserContext, Playwright

    from ...per_loop import Sockets

NAMES: Final = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
IDLE_S: Final = 60.0
START_S: Final = 30.0
CLOSE_S: Final = 5.0
AT_ONCE: Final = 2
"""Pages that one browser shows at the same time."""
FLAGS: Final = (
    "--proxy-bypass-list=<-loopback>",
    "--host-resolver-rules=MAP * ~NOTFOUND , EXCLUDE 127.0.0.1",
    "--force-webrtc-ip-handling-policy=disable_non_proxied_udp",
    "--webrtc-ip-handling-policy=disable_non_proxied_udp",
    "--disable-quic",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-domain-reliability",
    "--disable-sync",
    "--dns-prefetch-disable",
    "--no-pings",
    "--no-first-run",
    "--disable-gpu",
    "--disable-remote-fonts",
    "--disable-speech-api",
    "--mute-audio",
    "--blink-settings=imagesEnabled=false",
    "--js-flags=--max-old-space-size=256",
    "--renderer-process-limit=4",
)


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
    is killed, `idle_s` after the last page, and after a crash; the next page starts it again.
    """

    def __init__(self, program: str, *, sandbox: bool, idle_s: float = IDLE_S) -> None:
        self.proxy = RefusingProxy()
        self._program = program
        self._sandbox = sandbox
        self._idle_s = idle_s
        self._driver: Playwright | None = None
        self._browser: Browser | None = None
        self._starting = asyncio.Lock()
        self._slots = asyncio.Semaphore(AT_ONCE)
        self._in_use = 0
        self._idle: asyncio.Task[None] | None = None

    @asynccontextmanager
    async def profile(self, user_agent: str) -> AsyncGenerator[BrowserContext]:
        """Yield a fresh profile, closed at the end. Raises FetchError (`render_failed`)."""
        async with self._slots:
            self._in_use += 1
            self._stay()
            try:
                profile = await self._opened(user_agent)
                try:
                    yield profile
                finally:
                    await self._close(profile)
            finally:
                self._in_use -= 1
                if not self._in_use:
                    self._idle = asyncio.create_task(self._stop_later())

    async def release(self) -> None:
        """Stop the browser unless a page is in use."""
        if not self._in_use:
            await self.aclose()

    async def aclose(self) -> None:
        """Stop the browser."""
        self._stay()
        browser, self._browser = self._browser, None
        driver, self._driver = self._driver, None
        with suppress(Exception):  # its own errors say no more than that it has ended
            if browser is not None:
                async with asyncio.timeout(CLOSE_S):
                    await browser.close()
        with suppress(Exception):
            if driver is not None:  # ends the browser's processes if they did not end themselves
                async with asyncio.timeout(CLOSE_S):
                    await driver.stop()
        await self.proxy.aclose()

    async def _opened(self, user_agent: str) -> BrowserContext:
        from playwright.async_api import Error

        try:
            async with asyncio.timeout(START_S):
                async with self._starting:
                    if self._browser is None or not self._browser.is_connected():
                        await self._start()
                assert self._browser is not None  # noqa: S101
                return await self._browser.new_context(
                    user_agent=user_agent,
                    accept_downloads=False,
                    service_workers="block",
                    permissions=[],
                )
        except (Error, TimeoutError) as error:
            await self.aclose()
            text = f"Chromium does not start: {_first_line(error)}"
            raise FetchError(text, reason="render_failed", retryable=True) from error

    async def _start(self) -> None:
        await self.aclose()
        playwright = await asyncio.to_thread(importlib.import_module, "playwright.async_api")
        port = await self.proxy.start()
        driver: Playwright = await playwright.async_playwright().start()
        self._driver = driver
        self._browser = await driver.chromium.launch(
            executable_path=self._program,
            headless=True,
            chromium_sandbox=self._sandbox,
            args=[f"--proxy-server=http://127.0.0.1:{port}", *FLAGS],
            env={"PATH": os.environ.get("PATH", os.defpath), "HOME": "/nonexistent"},
            handle_sigint=False,
            handle_sigterm=False,
            handle_sighup=False,
            timeout=START_S * 1_000,
        )

    async def _close(self, profile: BrowserContext) -> None:
        """Close the profile; a browser that does not obey is stopped."""
        try:
            async with asyncio.timeout(CLOSE_S):
                await profile.close()
        except Exception:  # noqa: BLE001 - a browser in an unknown state is not used again
            await self.aclose()

    def _stay(self) -> None:
        idle, self._idle = self._idle, None
        if idle is not None and idle is not asyncio.current_task():
            idle.cancel()

    async def _stop_later(self) -> None:
        await asyncio.sleep(self._idle_s)
        await self.aclose()


def _first_line(error: Exception) -> str:
    return str(error).partition("\n")[0][:200] or type(error).__name__


_shared: dict[tuple[str, bool], PerLoop[Chromium]] = {}
