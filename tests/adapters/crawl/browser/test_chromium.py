"""The browser's program and process: how it is found, and that it ends."""

from __future__ import annotations

import asyncio
import os
import signal
import sys
import tempfile
import textwrap
from contextlib import suppress
from pathlib import Path

import pytest
from support.loopback_site import LoopbackSite
from support.scripted_pages import (
    CHROMIUM,
    SANDBOX,
    Browsing,
    ended,
    is_alive,
    names_in,
    needs_chromium,
    processes_below,
    shell,
    short_folder,
    writing,
)
from support.waiting import wait_until_async

from collection_search import Settings
from collection_search.adapters.crawl.browser.browser_folder import BrowserFolder
from collection_search.adapters.crawl.browser.chromium import Chromium, find_chromium
from collection_search.adapters.crawl.web import WebPages
from collection_search.errors import ConfigError, FetchError


def test_a_missing_browser_names_the_setting(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Before a page is fetched."""
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(ConfigError, match="browser_path"):
        find_chromium(sandbox=False)
    with pytest.raises(ConfigError, match=r"browser_path: .*none"):
        find_chromium(tmp_path / "none", sandbox=False)
    settings = Settings(home=tmp_path, fetch_browser=True, browser_sandbox=False)
    with pytest.raises(ConfigError, match="browser_path"):
        WebPages.from_settings(settings)


@pytest.mark.skipif(os.geteuid() != 0, reason="not root")
def test_root_has_no_sandbox() -> None:
    """The setting that says so is named; nothing is switched off unasked."""
    with pytest.raises(ConfigError, match="browser_sandbox"):
        find_chromium(Path(sys.executable))


@pytest.mark.slow
async def test_a_program_that_is_no_browser_is_an_error(tmp_path: Path) -> None:
    """Of the browser, not of the page."""
    program = tmp_path / "chromium"
    program.write_text("#!/bin/sh\nexit 3\n")
    program.chmod(0o755)
    browser = Chromium(str(program), sandbox=True)
    with pytest.raises(FetchError, match="does not start") as caught:
        async with browser.profile("tea-bot"):
            pass
    assert caught.value.reason == "render_failed"
    assert caught.value.retryable
    await browser.aclose()


@pytest.mark.slow
@needs_chromium
async def test_an_idle_browser_ends_and_starts_again() -> None:
    """Its processes too."""
    assert CHROMIUM is not None
    before = processes_below(os.getpid())
    browser = Chromium(CHROMIUM, sandbox=SANDBOX, idle_s=0)
    for _ in range(2):
        async with browser.profile("tea-bot"):
            own = processes_below(os.getpid()) - before
            assert own
        assert await ended(own) == set()
    await browser.aclose()


@pytest.mark.slow
@needs_chromium
async def test_a_page_during_the_idle_stop_has_a_proxy() -> None:
    """Whenever it comes: a stop that has begun ends before the next start."""
    assert CHROMIUM is not None
    browser = Chromium(CHROMIUM, sandbox=SANDBOX, idle_s=0)
    for pause in (0.002, 0.01, 0.05):
        async with browser.profile("tea-bot"):
            pass
        await asyncio.sleep(pause)
        async with browser.profile("tea-bot"):
            await asyncio.sleep(0.3)
            assert await is_refusing(browser)
    await browser.aclose()


@pytest.mark.slow
@needs_chromium
async def test_a_page_beside_a_release_has_a_proxy() -> None:
    """The release of another reader, which finds the browser unused."""
    assert CHROMIUM is not None
    browser = Chromium(CHROMIUM, sandbox=SANDBOX)
    async with browser.profile("tea-bot"):
        pass
    release = asyncio.create_task(browser.release())
    for _ in range(3):
        await asyncio.sleep(0.01)
        async with browser.profile("tea-bot"):
            assert await is_refusing(browser)
    await release
    await browser.aclose()


@pytest.mark.slow
@needs_chromium
async def test_a_cancelled_page_leaves_a_browser_for_the_next() -> None:
    """Also when it was cancelled during the start."""
    assert CHROMIUM is not None
    before = processes_below(os.getpid())
    browser = Chromium(CHROMIUM, sandbox=SANDBOX)

    async def show() -> None:
        async with browser.profile("tea-bot"):
            assert await is_refusing(browser)

    page = asyncio.create_task(show())
    await asyncio.sleep(0.2)
    page.cancel()
    await show()
    own = processes_below(os.getpid()) - before
    await browser.aclose()
    assert await ended(own) == set()


@pytest.mark.slow
@needs_chromium
async def test_the_wait_for_a_turn_has_a_limit() -> None:
    """Later it may be tried again."""
    assert CHROMIUM is not None
    browser = Chromium(CHROMIUM, sandbox=SANDBOX)
    async with browser.profile("a"), browser.profile("b"):
        with pytest.raises(FetchError, match="other pages") as caught:
            async with browser.profile("c", wait_s=0.1):
                pass
    assert (caught.value.reason, caught.value.retryable) == ("render_failed", True)
    async with browser.profile("c"):
        pass
    await browser.aclose()


@pytest.mark.slow
@needs_chromium
@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="no /proc")
async def test_memory_has_a_limit() -> None:
    """That of buffers too, which is not in the heap of scripts; the next page is shown."""
    fill = "a.push(new Uint8Array(1.28e8).fill(1)); document.body.append('.')"
    more = f"const a = []; setInterval(() => {{ {fill} }}, 200);"
    with LoopbackSite() as site:
        hungry = site.put("/", shell(more))
        fine = site.put("/fine", shell(writing("Words about tea.")))
        async with Browsing(site.allowed) as browsing:
            with pytest.raises(FetchError, match="MB of memory") as caught:
                await browsing.show(hungry)
            assert (caught.value.reason, caught.value.retryable) == ("render_failed", False)
            assert "Words about tea." in await browsing.show(fine)


@pytest.mark.slow
@needs_chromium
async def test_nothing_is_left_on_disk(monkeypatch: pytest.MonkeyPatch) -> None:
    """The browser writes to a folder of its own."""
    assert CHROMIUM is not None
    with short_folder() as folder:
        monkeypatch.setenv("TMPDIR", str(folder))
        monkeypatch.setattr(tempfile, "tempdir", None)
        browser = Chromium(CHROMIUM, sandbox=SANDBOX)
        async with browser.profile("tea-bot") as profile:
            await profile.new_page()
            assert any(name.startswith("collection-search-") for name in names_in(folder))
        await browser.aclose()
        assert names_in(folder) == []


@pytest.mark.slow
@needs_chromium
async def test_after_a_crash_the_next_page_has_a_new_browser() -> None:
    """The page that was shown has failed."""
    with LoopbackSite() as site:
        slow = site.put("/", shell("setInterval(() => document.body.append('.'), 10)"))
        fine = site.put("/fine", shell(writing("Words about tea.")))
        before = processes_below(os.getpid())
        async with Browsing(site.allowed) as browsing:
            shown = asyncio.create_task(browsing.show(slow))
            browser = await browsing.browsers.get()
            await wait_until_async(lambda: is_showing(browser))
            for process in browsers_in(processes_below(os.getpid()) - before):
                with suppress(ProcessLookupError):  # it ended with another
                    os.kill(process, signal.SIGKILL)
            with pytest.raises(FetchError) as caught:
                await shown
            assert caught.value.reason == "render_failed"
            assert "Words about tea." in await browsing.show(fine)


@pytest.mark.slow
@needs_chromium
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGKILL])
async def test_nothing_is_left_behind(
    number: signal.Signals, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whatever ends ours, and also while a script runs without end.

    No process is left, and what is left on disk goes with the next start.
    """
    with LoopbackSite() as site, short_folder() as folder:
        start = site.put("/", shell("while (true) {}"))
        code = f"""
            import asyncio
            from support.scripted_pages import Browsing

            async def main():
                async with Browsing({site.allowed!r}) as browsing:
                    await browsing.show({start!r})

            asyncio.run(main())
        """
        ours = await asyncio.create_subprocess_exec(
            sys.executable, "-c", textwrap.dedent(code),
            env={
                **os.environ, "PYTHONPATH": os.pathsep.join(sys.path), "TMPDIR": str(folder),
            },
            stderr=asyncio.subprocess.DEVNULL, start_new_session=True,
        )  # fmt: skip
        below: set[int] = set()
        async with asyncio.timeout(120):
            while len(browsers_in(below)) < 4 or not has_started(folder):
                await asyncio.sleep(0.1)
                below = processes_below(ours.pid)
        os.killpg(ours.pid, number)  # as a terminal does
        await ours.wait()
        assert await ended(below) == set()
        monkeypatch.setattr(tempfile, "tempdir", str(folder))
        BrowserFolder().remove()
        assert names_in(folder) == []


def has_started(folder: Path) -> bool:
    """Return whether a browser with its files there has noted its profile."""
    return any(folder.glob("collection-search-*/profile"))


def is_showing(browser: Chromium) -> bool:
    """Return whether a page is open in the browser."""
    running = browser.running
    return running is not None and any(one.pages for one in running.browser.contexts)


async def is_refusing(browser: Chromium) -> bool:
    """Return whether the browser runs and its proxy answers."""
    running = browser.running
    if running is None or not running.is_usable():
        return False
    try:
        reader, writer = await asyncio.open_connection("127.0.0.1", running.proxy.port)
    except ConnectionError:
        return False
    writer.write(b"CONNECT a:1 HTTP/1.1\r\n\r\n")
    answer = await reader.read()
    writer.close()
    return answer.startswith(b"HTTP/1.1 403 ")


def browsers_in(processes: set[int]) -> set[int]:
    """Return the processes that are the browser's."""
    found = set[int]()
    for process in filter(is_alive, processes):
        with suppress(OSError):
            line = Path(f"/proc/{process}/cmdline").read_bytes()
            if b"--proxy-server" in line or b"--type=" in line:
                found.add(process)
    return found
