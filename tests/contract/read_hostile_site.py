"""Reads the hostile site in a process of its own, so that its memory can be told.

Standard input: JSON of the cases' addresses. Standard output: JSON of how each of them ended.
"""

from __future__ import annotations

import asyncio
import json
import re
import sys
import time
from contextlib import suppress
from pathlib import Path
from typing import Any

from collection_search.adapters.crawl.extract.extraction_process import ProcessLimits
from collection_search.adapters.crawl.extract.pool import Extraction
from collection_search.adapters.crawl.fetch.fetcher import FetchPolicy, SafeFetcher
from collection_search.adapters.crawl.fetch.url_rules import WEB_PORTS
from collection_search.adapters.crawl.reader import ReadPage, WebPageReader
from collection_search.contracts.page import Validators
from collection_search.errors import FetchError
from collection_search.testing.hostile_site.resolver import ScriptedResolver

LONG_S, SHORT_S, HANG_S = 60.0, 3.0, 120.0
KNOWN = Validators(etag='"heron-1"', last_modified="Wed, 21 Oct 2015 07:28:00 GMT")
AT_ONCE = 4
TEXT_CHARS = 5_000


def memory_kib(name: str) -> int:
    """Return VmRSS or VmHWM of this process; 0 where the system does not tell."""
    status = Path("/proc/self/status")
    found = re.search(rf"{name}:\s*(\d+) kB", status.read_text()) if status.exists() else None
    return int(found[1]) if found else 0


class Run:
    """Both readers: a slow case ends by a short deadline, all others have all the time they need."""

    def __init__(self, site: dict[str, Any]) -> None:
        self.cases = site["cases"]
        self.extraction = Extraction(workers=2, limits=ProcessLimits(wall_s=LONG_S))
        self.resolver = ScriptedResolver(site["names"])
        self.fetchers = {slow: self.fetcher(site, slow=slow) for slow in (False, True)}

    def fetcher(self, site: dict[str, Any], *, slow: bool) -> SafeFetcher:
        policy = FetchPolicy(
            deadline_s=SHORT_S if slow else LONG_S,
            min_delay_s=0.0,
            max_retry_after_s=0.1,
            ports=WEB_PORTS | {site["forbidden"]},
            allowed_addresses=frozenset(site["addresses"]),
            ignore_robots_hosts=frozenset(site["names"]),  # they answer nothing at all
        )
        return SafeFetcher(policy, resolver=self.resolver)

    async def end_of(self, case: dict[str, Any]) -> dict[str, Any]:
        """Return outcome, text and what was said."""
        reader = WebPageReader(self.fetchers[case["slow"]], self.extraction)
        validators = KNOWN if case["known"] else None
        end: dict[str, Any] = {"name": case["name"], "text": "", "said": ""}
        try:
            for _ in range(case["times"] - 1):
                with suppress(FetchError):
                    await reader.read(case["url"])
            async with asyncio.timeout(HANG_S):
                page = await reader.read(case["url"], validators=validators)
        except FetchError as error:
            told = {"outcome": error.reason, "retryable": error.retryable}
            return end | told | {"said": str(error)}
        except Exception as error:  # noqa: BLE001 - the finding
            return end | {"outcome": "untyped", "said": repr(error)}
        if not isinstance(page, ReadPage):
            return end | {"outcome": "not_modified"}
        return end | {"outcome": "read", "text": page.text[:TEXT_CHARS]}

    async def all(self) -> dict[str, Any]:
        """Return how every case ended and how far the memory grew."""
        good = next(case for case in self.cases if case["name"] == "gzip page")
        await asyncio.gather(*(self.end_of(good) for _ in range(8)))
        before = memory_kib("VmRSS")
        turn = asyncio.Semaphore(AT_ONCE)

        async def in_turn(case: dict[str, Any]) -> dict[str, Any]:
            if case["slow"]:
                return await self.end_of(case)
            async with turn:
                started = time.monotonic()
                end = await self.end_of(case)
            peak = memory_kib("VmHWM") - before
            return end | {"peak_mib": peak >> 10, "seconds": time.monotonic() - started}

        ends = await asyncio.gather(*map(in_turn, self.cases))
        grown = memory_kib("VmHWM") - before
        for fetcher in self.fetchers.values():
            await fetcher.aclose()
        await self.extraction.aclose()
        return {"ends": ends, "grown_mib": grown / 1024}


if __name__ == "__main__":
    sys.stdout.write(json.dumps(asyncio.run(Run(json.load(sys.stdin)).all())))
