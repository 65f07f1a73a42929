"""The call of `collection_search`: from a question to a filled collection."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from ..contracts.functions import CollectedOutput, CollectedPage, FunctionResult
from ..settings.registry import load_adapter
from ..text.untrusted import fence, neutralize_line, show_url
from .tickets import await_ticket

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Mapping

    from ..context import SearchContext
    from ..contracts.functions import CollectionSearchArguments

    OnProgress = Callable[[float, float, str], Awaitable[None]]
    """Gets how much is done, of how much, and a sentence about it."""

COLLECT_TIMEOUT_S: Final = 300.0
"""How long the call waits for the pages to be stored."""
_STEPS: Final = 5
"""Four stages and the ingestion."""
_FAILED: Final = ("search_failed", "auto_ingest_trigger_failed")


async def call_collection_search(
    arguments: CollectionSearchArguments,
    context: SearchContext,
    *,
    on_progress: OnProgress | None = None,
    timeout_s: float = COLLECT_TIMEOUT_S,
) -> FunctionResult:
    """Search for the question, ingest the best pages and wait until they are stored.

    The graph `collection_search` runs with `auto_ingest`; a page that does not reach the score
    stays out. What is not stored after `timeout_s` is counted as pending. Raises ConfigError.
    """
    graph = load_adapter("graphs", "collection_search")(context)
    given = {
        "question": arguments.question,
        "collection_scope": arguments.collection,
        "max_candidates": max(2 * arguments.max_pages, 10),
        "auto_ingest": True,
        "auto_ingest_top_k": arguments.max_pages,
    }
    final: dict[str, Any] = {}
    done = 0
    async for mode, chunk in graph.astream(given, stream_mode=["values", "custom"]):
        if mode == "values":
            final = chunk
        elif on_progress is not None and chunk.get("type") == "node_finished":
            done += 1
            await on_progress(done, _STEPS, f"{chunk['node']} is done")
    output = _collected(arguments, final)
    if output.ticket is not None:
        status = await await_ticket(output.ticket, timeout_s, context=context)
        counts = {
            "stored": status.stored,
            "failed": status.failed,
            "pending": status.left(fetch=True),
        }
        output = output.model_copy(update=counts)
    if on_progress is not None:
        said = f"{output.stored} pages are stored, {output.pending} are pending"
        await on_progress(_STEPS, _STEPS, said)
    is_error = output.outcome in _FAILED
    return FunctionResult(_describe_collected(output, final), output, is_error=is_error)


def _collected(arguments: CollectionSearchArguments, final: Mapping[str, Any]) -> CollectedOutput:
    receipt = final["ingestion"] or {"ticket": None, "urls": []}
    by_url = {row["url"]: row for row in final["results"]}
    rows = [by_url[url] for url in receipt["urls"] if url in by_url]
    return CollectedOutput(
        question=arguments.question,
        collection=arguments.collection,
        outcome=final["outcome"],
        queries=final["strategy"]["queries"],
        pages=[
            CollectedPage(url=row["url"], title=row["title"], score=row["embedding_rank_score"])
            for row in rows
        ],
        ticket=receipt["ticket"],
        flags=final["flags"],
    )


def _describe_collected(output: CollectedOutput, final: Mapping[str, Any]) -> str:
    name = neutralize_line(output.collection)
    if not output.pages:
        errors = [error["message"] for error in (final["search"] or {}).get("errors", ())]
        receipt_error = (final["ingestion"] or {}).get("error") or {}
        reasons = [*errors, receipt_error.get("message", "")]
        said = neutralize_line(" ".join(filter(None, reasons)))
        return f"Nothing was collected into '{name}' ({output.outcome}). {said}".rstrip()
    counts = f"{output.stored} stored, {output.failed} failed, {output.pending} pending"
    pages = [
        f"{n}. {neutralize_line(page.title)} — {show_url(page.url)} (score {page.score:.0f})"
        for n, page in enumerate(output.pages, start=1)
    ]
    return f"The collection '{name}' got {len(pages)} pages: {counts}.\n" + fence("\n".join(pages))
