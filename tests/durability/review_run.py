"""One step of a review in a process of its own: `review_run.py STEP HOME CLOCK_OFFSET_S`."""

from __future__ import annotations

import json
import os
import signal
import sys
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))

from support.scripted_world import INPUT, good_pages

from collection_search import CollectionReviewGraph, SearchContext, Settings
from collection_search.adapters.stores.sqlite import SQLiteStore
from collection_search.testing import ScriptedAdapter

ADDED = "https://added.example.org/by-hand"


def main(step: str, home: Path, offset_s: float) -> None:
    """Pause at the gate and die, decide, or sweep; print what there is to know."""
    pages = good_pages()
    for page in pages:
        page.content = f"{page.snippet} {page.url} explains how a task is cancelled in time."
    facade = CollectionReviewGraph(
        SearchContext(
            provider=ScriptedAdapter(pages, provider_name="offline"),
            settings=Settings(home=home, coverage_timeout_s=5),
            store=SQLiteStore(home / "collections.db", clock=lambda: time.time() + offset_s),
        )
    )
    if step == "pause":
        result = facade.run({**INPUT, "collection_scope": "docs"})
        request = result["request"]
        assert request is not None
        told = {
            "gate_id": request["gate_id"],
            "urls": [one["url"] for one in request["candidates"]],
            "trace_id": result["telemetry"]["trace_id"],
        }
        tell(json.dumps(told))
        os.kill(os.getpid(), signal.SIGKILL)
    if step == "decide":
        (gate,) = facade.gates()
        urls = [one["url"] for one in gate.candidates]
        decision = {"status": "partial", "approved_urls": urls[:2], "added_urls": [ADDED]}
        tell("deciding")
        result = facade.decide(gate.gate_id, decision, approver="ann")
        tell(json.dumps([result["outcome"], result["telemetry"]["trace_id"]]))
    if step == "sweep":
        tell(json.dumps([gate.gate_id for gate in facade.sweep()]))


def tell(line: str) -> None:
    """Write a line at once: the process may die next."""
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()


if __name__ == "__main__":
    main(sys.argv[1], Path(sys.argv[2]), float(sys.argv[3]))
