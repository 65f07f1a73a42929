"""One contestant of the crawl benchmark in a process of its own.

Arguments: its name and the site's ports as JSON. Each line of input is a number of pages; each line
of output tells what they took. CPU time is that of the process and of its worker processes.
"""

from __future__ import annotations

import asyncio
import json
import os
import sys
import time
from concurrent.futures import ProcessPoolExecutor
from contextlib import asynccontextmanager
from multiprocessing import get_context
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import aiohttp
from crawl_site import BIG, page, urls

from collection_search.adapters.crawl.extract import extract
from collection_search.adapters.crawl.extraction import Extraction
from collection_search.adapters.crawl.fetch import FetchPolicy, SafeFetcher
from collection_search.adapters.crawl.reader import PageReader

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Awaitable, Callable, Sequence

IN_FLIGHT: Final = 32
_TICK_S: Final = 0.001
_TICKS: Final = os.sysconf("SC_CLK_TCK") if hasattr(os, "sysconf") else 100


class Contestant:
    """Takes a number of pages; the base has no worker processes."""

    def __init__(self, ports: Sequence[int]) -> None:
        self.ports = ports

    async def take(self, count: int) -> int:
        """Return how many pages were had whole."""
        raise NotImplementedError

    def workers(self) -> list[int]:
        """Return the ids of the worker processes."""
        return []


class Bare(Contestant):
    """aiohttp and a loop: what fetching costs at least."""

    _session: aiohttp.ClientSession | None = None

    async def take(self, count: int) -> int:
        """Read them into memory."""
        if self._session is None:
            self._session = aiohttp.ClientSession(connector=aiohttp.TCPConnector(limit=0))
        session = self._session

        async def fetched(url: str) -> bool:
            async with session.get(url) as answer:
                return len(await answer.read()) > 0

        return await _at_once(fetched, urls(self.ports, count))


class Gate(Contestant):
    """The safe fetch without delays between requests; robots.txt is asked for."""

    def __init__(self, ports: Sequence[int]) -> None:
        super().__init__(ports)
        self.fetcher = SafeFetcher(
            FetchPolicy(
                min_delay_s=0.0,
                allowed_addresses=frozenset(f"127.0.0.1:{port}" for port in ports),
            )
        )

    async def take(self, count: int) -> int:
        """Read them through the gate."""

        async def fetched(url: str) -> bool:
            return len((await self.fetcher.fetch(url)).body) > 0  # type: ignore[union-attr]

        return await _at_once(fetched, urls(self.ports, count))


class Extract(Contestant):
    """Extraction alone, in plain processes that make the pages themselves: no pipe, no limit."""

    def __init__(self, ports: Sequence[int], processes: int) -> None:
        super().__init__(ports)
        self._pool = ProcessPoolExecutor(processes, mp_context=get_context("spawn"))
        self._processes = processes

    async def take(self, count: int) -> int:
        """Extract them, an equal share in each process."""
        loop, share = asyncio.get_running_loop(), count // self._processes
        parts = [(part * share, share) for part in range(self._processes)]
        done = [loop.run_in_executor(self._pool, _extracted, *part) for part in parts]
        return sum(await asyncio.gather(*done))

    def workers(self) -> list[int]:
        """Return the ids of the pool's processes."""
        return list(self._pool._processes or ())  # noqa: SLF001


class Both(Gate):
    """Fetch and extraction, as ingestion does it."""

    def __init__(self, ports: Sequence[int], processes: int) -> None:
        super().__init__(ports)
        self._extraction = Extraction(workers=processes)
        self._reader = PageReader(self.fetcher, self._extraction)

    async def take(self, count: int) -> int:
        """Read them through the gate and extract them."""

        async def read(url: str) -> bool:
            return len((await self._reader.read(url)).text) > 0  # type: ignore[union-attr]

        return await _at_once(read, urls(self.ports, count))

    def workers(self) -> list[int]:
        """Return the ids of the limited processes."""
        crew = self._extraction._crew  # noqa: SLF001
        running = [worker._process for worker in crew._workers] if crew else []  # noqa: SLF001
        return [process.pid for process in running if process]


class Big(Both):
    """The same with the largest pages and documents that are allowed, for the stalls."""

    async def take(self, count: int) -> int:
        """Read them one after the other."""
        for url in urls(self.ports, count, "big"):
            await self._reader.read(url)
        return count


def contestant(name: str, ports: Sequence[int]) -> Contestant:
    """Return the contestant of that name; a number at its end are its processes."""
    kind, _, processes = name.partition("-")
    if processes:
        return {"extract": Extract, "both": Both, "big": Big}[kind](ports, int(processes))
    return {"bare": Bare, "gate": Gate}[kind](ports)


def _extracted(first: int, count: int) -> int:
    return sum(
        bool(extract(page(number), "page.html").text) for number in range(first, first + count)
    )


async def _at_once(take: Callable[[str], Awaitable[bool]], addresses: Sequence[str]) -> int:
    waiting = iter(addresses)

    async def worker() -> int:
        return sum([await take(url) for url in waiting])

    return sum(await asyncio.gather(*(worker() for _ in range(IN_FLIGHT))))


@asynccontextmanager
async def _stalls() -> AsyncIterator[dict[str, float]]:
    """Measure how long the loop was held up at most, in milliseconds.

    `held_ms` is what one callback computed, `stall_ms` how late the loop came back by the clock:
    after a turn of many callbacks, and on a busy machine after other programs.
    """
    found = {"stall_ms": 0.0, "held_ms": 0.0}
    run = asyncio.Handle._run  # noqa: SLF001 - what the loop itself calls

    def timed(handle: asyncio.Handle) -> None:
        before = time.thread_time()
        run(handle)
        found["held_ms"] = max(found["held_ms"], (time.thread_time() - before) * 1000)

    async def tick() -> None:
        while True:
            before = time.perf_counter()
            await asyncio.sleep(_TICK_S)
            late = time.perf_counter() - before - _TICK_S
            found["stall_ms"] = max(found["stall_ms"], late * 1000)

    asyncio.Handle._run = timed  # type: ignore[method-assign]  # noqa: SLF001
    ticking = asyncio.ensure_future(tick())
    yield found
    asyncio.Handle._run = run  # type: ignore[method-assign]  # noqa: SLF001
    ticking.cancel()
    await asyncio.gather(ticking, return_exceptions=True)


def _cpu_s(workers: Sequence[int]) -> float:
    """Return the CPU time so far of this process and its workers."""
    return time.process_time() + sum(map(_cpu_of, workers))


def _cpu_of(pid: int) -> float:
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / _TICKS


async def _round(contestant: Contestant, count: int) -> dict[str, Any]:
    workers = contestant.workers()
    cpu, wall = _cpu_s(workers), time.perf_counter()
    pages = await contestant.take(count)
    taken = {"cpu_s": _cpu_s(workers) - cpu, "wall_s": time.perf_counter() - wall}
    if pages != count or workers != contestant.workers():
        raise RuntimeError(f"{pages} of {count} pages, or a worker process was replaced")
    return {"pages": pages, **taken}


async def _main(name: str, ports: Sequence[int]) -> None:
    loop = asyncio.get_running_loop()
    taking = contestant(name, ports)
    await taking.take(
        BIG if name.startswith("big") else IN_FLIGHT
    )  # processes start, robots.txt is read
    while line := await loop.run_in_executor(None, sys.stdin.readline):
        count = json.loads(line)
        told = await _round(taking, count)
        async with _stalls() as stalls:  # apart: the clock's ticks cost time as well
            await taking.take(count)
        print(json.dumps({**told, **stalls}), flush=True)
    os._exit(0)  # pools and sessions end with their process


if __name__ == "__main__":
    asyncio.run(_main(sys.argv[1], json.loads(sys.argv[2])))
