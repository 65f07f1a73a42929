"""How long a tenant waits for its first page while others have many: the real engine on one store.

Usage: fairness.py [--scale 1.0]. Five tenants with 50 to 1,000 pages (times the scale) over twenty
hosts; the largest comes first, the others when its first page is stored. The same is done with a
tenth of the pages, and with ten tenants. A wait is counted in pages of others that were stored
meanwhile, so a slow machine does not change it. The exit code is 1 when waits depend on the number
of pages.
"""

from __future__ import annotations

import argparse
import asyncio
import statistics
import sys
import tempfile
import threading
import time
from pathlib import Path
from typing import TYPE_CHECKING, Final, NamedTuple

from collection_search import Settings
from collection_search.adapters.stores.sqlite import SQLiteStore
from collection_search.contracts.collection import TenantScope
from collection_search.contracts.ingestion import IngestionItem, IngestionRequest
from collection_search.contracts.page import NotModified, ReadPage, Validators
from collection_search.tools.ingestion.engine import IngestionEngine

if TYPE_CHECKING:
    from collections.abc import Sequence

    from collection_search.contracts.ingestion import PageDone
    from collection_search.contracts.page import PageRules

PAGES: Final = (1000, 50, 100, 250, 500)
HOSTS: Final = 20
FETCH_S: Final = 0.02
"""Of each page."""
MAX_RATIO: Final = 2.0
"""Of the mean waits with all pages and with a tenth of them."""
TIMEOUT_S: Final = 900


class Wait(NamedTuple):
    """How long one tenant waited for its first page."""

    pages: int
    others: int
    """Pages of other tenants that were stored meanwhile."""
    seconds: float


class Pages:
    """A reader of pages that takes the same time for each."""

    async def read(
        self, url: str, *, validators: Validators | None = None, content_hash: str | None = None
    ) -> ReadPage | NotModified:
        """Return a page whose text is its address."""
        await asyncio.sleep(FETCH_S)
        text = f"The page {url} tells of tea."
        return ReadPage(
            url,
            url,
            None,
            url,
            text,
            "html",
            validators or Validators(),
            content_hash or "",
            1.0,
            200,
        )


class Tenants:
    """The tenants, each with its pages, and how many pages are stored."""

    def __init__(self, store: SQLiteStore, pages: Sequence[int]) -> None:
        self.first = threading.Event()
        """Set when a page is stored."""
        self._store = store
        self._pages = {f"tenant {n}": count for n, count in enumerate(pages)}
        self._came: dict[str, tuple[float, int]] = {}
        self._waits: dict[str, Wait] = {}
        self._done = 0

    def come(self, *numbers: int) -> None:
        """Let these tenants ask for all of their pages."""
        for tenant in (f"tenant {n}" for n in numbers):
            items = [
                IngestionItem(f"https://host{n % HOSTS}.example/{n}", f"{n}", "")
                for n in range(self._pages[tenant])
            ]
            scope = TenantScope(tenant, "docs")
            self._came[tenant] = time.monotonic(), self._done
            self._store.ledger.enqueue(IngestionRequest(scope, items))

    def done(self, page: PageDone) -> None:
        """Count a page."""
        tenant = page.claim.scope.tenant_id
        if tenant not in self._waits:
            came_at, done_then = self._came[tenant]
            waited_s, others = time.monotonic() - came_at, self._done - done_then
            self._waits[tenant] = Wait(self._pages[tenant], others, waited_s)
        self._done += 1
        self.first.set()

    def waits(self) -> list[Wait]:
        """Return the waits of all but the first tenant, whom nobody was before."""
        return [self._waits[tenant] for tenant in list(self._pages)[1:]]


def waits(pages: Sequence[int]) -> list[Wait]:
    """Return how long tenants with so many pages wait for the first one, beside the first tenant.

    >>> [wait.pages for wait in waits([9, 3])]
    [3]
    """
    with tempfile.TemporaryDirectory() as name:
        settings = Settings(home=Path(name))
        store = SQLiteStore.from_settings(settings)
        tenants, reader = Tenants(store, pages), Pages()

        async def source(_rules: PageRules | None) -> Pages:
            return reader

        engine = IngestionEngine(store, settings, reader=source)
        engine.equip(on_page_done=tenants.done)
        tenants.come(0)
        engine.start()
        while not tenants.first.wait(1):
            if engine.failure is not None:
                raise engine.failure
        tenants.come(*range(1, len(pages)))
        is_done = engine.drain(timeout_s=TIMEOUT_S)
        engine.stop()
        store.close()
    if not is_done:
        raise RuntimeError(f"The pages were not stored in {TIMEOUT_S} s.")
    return tenants.waits()


def main(arguments: Sequence[str] | None = None) -> int:
    """Print the waits and return the exit code."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0] if __doc__ else None)
    parser.add_argument("--scale", type=float, default=1.0, help="of all numbers of pages")
    scale = parser.parse_args(arguments).scale
    cases = {
        "five tenants": [round(count * scale) for count in PAGES],
        "five, a tenth of the pages": [max(1, round(count * scale / 10)) for count in PAGES],
        "ten tenants": [round(count * scale) for count in (*PAGES, *PAGES)],
    }
    means: list[float] = []
    print("| tenants | pages of a tenant | pages of others before its first | seconds |")
    print("|---|---|---|---|")
    for name, pages in cases.items():
        found = waits(pages)
        means.append(statistics.mean(wait.others for wait in found))
        for wait in found:
            print(f"| {name} | {wait.pages} | {wait.others} | {wait.seconds:.2f} |", flush=True)
    five, tenth, ten = means
    print(f"\nmean wait, all pages / a tenth: {five / tenth:.2f} (at most {MAX_RATIO:g})")
    print(f"mean wait, ten tenants / five: {ten / five:.2f}")
    return 0 if five <= MAX_RATIO * tenth else 1


if __name__ == "__main__":
    sys.exit(main())
