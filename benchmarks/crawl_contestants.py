"""One contestant of the crawl benchmark in a process of its own.

Arguments: its name, the site's ports as JSON and the address of an embedding model. Each line of
input is a number of pages; each line of output tells what they took. CPU time is that of the
process and of its worker processes.
"""

from __future__ import annotations

import asyncio
import json
import os
import resource
import sys
import time
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from operator import itemgetter
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any, Final

import aiohttp
from crawl_site import BIG, mixed_page, page, urls
from crawl_stalls import stalls
from environment import keep_to_one_core

from collection_search.adapters.crawl.extract.formats import extract
from collection_search.adapters.crawl.extract.pool import Extraction
from collection_search.adapters.crawl.fetch.fetcher import FetchPolicy, SafeFetcher
from collection_search.adapters.crawl.reader import WebPageReader
from collection_search.runtime.gc import relieve_collector

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Sequence

IN_FLIGHT: Final = 32
_TICKS: Final = os.sysconf("SC_CLK_TCK") if hasattr(os, "sysconf") else 100


def _own_text(page: bytes) -> str:
    return extract(page, "page.html").text


def _plain_text(page: bytes) -> str:
    import trafilatura

    return trafilatura.extract(page, fast=True, include_comments=False) or ""


class Contestant:
    """Takes a number of pages; the base has no worker processes."""

    on_background = False
    """Whether the work is done on the background loop of the process."""

    def __init__(self, ports: Sequence[int]) -> None:
        self.ports = ports

    async def take(self, count: int) -> int:
        """Return how many pages were had whole."""
        raise NotImplementedError

    def workers(self) -> list[int]:
        """Return the ids of the worker processes."""
        return []

    def close(self) -> None:
        """End the worker processes."""


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

    def __init__(
        self,
        ports: Sequence[int],
        processes: int,
        made: Callable[[int], bytes] = page,
        read: Callable[[bytes], str] = _own_text,
    ) -> None:
        super().__init__(ports)
        self._made = made
        self._read = read
        self._pool = ProcessPoolExecutor(processes, mp_context=get_context("spawn"))
        self._processes = processes

    async def take(self, count: int) -> int:
        """Extract them, an equal share in each process."""
        loop, share = asyncio.get_running_loop(), count // self._processes
        parts = [(part * share, share) for part in range(self._processes)]
        work = self._made, self._read
        done = [loop.run_in_executor(self._pool, _extracted, *work, *part) for part in parts]
        return sum(await asyncio.gather(*done))

    def workers(self) -> list[int]:
        """Return the ids of the pool's processes."""
        return list(self._pool._processes or ())  # noqa: SLF001

    def close(self) -> None:
        """End the pool."""
        self._pool.shutdown()


class Both(Gate):
    """Fetch and extraction, as ingestion does it; without a number of processes, as shipped."""

    def __init__(self, ports: Sequence[int], processes: int | None) -> None:
        super().__init__(ports)
        self._extraction = Extraction(workers=processes)
        self._reader = WebPageReader(self.fetcher, self._extraction)

    async def take(self, count: int) -> int:
        """Read them through the gate and extract them."""

        async def read(url: str) -> bool:
            return len((await self._reader.read(url)).text) > 0  # type: ignore[union-attr]

        return await _at_once(read, urls(self.ports, count))

    def workers(self) -> list[int]:
        """Return the ids of the limited processes."""
        crew = self._extraction._pool  # noqa: SLF001
        running = [worker._process for worker in crew._workers] if crew else []  # noqa: SLF001
        return [process.pid for process in running if process]

    def close(self) -> None:
        """End the limited processes."""
        self._extraction.close()


class Big(Both):
    """The same with the largest pages and documents that are allowed, for the stalls."""

    async def take(self, count: int) -> int:
        """Read them one after the other."""
        for url in urls(self.ports, count, "big"):
            await self._reader.read(url)
        return count


class Engine(Both):
    """Ingestion as a whole, into a new database: found by words and, with a model, by vectors.

    Imported here: the other contestants' collector would have to search through it, too.
    """

    on_background = True

    def __init__(self, ports: Sequence[int], processes: int | None, models_url: str = "") -> None:
        from collection_search.adapters.crawl.web import WebPages
        from collection_search.adapters.embeddings.openai import OpenAIEmbedder

        super().__init__(ports, processes)
        self._pages = WebPages(self.fetcher, self._extraction)
        self._embedder = OpenAIEmbedder("stub", base_url=models_url) if models_url else None

    async def take(self, count: int) -> int:
        """Ingest them, some large ones among them."""
        return await asyncio.to_thread(self._ingested, count)

    async def aclose(self) -> None:
        """Close the connections."""
        await self._pages.aclose()

    def _ingested(self, count: int) -> int:
        from collection_search import SearchContext, Settings
        from collection_search.adapters.stores.sqlite import SQLiteStore
        from collection_search.runtime.concurrency import run_blocking
        from collection_search.tools.ingest import engine_for, ingest

        with TemporaryDirectory() as home:
            settings = Settings(home=Path(home))
            store = SQLiteStore.from_settings(settings)
            context = SearchContext(
                settings=settings, store=store, reader=self._pages, embeddings=self._embedder
            )
            engine = run_blocking(engine_for(context))
            ticket = ingest(urls(self.ports, count, "mixed"), collection="pages", context=context)
            engine.drain()
            status = store.ledger.status(ticket.tenant_id, ticket.ticket_id)
            store.close()
        return status.stored if status else 0


def contestant(name: str, ports: Sequence[int], models_url: str) -> Contestant:
    """Return the contestant of that name; a number at its end are its processes.

    Those that end in `core` get one core and are otherwise as shipped.
    """
    kind, _, processes = name.partition("-")
    if processes == "core":
        keep_to_one_core()
    if kind in {"words", "vectors"}:
        workers = int(processes) if processes.isdigit() else None
        return Engine(ports, workers, models_url if kind == "vectors" else "")
    if kind in {"mixed", "floor"}:
        read = _plain_text if kind == "floor" else _own_text
        return Extract(ports, int(processes), mixed_page, read)
    if processes:
        return {"extract": Extract, "both": Both, "big": Big}[kind](ports, int(processes))
    return {"bare": Bare, "gate": Gate}[kind](ports)


def _extracted(
    made: Callable[[int], bytes], read: Callable[[bytes], str], first: int, count: int
) -> int:
    return sum(bool(read(made(number))) for number in range(first, first + count))


async def _at_once(take: Callable[[str], Awaitable[bool]], addresses: Sequence[str]) -> int:
    waiting = iter(addresses)

    async def worker() -> int:
        return sum([await take(url) for url in waiting])

    return sum(await asyncio.gather(*(worker() for _ in range(IN_FLIGHT))))


def _cpu_s(workers: Sequence[int]) -> float:
    """Return the CPU time so far of this process and its workers, those that ended as well."""
    ended = resource.getrusage(resource.RUSAGE_CHILDREN)
    return time.process_time() + ended.ru_utime + ended.ru_stime + sum(map(_cpu_of, workers))


def _cpu_of(pid: int) -> float:
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / _TICKS


async def _round(contestant: Contestant, count: int) -> dict[str, Any]:
    own, cpu, wall = time.process_time(), _cpu_s(contestant.workers()), time.perf_counter()
    pages = await contestant.take(count)
    wall = time.perf_counter() - wall
    own = time.process_time() - own
    taken = {"cpu_s": _cpu_s(contestant.workers()) - cpu, "wall_s": wall, "own_s": own}
    if pages != count:
        raise RuntimeError(f"{pages} of {count} pages")
    return {"pages": pages, **taken}


async def _main(name: str, ports: Sequence[int], models_url: str) -> None:
    loop = asyncio.get_running_loop()
    taking = contestant(name, ports, models_url)
    few = BIG if name.startswith("big") else IN_FLIGHT
    await taking.take(few)  # processes start, robots.txt is read
    if taking.on_background:
        relieve_collector()  # as the command's worker does
    worst: dict[str, Any] = {"held_ms": 0.0, "held_by": ""}  # the first large page is the slowest
    while line := await loop.run_in_executor(None, sys.stdin.readline):
        count = json.loads(line)
        # apart from the round: the clock's ticks cost time as well
        async with stalls(on_background=taking.on_background) as found:
            await taking.take(count)
        worst = max(worst, found, key=itemgetter("held_ms"))
        held = {name: worst[name] for name in ("held_ms", "held_by")}
        print(json.dumps({**await _round(taking, count), **found, **held}), flush=True)
    taking.close()
    os._exit(0)  # sessions end with their process


if __name__ == "__main__":
    asyncio.run(_main(sys.argv[1], json.loads(sys.argv[2]), sys.argv[3]))
