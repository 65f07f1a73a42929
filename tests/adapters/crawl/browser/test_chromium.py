"""The browser's program and process: how it is found, and that it ends."""

from __future__ import annotations

import asyncio
import os
import signal
import sys
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
    needs_chromium,
    processes_below,
    shell,
    writing,
)

from collection_search import Settings
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
async def test_after_a_crash_the_next_page_has_a_new_browser() -> None:
    """The page that was shown has failed."""
    with LoopbackSite() as site:
        slow = site.put("/", shell("setInterval(() => document.body.append('.'), 10)"))
        fine = site.put("/fine", shell(writing("Words about tea.")))
        before = processes_below(os.getpid())
        async with Browsing(site.allowed) as browsing:
            shown = asyncio.create_task(browsing.show(slow))
            while len(own := browsers_in(processes_below(os.getpid()) - before)) < 4:  # noqa: ASYNC110
                await asyncio.sleep(0.05)
            for process in own:
                with suppress(ProcessLookupError):  # it ended with another
                    os.kill(process, signal.SIGKILL)
            with pytest.raises(FetchError) as caught:
                await shown
            assert caught.value.reason == "render_failed"
            assert "Words about tea." in await browsing.show(fine)


@pytest.mark.slow
@needs_chromium
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGKILL])
async def test_no_process_is_left_behind(number: signal.Signals) -> None:
    """Whatever ends ours, and also while a script runs without end."""
    with LoopbackSite() as site:
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
            env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
            stderr=asyncio.subprocess.DEVNULL, start_new_session=True,
        )  # fmt: skip
        below: set[int] = set()
        async with asyncio.timeout(120):
            while len(browsers_in(below)) < 4:
                await asyncio.sleep(0.1)
                below = processes_below(ours.pid)
        os.killpg(ours.pid, number)  # as a terminal does
        await ours.wait()
        assert await ended(below) == set()


def browsers_in(processes: set[int]) -> set[int]:
    """Return the processes that are the browser's."""
    found = set[int]()
    for process in filter(is_alive, processes):
        with suppress(OSError):
            line = Path(f"/proc/{process}/cmdline").read_bytes()
            if b"--proxy-server" in line or b"--type=" in line:
                found.add(process)
    return found
