"""A program that fetches and ingests pages of loopback sites.

Usage: crawl_pages.py FOLDER SITES, a JSON file with `urls` and `allowed`, and with `is_lexical` for
a collection without embeddings.
"""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path

from collection_search import Settings
from collection_search.adapters.stores.sqlite import SQLiteStore
from collection_search.context import SearchContext
from collection_search.testing.embeddings import ScriptedEmbedder
from collection_search.tools.ingest import ingest
from collection_search.tools.tickets import wait


def main(folder: Path, sites: Path) -> None:
    site = json.loads(sites.read_text())
    settings = Settings(
        home=folder,
        fetch_allowed=site["allowed"],
        fetch_delay_s=0,
        fetch_timeout_s=site["timeout_s"],
        ingest_max_attempts=50,
        ingest_lease_s=3,
        extract_processes=2,
    )
    store = SQLiteStore.from_settings(settings)
    context = SearchContext(
        settings=settings,
        store=store,
        embeddings=None if site.get("is_lexical") else ScriptedEmbedder(dimension=8),
        run_id=f"run-{os.getpid()}",
    )
    ticket = ingest(site["urls"], collection="tea", context=context)
    sys.stdout.write("started\n")
    sys.stdout.flush()
    status = wait(ticket, 540, context=context)
    assert status.stored == status.count == len(site["urls"]), [
        (row.url, row.state, row.error) for row in status.rows if row.state != "stored"
    ]
    sys.stdout.write("done\n")


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]))
