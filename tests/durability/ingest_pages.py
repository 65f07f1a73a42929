"""A program that ingests forty pages, and kills itself before its n-th SQL statement if told so.

Usage: ingest_pages.py FOLDER [N]; writes how many statements it ran. With N it dies in any case,
at its end where it needed less statements.
"""

from __future__ import annotations

import itertools
import os
import signal
import sys
import threading
from pathlib import Path
from typing import TYPE_CHECKING

from collection_search import Settings
from collection_search.adapters.stores.sqlite import SQLiteStore
from collection_search.context import SearchContext
from collection_search.contracts.collection import TenantScope
from collection_search.contracts.ingestion import IngestionItem, IngestionRequest
from collection_search.runtime.concurrency import run_blocking
from collection_search.testing.embeddings import ScriptedEmbedder
from collection_search.tools.ingest import LedgerTrigger
from collection_search.tools.tickets import wait

if TYPE_CHECKING:
    from types import FrameType

PAGES = 40
SCOPE = TenantScope("local", "tea")


def text_of(page: int) -> str:
    return "\n\n".join(
        f"Tea number {page}, part {part}: " + "leaves and water, " * (3 + page % 4)
        for part in range(1 + page % 5)
    )


def die_before(fatal: int) -> itertools.count[int]:
    """Count the SQL statements of all threads, and be killed before the fatal one."""
    numbers = itertools.count(1)

    def watch(_frame: FrameType, event: str, called: object) -> None:
        runs_sql = event == "c_call" and "Connection.execute" in called.__qualname__
        if runs_sql and next(numbers) == fatal:
            os.kill(os.getpid(), signal.SIGKILL)

    threading.setprofile(watch)
    sys.setprofile(watch)
    return numbers


def main(folder: Path, fatal: int) -> None:
    numbers = die_before(fatal)
    settings = Settings(home=folder, ingest_max_attempts=50, ingest_lease_s=2, chunk_chars=200)
    store = SQLiteStore.from_settings(settings)
    embedder = ScriptedEmbedder(dimension=8)
    refs = store.staging.put(SCOPE.tenant_id, [text_of(page) for page in range(PAGES)])
    items = [
        IngestionItem(f"https://e.com/{n:02}", f"e.com/{n:02}", f"Page {n}", ref, {"rank": n})
        for n, ref in enumerate(refs)
    ]
    request = IngestionRequest(SCOPE, items, question="tea", run_id=f"run-{os.getpid()}")
    sys.stdout.write("started\n")
    sys.stdout.flush()
    ticket = run_blocking(LedgerTrigger(store, settings, embedder=embedder).trigger(request))
    context = SearchContext(settings=settings, store=store, embeddings=embedder)
    assert wait(ticket, 240, context=context).stored == PAGES
    if fatal:
        os.kill(os.getpid(), signal.SIGKILL)
    sys.stdout.write(f"{next(numbers)}\n")


if __name__ == "__main__":
    main(Path(sys.argv[1]), int(sys.argv[2]) if len(sys.argv) > 2 else 0)
