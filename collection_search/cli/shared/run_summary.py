"""A run's output as text: what was searched, what it cost, the scores, warnings."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any, Final

from ...contracts.prices import format_usd
from ...errors import CostLimitReached
from ...ranking.rejudging import judged_addend
from ...ranking.score_text import format_score
from ...text.money import round_usd
from ...tools.similarity.embedder_outage import find_outage
from .run_exit_code import WORKER, was_too_dear
from .terminal import printable

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from ...contracts.ingestion import RowStatus

_TOO_DEAR: Final = CostLimitReached.__name__
HEADER: Final = "  #  score  similarity  heuristics  title"
INDENT: Final = " " * 5
_ANSWERS: Final = {
    "k_generate_strategy": ("plan", "plans"),
    "k_parallel_web_search": ("search", "searches"),
    "k_embedding_rank": ("text", "texts"),
    "k_premium_rank": ("judgement", "judgements"),
}
"""What each node may find in the cache."""
_CHANGES: Final = ("new", "changed", "unchanged", "duplicate")


def format_search(output: Mapping[str, Any]) -> Iterator[str]:
    """Yield the provider and why it was chosen, the queries, and how the results were compared."""
    search, strategy = output["search"], output["strategy"]
    yield f"Searched: {search['provider']} ({search['provider_reason']})"
    yield from (f"Note: {notice}" for notice in search.get("notices", ()))
    planned = "deterministic" if strategy["fallback"] else f"by {strategy['model']}"
    yield f"Queries, {planned}:"
    yield from (f"  {query}" for query in strategy["queries"])
    yield from _similarity_lines(output)
    yield from _premium(output["telemetry"]["nodes"].get("k_premium_rank"))
    yield from _cost(output["telemetry"])


def _similarity_lines(output: Mapping[str, Any]) -> Iterator[str]:
    """Yield by what pages were compared, and what each of several embedders took."""
    facts = output["telemetry"]["nodes"].get("k_embedding_rank", {})
    embedder, members = facts.get("embedder"), facts.get("embedders", ())
    if embedder == "lexical":
        yield "Similarity: lexical, from the words alone (no embedding model is set)"
    elif embedder and find_outage(output):
        yield f"Similarity: none, since {embedder} failed"
    elif members and not any(each["counts"] for each in members):
        yield f"Similarity: lexical, from the words alone, instead of {embedder}"
    elif embedder:
        yield f"Similarity: {embedder}"
    if len(members) > 1:
        yield from map(_member, members)


def _member(facts: Mapping[str, Any]) -> str:
    """Return what one of several embedders took.

    >>> _member({"embedder": "openai:a", "counts": True, "input_tokens": 900, "cost_usd": 0.02})
    '  openai:a: 900 tokens, $0.02'
    >>> _member({"embedder": "local:b", "counts": False, "input_tokens": None, "cost_usd": 0.0})
    '  local:b: free, left out'
    """
    tokens, cost = facts["input_tokens"], facts["cost_usd"]
    price = "price not known" if cost is None else round_usd(cost) if cost else "free"
    counted = "" if not tokens else f"{tokens:,} tokens"
    left_out = "" if facts["counts"] else "left out"
    return f"  {facts['embedder']}: {', '.join(filter(None, (counted, price, left_out)))}"


def _premium(facts: Mapping[str, Any] | None) -> Iterator[str]:
    """Yield what the judgement of unsure pages changed, or why there was none."""
    if facts is None:
        return
    if notice := facts.get("notice"):
        yield f"Note: {notice}"
    elif not facts["error"] or facts["judged_count"]:
        moved = f"{facts['raised_count']} raised, {facts['lowered_count']} lowered"
        told = f": {moved}" if facts["judged_count"] else ""
        yield f"Judged: {facts['judged_count']} unsure pages by {facts['judge']}{told}"


def _cost(telemetry: Mapping[str, Any]) -> Iterator[str]:
    """Yield the run's cost and how much came from the cache."""
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
    """Yield the cost and what the cache `spared`; nothing where all of it was free.

    >>> next(cost_line(0.016, limit=0.05, is_complete=True, spared=["1 search"]))
    'Cost: $0.016 of $0.05 at most (1 search known from before)'
    >>> next(cost_line(0.0, limit=None, is_complete=False, spared=[]))
    'Cost: not known'
    """
    if not (cost or spared or limit is not None or not is_complete):
        return
    is_blank = not (cost or is_complete)
    parts = (
        "Cost: not known" if is_blank else f"Cost: {round_usd(cost)}",
        "" if limit is None or is_blank else f"of {format_usd(limit)} at most",
        "" if is_complete or is_blank else "and what has no known price",
        f"({', '.join(spared)} known from before)" if spared else "",
    )
    yield " ".join(filter(None, parts))


def score_rows(
    results: Sequence[Mapping[str, Any]], *, threshold: float, width: int | None
) -> Iterator[tuple[str, ...]]:
    """Yield of each result its scores with the title, its URL, and why it has its score.

    A fourth line has the judgement of a page that was judged.

    >>> page = {"title": "Tasks", "url": "https://a.example/t", "embedding_rank_score": 92.06,
    ...         "embedding_similarity": 0.84, "heuristic_score": 71.0,
    ...         "explanation": {"sentence": "By wording it is close."}}
    >>> for line in next(score_rows([page], threshold=60, width=80)):
    ...     print(line)
      1   92.0        0.84        71.0  Tasks
    https://a.example/t
    By wording it is close.
    """
    for place, result in enumerate(results, start=1):
        score = format_score(result["embedding_rank_score"], beside=threshold)
        heuristics = format_score(result["heuristic_score"])
        scores = (
            f"{place:>3}  {score:>5}  {result['embedding_similarity']:>10.2f}  {heuristics:>10}  "
        )
        title = _fitted(result["title"], width and width - len(scores))
        judged = judged_line(result, width and width - len(INDENT))
        why = result["explanation"].get("sentence", "")
        yield scores + title, result["url"], why, *(INDENT + line for line in judged)


def judged_line(result: Mapping[str, Any], width: int | None) -> Iterator[str]:
    """Yield the judgement of a page, with the points that it gave or took.

    >>> judge = {"name": "judge", "points": -31.5, "reason": "About another library."}
    >>> list(judged_line({"explanation": {"addends": [judge]}}, width=40))
    ['judged -31.5: About another library.']
    """
    if addend := judged_addend(result.get("explanation", {})):
        reason = f": {printable(addend['reason'])}" if addend.get("reason") else ""
        yield _fitted(f"judged {addend['points']:+.1f}{reason}", width)


def format_ingestion(output: Mapping[str, Any]) -> Iterator[str]:
    """Yield the state of the accepted pages."""
    receipt = output["ingestion"] or {}
    if status := receipt.get("status"):
        parts = (
            f"{status['stored']} of {receipt['count']} pages stored{format_changes(status)}",
            _part(status["pending"], f"waiting for {WORKER}"),
            _part(status["to_fetch"], f"to be fetched by {WORKER}"),
            _part(status["failed"], "failed"),
            _part(status.get("retired", 0), "gone"),
        )
        is_queued = status["pending"] + status["to_fetch"] == receipt["count"]
        text = format_queued(receipt["count"]) if is_queued else ", ".join(filter(None, parts))
        yield f"Collection {receipt['collection']}: {text}"
    facts = output.get("telemetry", {}).get("nodes", {}).get("k_auto_ingest", {})
    asked = facts.get("min_score", output.get("auto_ingest_min_score"))
    if reason := facts.get("threshold_reason"):
        yield f"Minimum score {asked:g}: {reason}."
    if (used := receipt.get("threshold")) is not None and asked is not None and used < asked:
        yield f"Fewer than three results reach {asked:g}: those from {used:g} on were taken."


def format_queued(count: int) -> str:
    """Return the sentence about pages that no worker has claimed.

    >>> format_queued(6)
    "6 pages are queued; 'collection-search worker' ingests them"
    """
    pages, them = ("1 page is", "it") if count == 1 else (f"{count} pages are", "them")
    return f"{pages} queued; {WORKER} ingests {them}"


def format_warnings(output: Mapping[str, Any]) -> Iterator[str]:
    """Yield the problems that did not end the run."""
    flags, strategy = output["flags"], output["strategy"]
    if strategy["error"]:
        ended = "was not asked" if was_too_dear(output, "k_generate_strategy") else "failed"
        cause = strategy["error"]
        yield f"{strategy['model']} {ended}, so deterministic queries were used: {cause}"
    if "partial_search" in flags:
        for failure in output["search"]["errors"]:
            ended = "was not sent" if failure["kind"] == _TOO_DEAR else "failed"
            yield f"the query {failure['query']!r} {ended}: {failure['message']}"
    if "embedding_degraded" in flags:
        yield _degraded(output)
    if "model_not_used" in flags:
        yield from _left_to_words(output)
    if "premium_degraded" in flags:
        yield _unjudged(output)
    if "criteria_not_judged" in flags:
        facts = output["telemetry"]["nodes"]["k_check_criteria"]
        yield f"{facts['not_judged_count']} pages could not be judged: {facts['error']}"
    if "staging_failed" in flags:
        yield "the pages' texts could not be kept: they cannot be ingested from this run"
    if uncounted := _uncounted(output):
        yield f"the ceiling does not count what {uncounted} takes: the price is not known"


def _unjudged(output: Mapping[str, Any]) -> str:
    """Return why unsure pages keep the score that they had."""
    facts = output["telemetry"]["nodes"]["k_premium_rank"]
    return f"unsure pages were not all judged and keep their score: {facts['error']}"


def _uncounted(output: Mapping[str, Any]) -> str:
    """Return the models and providers whose price is unknown to the cost limit."""
    nodes = output.get("telemetry", {}).get("nodes", {}).values()
    blind = [facts for facts in nodes if facts.get("cost_limit_blind")]
    names = (facts.get("model") or facts.get("provider") or facts["embedder"] for facts in blind)
    return ", ".join(dict.fromkeys(names))


def _degraded(output: Mapping[str, Any]) -> str:
    """Return what replaced the embedding model's similarities, and why."""
    facts = output["telemetry"]["nodes"]["k_embedding_rank"]
    members = facts.get("embedders", ())
    if any(each["counts"] for each in members) and (lost := [m for m in members if m["error"]]):
        return "; ".join(f"{each['embedder']} was left out: {each['error']}" for each in lost)
    if outage := find_outage(output):
        return (
            f"{outage.embedder} failed, so similarity counts as 0 and heuristics alone decide:"
            f" {outage.cause}"
        )
    if was_too_dear(output, "k_embedding_rank"):
        problem = "has no scale yet" if facts["cost_usd"] else "was not asked"
        return f"{facts['embedder']} {problem}, so words were compared: {facts['error']}"
    if any(result["explanation"]["scale"] == "lexical" for result in output["results"]):
        why = f": {facts['error']}" if facts.get("error") else ""
        return f"the scale of {facts['embedder']} is not known, so words were compared instead{why}"
    return f"{facts['embedder']} could not embed every page: similarity counts as 0 for some"


def _left_to_words(output: Mapping[str, Any]) -> Iterator[str]:
    """Yield each model that was not used for this question, and why."""
    members = output["telemetry"]["nodes"]["k_embedding_rank"]["embedders"]
    instead = "the others were used" if any(m["counts"] for m in members) else "words were compared"
    for each in members:
        if each["not_used"]:
            yield f"{each['embedder']} was not used, {instead}: {each['not_used']}"


def count_changes(rows: Iterable[RowStatus]) -> dict[str, int]:
    """Return how many of the stored pages are new, changed, unchanged or the same as others."""
    counts = Counter(row.change for row in rows if row.state == "stored")
    return {change: counts[change] for change in _CHANGES}


def format_changes(status: Mapping[str, int]) -> str:
    """Return the counts of the stored pages, or nothing where all are new.

    >>> format_changes({"new": 1, "unchanged": 1, "failed": 2})
    ' (1 new, 1 unchanged)'
    """
    text = ", ".join(f"{status[change]} {change}" for change in _CHANGES if status.get(change))
    return f" ({text})" if any(status.get(change) for change in _CHANGES[1:]) else ""


def _part(count: int, what: str) -> str:
    return f"{count} {what}" if count else ""


def _fitted(title: str, width: int | None) -> str:
    return title if width is None or len(title) <= width else title[: max(1, width - 1)] + "…"
