"""The call of `collection_search`: from a question to a filled collection."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from ..contracts.functions import CollectedOutput, CollectedPage, FunctionResult
from ..errors import RETRYABLE_FETCHES
from ..ranking.score_text import format_score
from ..settings.registry import load_adapter
from ..text.clean import excerpt
from ..text.counted import counted
from ..text.untrusted import fence, neutralize_line, show_url
from .failed_calls import describe_failed_search, describe_failed_start
from .ingestion.failures import fetch_reason_in
from .similarity.embedder_outage import outage_behind
from .tickets import await_ticket

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Mapping

    from ..context import SearchContext
    from ..contracts.functions import CollectionSearchArguments
    from ..contracts.ingestion import TicketStatus

    OnProgress = Callable[[float, float, str], Awaitable[None]]
    """Gets how much is done, of how much, and a sentence about it."""

COLLECT_TIMEOUT_S: Final = 300.0
"""How long the call waits for the pages to be stored."""
_STEPS: Final = 5
"""Four stages and the ingestion."""
_FAILED: Final = ("search_failed", "auto_ingest_trigger_failed")
_MAX_REASONS: Final = 3
_REASON_CHARS: Final = 300
_ANOTHER: Final = "Ask another question, or the same more precisely."
_LATER: Final = "Other words do not help; it may work later."


async def call_collection_search(
    arguments: CollectionSearchArguments,
    context: SearchContext,
    *,
    on_progress: OnProgress | None = None,
    timeout_s: float = COLLECT_TIMEOUT_S,
) -> FunctionResult:
    """Search for the question, ingest the best pages and wait until they are stored.

    The graph `collection_search` runs with `auto_ingest`; a page that does not reach the score
    stays out. What is not stored after `timeout_s` is counted as pending. Where every page failed,
    or the embedder that their scores need, it is an error result. Raises ConfigError.
    """
    graph = load_adapter("graphs", "collection_search")(context)
    given = {
        "question": arguments.question,
        "collection_scope": arguments.collection,
        "max_candidates": max(2 * arguments.max_pages, 10),
        "criteria": arguments.criteria,
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
        output = output.model_copy(update=_facts(status))
    if on_progress is not None:
        said = f"{output.stored} pages are stored, {output.pending} are pending"
        await on_progress(_STEPS, _STEPS, said)
    is_failed = output.outcome in _FAILED or outage_behind(final) is not None
    is_error = is_failed or _is_in_vain(output)
    text = _describe_pages(output) if output.pages else _describe_nothing(output, final)
    return FunctionResult(f"Error: {text}" if is_error else text, output, is_error=is_error)


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


def _facts(status: TicketStatus) -> dict[str, Any]:
    """Return how many pages are stored, failed and pending, and one cause of each kind."""
    causes: dict[str, str] = {}
    for row in status.rows:
        if row.state == "dead" and row.error:
            causes.setdefault(fetch_reason_in(row.error) or row.error, row.error)
    return {
        "stored": status.stored,
        "failed": status.failed,
        "pending": status.left(fetch=True),
        "reasons": [*causes.values()][:_MAX_REASONS],
    }


def _is_in_vain(output: CollectedOutput) -> bool:
    return output.stored == output.pending == 0 < output.failed


def _describe_nothing(output: CollectedOutput, final: Mapping[str, Any]) -> str:
    """Return why no page was accepted, with advice that a model can follow."""
    if output.outcome == "no_candidates":
        said = f"The search found no page. {_ANOTHER}"
    elif outage := outage_behind(final):
        said = f"The pages could not be scored: {neutralize_line(outage.effect)}. {_LATER}"
    elif output.outcome == "auto_ingest_failed_quality_threshold":
        # Its other sentences advise what a model cannot do, or quote what was said of a page.
        cause = final["ingestion"]["error"]["message"].partition(". ")[0]
        said = f"No page is good enough: {neutralize_line(cause)}. {_ANOTHER}"
    else:
        errors = (final["search"] or {}).get("errors", ())
        reasons = [describe_failed_search(error["rationale"], error) for error in errors]
        if receipt_error := (final["ingestion"] or {}).get("error"):
            reasons = [describe_failed_start(receipt_error)]
        said = " ".join(dict.fromkeys(reasons))
    name = neutralize_line(output.collection)
    return f"Nothing was collected into '{name}' ({output.outcome}). {said}".rstrip()


def _describe_pages(output: CollectedOutput) -> str:
    """Return what became of the accepted pages; causes of failures are texts of the web."""
    words = {fetch_reason_in(cause): None for cause in output.reasons}
    why = f" ({', '.join(word or 'other' for word in words)})" if words else ""
    name, count = neutralize_line(output.collection), len(output.pages)
    if _is_in_vain(output):
        told = (
            f"Nothing was stored in the collection '{name}': {output.failed} of {count} pages"
            f" failed{why}. "
        )
        may_retry = not RETRYABLE_FETCHES.isdisjoint(words)
        told += "It may work later." if may_retry else "Ask another question, or for more pages."
    else:
        counts = f"{output.stored} stored, {output.failed} failed{why}, {output.pending} pending"
        told = f"The collection '{name}' got {counted(count, 'page')}: {counts}."
    lines = [
        f"{n}. {neutralize_line(page.title)} — {show_url(page.url)}"
        f" (score {format_score(page.score, decimals=0)})"
        for n, page in enumerate(output.pages, start=1)
    ]
    lines += [f"Failed: {excerpt(neutralize_line(one), _REASON_CHARS)}" for one in output.reasons]
    return f"{told}\n" + fence("\n".join(lines))
