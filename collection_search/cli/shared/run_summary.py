"""A run's output as lines for people: what was searched, the scores, what went wrong, what next."""

from __future__ import annotations

import shlex
from typing import TYPE_CHECKING, Any, Final

from ...contracts.prices import dollars
from ...errors import CostLimitReached
from .error_output import ExitCode

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

NOTHING_FOUND: Final = "Nothing was found. Use other words, or another source with --provider."
_TOO_DEAR: Final = CostLimitReached.__name__
HEADER: Final = "  #  score  similarity  heuristics  title"
_INDENT: Final = " " * 5
_ANSWERS: Final = {
    "k_generate_strategy": ("plan", "plans"),
    "k_parallel_web_search": ("search", "searches"),
    "k_embedding_rank": ("text", "texts"),
}
"""What each node may know from before."""
_WORKER: Final = "'collection-search worker'"


def searched(output: Mapping[str, Any]) -> Iterator[str]:
    """Yield where was searched and why there, for what, and how the results were compared."""
    search, strategy = output["search"], output["strategy"]
    yield f"Searched: {search['provider']} ({search['provider_reason']})"
    yield from (f"Note: {notice}" for notice in search.get("notices", ()))
    planned = "deterministic" if strategy["fallback"] else f"by {strategy['model']}"
    yield f"Queries, {planned}:"
    yield from (f"  {query}" for query in strategy["queries"])
    embedder = output["telemetry"]["nodes"].get("k_embedding_rank", {}).get("embedder")
    if embedder == "lexical":
        yield "Similarity: lexical, from the words alone (no embedding model is set)"
    elif embedder and _unreached(output):
        yield f"Similarity: none, since {embedder} failed"
    elif embedder:
        yield f"Similarity: {embedder}"
    yield from _cost(output["telemetry"])


def _cost(telemetry: Mapping[str, Any]) -> Iterator[str]:
    """Yield what the run cost and what it was spared."""
    cost, limit = telemetry.get("cost_usd", 0.0), telemetry.get("cost_limit_usd")
    spared = [
        f"{count} {one if count == 1 else many}"
        for node, (one, many) in _ANSWERS.items()
        if (count := telemetry["nodes"].get(node, {}).get("cached_count"))
    ]
    is_complete = telemetry.get("cost_complete", True)
    yield from cost_line(cost, limit=limit, is_complete=is_complete, spared=spared)


def cost_line(
    cost: float, *, limit: float | None, is_complete: bool, spared: Sequence[str]
) -> Iterator[str]:
    """Yield what was paid and what was `spared`; nothing where all of it was free.

    >>> next(cost_line(0.016, limit=0.05, is_complete=True, spared=["1 search"]))
    'Cost: $0.016 of $0.05 at most (1 search known from before)'
    >>> next(cost_line(0.0, limit=None, is_complete=False, spared=[]))
    'Cost: not known'
    """
    if not (cost or spared or limit is not None or not is_complete):
        return
    is_blank = not (cost or is_complete)
    parts = (
        "Cost: not known" if is_blank else f"Cost: {dollars(cost)}",
        "" if limit is None or is_blank else f"of {dollars(limit)} at most",
        "" if is_complete or is_blank else "and what has no known price",
        f"({', '.join(spared)} known from before)" if spared else "",
    )
    yield " ".join(filter(None, parts))


def score_rows(
    results: Sequence[Mapping[str, Any]], *, width: int | None
) -> Iterator[tuple[str, str]]:
    """Yield each result as two lines: its scores with the title, and its URL.

    >>> page = {"title": "Tasks", "url": "https://a.example/t", "embedding_rank_score": 92.06,
    ...         "embedding_similarity": 0.84, "heuristic_score": 71.0}
    >>> for line in next(score_rows([page], width=80)):
    ...     print(line)
      1   92.1        0.84        71.0  Tasks
         https://a.example/t
    """
    for place, result in enumerate(results, start=1):
        scores = (
            f"{place:>3}  {result['embedding_rank_score']:>5.1f}  "
            f"{result['embedding_similarity']:>10.2f}  {result['heuristic_score']:>10.1f}  "
        )
        title = _fitted(result["title"], width and width - len(scores))
        yield scores + title, _INDENT + result["url"]


def ingested(output: Mapping[str, Any]) -> Iterator[str]:
    """Yield what became of the pages that were accepted."""
    receipt = output["ingestion"] or {}
    if status := receipt.get("status"):
        parts = (
            f"{status['stored']} of {receipt['count']} pages stored{_changes(status)}",
            _part(status["pending"], f"waiting for {_WORKER}"),
            _part(status["to_fetch"], f"to be fetched by {_WORKER}"),
            _part(status["failed"], "failed"),
            _part(status.get("retired", 0), "gone"),
        )
        is_queued = status["pending"] + status["to_fetch"] == receipt["count"]
        told = queued(receipt["count"]) if is_queued else ", ".join(filter(None, parts))
        yield f"Collection {receipt['collection']}: {told}"
    asked = output.get("auto_ingest_min_score")
    if (used := receipt.get("threshold")) is not None and asked is not None and used < asked:
        yield f"Fewer than three results reach {asked:g}: those from {used:g} on were taken."


def queued(count: int) -> str:
    """Return what becomes of pages with which nobody has begun.

    >>> queued(6)
    "6 pages are queued; 'collection-search worker' ingests them"
    """
    pages, them = ("1 page is", "it") if count == 1 else (f"{count} pages are", "them")
    return f"{pages} queued; {_WORKER} ingests {them}"


def warnings(output: Mapping[str, Any]) -> Iterator[str]:
    """Yield what went less than well without ending the run."""
    flags, strategy = output["flags"], output["strategy"]
    if strategy["error"]:
        ended = "was not asked" if _was_too_dear(output, "k_generate_strategy") else "failed"
        cause = strategy["error"]
        yield f"{strategy['model']} {ended}, so deterministic queries were used: {cause}"
    if "partial_search" in flags:
        for failure in output["search"]["errors"]:
            ended = "was not sent" if failure["kind"] == _TOO_DEAR else "failed"
            yield f"the query {failure['query']!r} {ended}: {failure['message']}"
    if "embedding_degraded" in flags:
        yield _degraded(output)
    if "staging_failed" in flags:
        yield "the pages' texts could not be kept: they cannot be ingested from this run"

    if uncounted := _uncounted(output):
        yield f"the ceiling does not count what {uncounted} takes: the price is not known"


def _was_too_dear(output: Mapping[str, Any], node: str) -> bool:
    """Return whether the node left a call out because of the ceiling of the run's cost."""
    nodes = output.get("telemetry", {}).get("nodes", {})
    return bool(nodes.get(node, {}).get("cost_limit_reached"))


def _uncounted(output: Mapping[str, Any]) -> str:
    """Return the names whose price the ceiling did not know."""
    nodes = output.get("telemetry", {}).get("nodes", {}).values()
    blind = [facts for facts in nodes if facts.get("cost_limit_blind")]
    names = (facts.get("model") or facts.get("provider") or facts["embedder"] for facts in blind)
    return ", ".join(dict.fromkeys(names))


def _degraded(output: Mapping[str, Any]) -> str:
    """Return what stood in for the embedding model's similarities, and why."""
    facts = output["telemetry"]["nodes"]["k_embedding_rank"]
    if _was_too_dear(output, "k_embedding_rank"):
        return f"{facts['embedder']} was not asked, so words were compared: {facts['error']}"
    if error := facts.get("error"):
        return (
            f"{facts['embedder']} failed, so similarity counts as 0 and heuristics alone decide:"
            f" {error}"
        )
    if any(result["explanation"]["scale"] == "lexical" for result in output["results"]):
        return f"the scale of {facts['embedder']} is not known, so words were compared instead"
    return f"{facts['embedder']} could not embed every page: similarity counts as 0 for some"


def _unreached(output: Mapping[str, Any]) -> str:
    """Return why no page gets a full score, and what to do; blank unless the embedder failed."""
    if "embedding_degraded" not in output["flags"] or _was_too_dear(output, "k_embedding_rank"):
        return ""
    facts = output["telemetry"]["nodes"]["k_embedding_rank"]
    if not (error := facts.get("error")):
        return ""
    return (
        f"{facts['embedder']} failed, and without similarities no page gets a full score. {error}"
        " Run it again when the model answers, or with --embeddings lexical."
    )


def verdict(
    output: Mapping[str, Any], *, waited: bool, fetches: bool = True
) -> tuple[ExitCode, str | None]:
    """Return the exit code, and one sentence where the run did not reach its aim.

    Pages that are still pending are a failure only where their ingestion was `waited` for, and
    those to be fetched only where this process `fetches`.
    """
    cause = _cause(output)
    match output["outcome"]:
        case "search_failed":
            return ExitCode.PROVIDER_FAILED, f"The search failed. {cause}"
        case "no_candidates":
            return ExitCode.NOTHING_FOUND, NOTHING_FOUND
        case "auto_ingest_failed_quality_threshold":
            return ExitCode.NOTHING_FOUND, f"Nothing was ingested. {_unreached(output) or cause}"
        case "auto_ingest_trigger_failed":
            return ExitCode.INGESTION_FAILED, cause
        case "auto_ingest_triggered":
            return _ingestion_verdict(output["ingestion"], waited=waited, fetches=fetches)
    return ExitCode.DONE, None


def _ingestion_verdict(
    receipt: Mapping[str, Any], *, waited: bool, fetches: bool
) -> tuple[ExitCode, str | None]:
    status = receipt["status"]
    if status is None:
        cause = receipt["error"]["message"]
        return ExitCode.INGESTION_FAILED, f"The ingestion stopped; {_WORKER} goes on. {cause}"
    if failed := status["failed"]:
        return ExitCode.INGESTION_FAILED, (
            f"{failed} of {receipt['count']} pages failed, see above. 'collection-search ingest"
            " failed' lists what was given up, 'ingest retry-failed' tries it again."
        )
    left = status["pending"] + (status["to_fetch"] if fetches else 0)
    if waited and left:
        return ExitCode.INGESTION_FAILED, f"The ingestion takes too long; {_WORKER} goes on."
    return ExitCode.DONE, None


def next_steps(
    output: Mapping[str, Any],
    *,
    collection: str,
    tenant: str | None,
    chosen: Mapping[str, str | None],
) -> Iterator[str]:
    """Yield the commands that make sense now, ready to be copied; with the `chosen` options."""
    question, receipt = output["question"], output["ingestion"]
    where = {"collection": collection, "tenant": tenant}
    if output["outcome"] == "search_completed":
        yield "Next, ingest the best of them:"
        yield f"  {command('run', question, '--auto-ingest', **where, **chosen)}"
    elif receipt and receipt["ticket"] and _is_searchable(receipt["status"]):
        yield "Next, ask the collection:"
        if _is_waiting(receipt["status"]):
            yield f"  {command('worker', '--once')}"
        yield f"  {command('ask', question, **where)}"


def _is_searchable(status: Mapping[str, Any] | None) -> bool:
    """Tell whether a page was stored, or may still be."""
    return _is_waiting(status) or bool(status and status["stored"])


def _is_waiting(status: Mapping[str, Any] | None) -> bool:
    return status is None or bool(status["pending"] or status["to_fetch"])


def command(*words: str, **options: str | None) -> str:
    """Return a command ready to be copied into a shell.

    >>> command("ask", "What is a task?", collection="py", tenant=None)
    "collection-search ask 'What is a task?' --collection py"
    """
    given = [part for name, value in options.items() if value for part in (f"--{name}", value)]
    return shlex.join(["collection-search", *words, *given])


def _cause(output: Mapping[str, Any]) -> str:
    """Return why the search or the ingestion failed, in the words of what failed."""
    failures = [*output["search"]["errors"], (output["ingestion"] or {}).get("error")]
    return next((failure["message"] for failure in failures if failure), "")


def _changes(status: Mapping[str, Any]) -> str:
    """Return what became of the stored pages, unless all are new."""
    counts = {change: status.get(change, 0) for change in ("new", "changed", "unchanged")}
    told = ", ".join(f"{count} {change}" for change, count in counts.items() if count)
    return f" ({told})" if counts["changed"] + counts["unchanged"] else ""


def _part(count: int, what: str) -> str:
    return f"{count} {what}" if count else ""


def _fitted(title: str, width: int | None) -> str:
    return title if width is None or len(title) <= width else title[: max(1, width - 1)] + "…"
