"""Pages whose text scripts write, a browser to show them, and listeners that nobody may reach."""

from __future__ import annotations

import asyncio
import os
import shutil
import socket
import tempfile
import threading
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from collection_search.adapters.crawl.browser.chromium import NAMES, Chromium
from collection_search.adapters.crawl.browser.rendering import PageRenderer, RenderLimits
from collection_search.adapters.crawl.browser.running_browser import CLOSED
from collection_search.adapters.crawl.fetch.fetcher import FetchPolicy, SafeFetcher
from collection_search.adapters.per_loop import PerLoop

from .ports import free_port

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from typing import Self

    from collection_search.contracts.page import FetchedPage

CHROMIUM = next(filter(None, map(shutil.which, NAMES)), None)
needs_chromium = pytest.mark.skipif(CHROMIUM is None, reason="no Chromium in PATH")
SANDBOX = os.geteuid() != 0


def shell(script: str) -> bytes:
    """Return a page without text that runs the script."""
    return (
        "<!doctype html><html><head><title>Tea</title></head><body><div id='root'></div>"
        f"<script>{script}</script></body></html>"
    ).encode()


def writing(text: str) -> str:
    """Return a script that writes an article."""
    paragraphs = "".join(f"<p>{part}</p>" for part in text.split("\n\n"))
    return f"document.getElementById('root').innerHTML = '<main><h1>Tea</h1>{paragraphs}</main>';"


@contextmanager
def short_folder() -> Iterator[Path]:
    """Yield a new folder whose path is short enough for the sockets of a browser."""
    with tempfile.TemporaryDirectory(prefix="b", dir="/tmp") as folder:
        yield Path(folder)


def names_in(folder: Path) -> list[str]:
    """Return the names of what is in the folder."""
    return [one.name for one in folder.iterdir()]


class Canary:
    """A TCP and a UDP listener on one port of 127.0.0.1 that record whoever comes."""

    def __init__(self) -> None:
        self.touched: list[str] = []
        self.port = free_port()  # of both protocols
        self._tcp = socket.create_server(("127.0.0.1", self.port))
        self._udp = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self._udp.bind(("127.0.0.1", self.port))

    def __enter__(self) -> Self:
        for watch in (self._watch_tcp, self._watch_udp):
            threading.Thread(target=watch, daemon=True).start()
        return self

    def __exit__(self, *_: object) -> None:
        for one in (self._tcp, self._udp):
            with suppress(OSError):
                one.shutdown(socket.SHUT_RDWR)
            one.close()

    def _watch_tcp(self) -> None:
        with suppress(OSError):
            while True:
                connection, peer = self._tcp.accept()
                self.touched.append(f"tcp {peer}")
                connection.close()

    def _watch_udp(self) -> None:
        with suppress(OSError):
            while True:
                data, peer = self._udp.recvfrom(2048)
                if not data:
                    return
                self.touched.append(f"udp {peer}")


class Browsing:
    """A fetcher and a browser for one test, on its own event loop."""

    def __init__(
        self, allowed: list[str], *, network: Sequence[str] = CLOSED, **limits: Any
    ) -> None:
        assert CHROMIUM is not None
        program = CHROMIUM
        self.fetcher = SafeFetcher(FetchPolicy(allowed_addresses=frozenset(allowed), min_delay_s=0))
        self.browsers = PerLoop(
            lambda _: Chromium(program, sandbox=SANDBOX, network=network), Chromium.aclose
        )
        self.limit(**limits)

    def limit(self, **limits: Any) -> None:
        """Show pages within these limits from now on, in the same browser."""
        self.renderer = PageRenderer(
            self.browsers, self.fetcher, user_agent="tea-bot", limits=RenderLimits(**limits)
        )

    async def show(self, url: str) -> str:
        """Return the markup of the page in the browser."""
        page: Any = await self.fetcher.fetch(url)
        shown: FetchedPage = await self.renderer.render(page)
        return shown.body.decode()

    async def refused(self) -> list[str]:
        """Return what reached the browser's proxy."""
        running = (await self.browsers.get()).running
        return list(running.proxy.refused) if running else []

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.browsers.aclose()
        await self.fetcher.aclose()


def processes_below(parent: int) -> set[int]:
    """Return the descendants of a process."""
    children: dict[int, set[int]] = {}
    for folder in Path("/proc").glob("[0-9]*"):
        with suppress(OSError):
            fields = (folder / "stat").read_text().rpartition(")")[2].split()
            children.setdefault(int(fields[1]), set()).add(int(folder.name))
    found, waiting = set[int](), [parent]
    while waiting:
        new = children.get(waiting.pop(), set()) - found
        found |= new
        waiting += new
    return found


def is_alive(process: int) -> bool:
    """Return whether the process runs; a zombie does not."""
    try:
        state = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[0]
    except OSError:
        return False
    return state not in {"Z", "X"}


async def ended(processes: set[int], patience_s: float = 60.0) -> set[int]:
    """Return those that are left when all have ended or patience has."""
    with suppress(TimeoutError):
        async with asyncio.timeout(patience_s):
            while any(map(is_alive, processes)):  # noqa: ASYNC110 - no event tells of it
                await asyncio.sleep(0.1)
    return set(filter(is_alive, processes))
