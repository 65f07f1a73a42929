"""Searches as often as it is told to, with the face that it is told; started as a process."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

from collection_search import SearchContext, Settings, WebSearchError, WebSearchService
from collection_search.runtime.concurrency import run_blocking
from collection_search.runtime.spans import NULL_SINK
from collection_search.testing import example_context
from collection_search.tools.search.route import build_route
from collection_search.tools.spending.account import Account

PATIENCE_S = 120.0


def main() -> None:
    """Say that everything is ready, wait for the word, and tell how each search ended."""
    given = json.loads(sys.argv[1])
    settings = Settings(
        home=Path(given["home"]),
        provider="tavily",
        default_provider="tavily",
        providers={"tavily": given["access"]},
        answer_cache_s=0,
        search_timeout_s=PATIENCE_S,
        run_deadline_s=PATIENCE_S,
    )
    search = (
        _service(settings) if given["method"] == "service" else _worker(settings, given["method"])
    )
    _say("ready")
    sys.stdin.readline()
    for number in range(given["searches"]):
        _say(json.dumps(search(f"asyncio {given['name']} {number}")))


def _say(line: str) -> None:
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()


def _service(settings: Settings) -> Any:
    service = WebSearchService(settings)

    def search(query: str) -> dict[str, Any]:
        try:
            answer = service.search(query)
        except WebSearchError as error:
            return {"code": error.code, "message": error.message, "attempts": 0}
        return {"code": "ok", "notices": list(answer.notices), "attempts": 1}

    return search


def _worker(settings: Settings, method: str) -> Any:
    context = SearchContext(settings=settings)
    account = Account(context, context.ids())
    route = run_blocking(build_route(context, max_results=5, sink=NULL_SINK, account=account))
    worker = route.workers[0]

    def search(query: str) -> dict[str, Any]:
        call: dict[str, Any] = {"query": query, "context": example_context()}
        answer = worker.run(**call) if method == "run" else run_blocking(worker.arun(**call))
        meta = answer.outcome.meta
        told = {"notices": meta["notices"], "attempts": meta["attempts"]}
        error = meta.get("error")
        return told | ({**error, "code": error["code"]} if error else {"code": "ok"})

    return search


if __name__ == "__main__":
    main()
