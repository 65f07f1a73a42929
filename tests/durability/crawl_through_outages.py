"""A program that fetches and ingests pages while its embedder is down and its disk is full at times.

Usage: crawl_through_outages.py FOLDER SITES. The embedder is down while FOLDER has a file
`embedder_down`; the database cannot grow while it has a file `disk_full`, and `disk_refused` is made
once it should.
"""

from __future__ import annotations

import json
import sqlite3
import sys
import time
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

from collection_search import SearchContext, Settings
from collection_search.adapters.stores.sqlite import SQLiteStore
from collection_search.adapters.stores.sqlite.opening import SQLiteConnection
from collection_search.errors import ModelError, StoreError
from collection_search.testing.embeddings import ScriptedEmbedder
from collection_search.tools.ingest import ingest
from collection_search.tools.tickets import wait

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from collection_search.contracts.collection import Embedded

END_S = 540
MAX_PAGES = 2**30
"""Of a SQLite file."""


class FailingEmbedder(ScriptedEmbedder):
    """An embedder that answers nobody while that file exists."""

    def __init__(self, is_down: Path) -> None:
        super().__init__(dimension=8)
        self._is_down = is_down

    async def embed(self, texts: Sequence[str]) -> Embedded:
        if self._is_down.exists():
            raise ModelError("The embedder answers nobody.", unavailable=True)
        return await super().embed(texts)


class LimitedConnection(SQLiteConnection):
    """A connection whose database gets no further pages while that file exists."""

    is_full: ClassVar[Path]
    refused: ClassVar[Path]
    """File that is made once a statement needs a further page."""

    def execute(self, sql: str, *parameters: Any) -> sqlite3.Cursor:
        if sql == "BEGIN IMMEDIATE":
            most = 1 if self.is_full.exists() else MAX_PAGES  # 1: as many as it has
            super().execute(f"PRAGMA max_page_count = {most}")
        with self._noting():
            return super().execute(sql, *parameters)

    def executemany(self, sql: str, parameters: Any) -> sqlite3.Cursor:
        with self._noting():
            return super().executemany(sql, parameters)

    @contextmanager
    def _noting(self) -> Iterator[None]:
        try:
            yield
        except sqlite3.OperationalError as error:
            if "full" in str(error):
                self.refused.touch()
            raise


def main(folder: Path, sites: Path) -> None:
    LimitedConnection.is_full = folder / "disk_full"
    LimitedConnection.refused = folder / "disk_refused"
    connect = sqlite3.connect
    sqlite3.connect = lambda *given, **named: connect(
        *given, **named | {"factory": LimitedConnection}
    )
    site = json.loads(sites.read_text())
    settings = Settings(
        home=folder,
        fetch_allowed=site["allowed"],
        fetch_delay_s=0,
        fetch_timeout_s=site["timeout_s"],
        extract_processes=2,
    )
    context = SearchContext(
        settings=settings,
        store=SQLiteStore.from_settings(settings),
        embeddings=FailingEmbedder(folder / "embedder_down"),
    )
    ticket = ingest(site["urls"], collection="tea", context=context)
    sys.stdout.write("started\n")
    sys.stdout.flush()
    ends_at, left = time.monotonic() + END_S, ticket.count
    while left and time.monotonic() < ends_at:
        with suppress(StoreError):  # the disk is full: the work goes on all the same
            left = wait(ticket, 10, context=context).left(fetch=True)
    status = wait(ticket, 1, context=context)
    for row in status.rows:
        if row.state != "stored":
            sys.stdout.write(f"{row.state}, {row.attempts} attempts, {row.url}: {row.error}\n")
    sys.stdout.write("done\n")


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]))
