"""One launch of Chromium: browser, driver, proxy and folder, which start and end together."""

from __future__ import annotations

import asyncio
import importlib
import inspect
import os
from contextlib import AsyncExitStack, suppress
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

from .browser_folder import BrowserFolder
from .browser_memory import arguments_of, kill_below, memory_below
from .refusing_proxy import RefusingProxy

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Sequence
    from pathlib import Path

    from playwright.async_api import Browser, BrowserType, Playwright

START_S: Final = 30.0
CLOSE_S: Final = 5.0
MEMORY_BYTES: Final = 1_000_000_000
"""Of all processes of one browser together; about a quarter of it is taken before any page."""
_LOOK_S: Final = 0.5
_PROFILE: Final = "--user-data-dir="
_FEATURES: Final = (
    "WebRtcHideLocalIpsWithMdns",  # else a script has names of .local asked for on the network
    # Chromium takes the last list that it is given, so this one has the driver's too.
    "AimEnabled", "AvoidCorsURLLoaderRestartOnRedirect", "AvoidUnnecessaryBeforeUnloadCheckSync",
    "DestroyProfileOnBrowserClose", "HttpsFirstBalancedModeAutoEnable", "HttpsUpgrades",
    "LensOverlay", "MediaRouter", "NetworkTimeServiceQuerying", "OptimizationHints", "PaintHolding",
    "PreconnectToSearch", "TcpPortRandomizationWin", "ThirdPartyStoragePartitioning",
    "msEdgeUpdateLaunchServicesPreferredVersion", "msForceBrowserSignIn",
    # Of older drivers.
    "AcceptCHFrame", "DialMediaRouteProvider", "GlobalMediaControls", "ImprovedCookieControls",
    "LazyFrameLoading", "Translate",
)  # fmt: skip
CLOSED: Final = (
    "--proxy-server=http://127.0.0.1:{port}",
    "--proxy-bypass-list=<-loopback>",
    "--host-resolver-rules=MAP * ~NOTFOUND , EXCLUDE 127.0.0.1",
    "--force-webrtc-ip-handling-policy=disable_non_proxied_udp",
    "--webrtc-ip-handling-policy=disable_non_proxied_udp",
    "--disable-quic",
    "--dns-prefetch-disable",
    f"--disable-features={','.join(_FEATURES)}",
)
"""What takes the browser's network from it; `port` is the proxy's."""
_FLAGS: Final = (
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-domain-reliability",
    "--disable-sync",
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


@dataclass(eq=False)
class RunningBrowser:
    """A browser that was started, with the proxy of its own that refuses its connections.

    On systems without /proc its memory has no limit.
    """

    browser: Browser
    proxy: RefusingProxy
    process: int | None
    """The browser's process where /proc tells of it."""
    pages: int = 0
    """Pages that are in it."""
    was_shared: bool = False
    """Whether several pages were in it when it ended."""
    fault: str = "it has crashed"
    """Why it ended, if nobody has stopped it."""
    _ends: AsyncExitStack = field(default_factory=AsyncExitStack)

    _is_ending: bool = False

    def is_usable(self) -> bool:
        """Return whether pages can be shown in it."""
        return not self._is_ending and self.browser.is_connected()

    async def aclose(self) -> None:
        """End all of it, also what does not obey."""
        if self.is_usable():
            self._is_ending, self.fault = True, "it was stopped"
            self.note_end()
        await self._ends.aclose()

    async def watch(self, memory_bytes: int) -> None:
        """Kill the browser when its processes have more than that, while a page is in it."""
        process = self.process
        while process is not None:
            await asyncio.sleep(_LOOK_S)
            if self.pages and await asyncio.to_thread(memory_below, process) > memory_bytes:
                self.fault = f"it took more than {memory_bytes / 1e6:,.0f} MB of memory"
                await asyncio.to_thread(kill_below, process)
                return

    def note_end(self, _: Browser | None = None) -> None:
        """Note whether several pages were in the browser when it ended."""
        self.was_shared = self.was_shared or self.pages > 1


async def start_browser(
    program: str,
    *,
    sandbox: bool,
    network: Sequence[str] = CLOSED,
    memory_bytes: int = MEMORY_BYTES,
) -> RunningBrowser:
    """Return a new browser. Raises playwright's Error, TimeoutError, OSError.

    `network` are the flags that take its network from it.
    """
    async with AsyncExitStack() as ends, asyncio.timeout(START_S):
        folder = await asyncio.to_thread(BrowserFolder)
        ends.callback(folder.remove)  # small, and a loop that ends has no threads
        proxy = RefusingProxy()
        ends.push_async_callback(_ended, proxy.aclose)
        port = await proxy.start()
        playwright = await asyncio.to_thread(importlib.import_module, "playwright.async_api")
        driver: Playwright = await playwright.async_playwright().start()
        # This ends the browser's processes too if they did not end themselves.
        ends.push_async_callback(_ended, driver.stop)
        browser = await driver.chromium.launch(
            executable_path=program,
            headless=True,
            chromium_sandbox=sandbox,
            args=[*(flag.format(port=port) for flag in network), *_FLAGS],
            env=_environment(folder.path),
            handle_sigint=False,
            handle_sigterm=False,
            handle_sighup=False,
            timeout=START_S * 1_000,
            **_artifacts(driver.chromium, folder.path),
        )
        ends.push_async_callback(_ended, browser.close)
        process = await _process_of(browser, port)
        for part in () if process is None else arguments_of(process):
            if part.startswith(_PROFILE):
                await asyncio.to_thread(folder.note, part)
        running = RunningBrowser(browser, proxy, process)
        browser.on("disconnected", running.note_end)
        watch = asyncio.create_task(running.watch(memory_bytes))
        ends.callback(watch.cancel)
        running._ends = ends.pop_all()  # noqa: SLF001 - its own module
        return running


def _environment(folder: Path) -> dict[str, str | float | bool]:
    path = os.environ.get("PATH", os.defpath)
    return {"PATH": path, "HOME": str(folder), "TMPDIR": str(folder)}


def _artifacts(launcher: BrowserType, folder: Path) -> dict[str, Any]:
    """Return where the driver puts its files; older drivers have no word for it."""
    name = "artifacts_dir"
    return {name: folder} if name in inspect.signature(launcher.launch).parameters else {}


async def _process_of(browser: Browser, port: int) -> int | None:
    """Return the number of the browser's process, where /proc tells of it."""
    session = await browser.new_browser_cdp_session()
    try:
        told = await session.send("SystemInfo.getProcessInfo")
    finally:
        await session.detach()
    numbers = (one["id"] for one in told["processInfo"] if one["type"] == "browser")
    # A number of another namespace would be another process here, without our proxy's port.
    return next((one for one in numbers if f":{port}" in "".join(arguments_of(one))), None)


async def _ended(end: Callable[[], Awaitable[None]]) -> None:
    with suppress(Exception):  # its own errors say no more than that it has ended
        async with asyncio.timeout(CLOSE_S):
            await end()
