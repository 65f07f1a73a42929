"""What became of a decided review, as text, and its exit code."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from ...text.counted import counted
from .exit_codes import ExitCode
from .failed_pages import format_unstored
from .next_steps import shell_command
from .run_exit_code import exit_verdict

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

LEFT_TO_SERVER: Final = (
    "The decision is stored. The run belongs to 'collection-search serve', which goes on with it:"
    " within seconds if it is running, else at its next start."
)
_BY: Final = {"deadline": "the deadline", "threshold": "the threshold"}


def format_review(review: Mapping[str, Any]) -> str:
    """Return the decision in force.

    >>> format_review({"status": "partial", "approved_urls": ["https://a.example/"],
    ...     "added_urls": [], "approver": "ann", "decided_by": "person", "comment": None})
    'Decision: partial by ann: 1 candidate approved'
    """
    count, added = len(review["approved_urls"]), len(review["added_urls"])
    by = _BY.get(review["decided_by"]) or review["approver"] or "a person"
    parts = [f"{counted(count, 'candidate')} approved"]
    parts += [f"{added} added by hand"] if added else []
    comment = f" ({review['comment']})" if review["comment"] else ""
    return f"Decision: {review['status']} by {by}: {', '.join(parts)}{comment}"


def format_outcome(output: Mapping[str, Any], *, width: int) -> Iterator[str]:
    """Yield the decision in force, what was ingested, and what the collection answers."""
    if output["review"]:
        yield format_review(output["review"])
    receipt, coverage = output["ingestion"] or {}, output["coverage"]
    status = receipt.get("status") or (coverage or {}).get("ingestion")
    if status:
        left = status["pending"] + status.get("to_fetch", 0)
        parts = [f"{status['stored']} of {receipt['count']} pages stored"]
        parts += [f"{status['failed']} failed"] if status["failed"] else []
        parts += [f"{left} waiting for 'collection-search worker'"] if left else []
        yield f"Collection {receipt['collection']}: {', '.join(parts)}"
    elif receipt.get("ticket"):
        yield f"Collection {receipt['collection']}: {receipt['count']} pages accepted"
    unstored = ((coverage or {}).get("ingestion") or {}).get("unstored", ())
    yield from format_unstored(unstored, width=width)
    if coverage:
        answered = sum(query["answered"] for query in coverage["queries"])
        yield f"Coverage: {answered} of {len(coverage['queries'])} queries answered"
        yield from (f"  gap: {gap}" for gap in coverage["gaps"])


def review_steps(
    output: Mapping[str, Any], *, collection: str, options: Mapping[str, str | None]
) -> Iterator[str]:
    """Yield the next command; `options` are those that an answer to a further gate needs."""
    if request := output["request"]:
        is_further = " again" if request["round"] > 1 else ""
        yield f"A person is asked{is_further}. Next, decide what is ingested:"
        yield f"  {shell_command('review', request['gate_id'], **options)}"
        return
    where = {"collection": collection, "tenant": options.get("tenant")}
    if queries := (output["coverage"] or {}).get("next_queries"):
        yield "Next, to close the gaps:"
        yield from (f"  {shell_command('run', one, '--review', **where)}" for one in queries)
    if _is_searchable(output) and not options.get("server"):
        yield "Next, ask the collection:"
        yield f"  {shell_command('ask', output['question'], **where)}"


def _is_searchable(output: Mapping[str, Any]) -> bool:
    """Return whether a page was stored, or may still be."""
    if not (receipt := output["ingestion"]) or not receipt["ticket"]:
        return False
    status = receipt.get("status") or (output["coverage"] or {}).get("ingestion")
    return not status or bool(status["stored"] or status["pending"] or status.get("to_fetch"))


def review_verdict(output: Mapping[str, Any], *, fetches: bool) -> tuple[ExitCode, str | None]:
    """Return the exit code, and one sentence where something is missing.

    A run that asks a person again is not at its end, and ends with 0.
    """
    if output["request"]:
        return ExitCode.DONE, None
    coverage, receipt = output["coverage"] or {}, output["ingestion"] or {}
    if ingested := coverage.get("ingestion"):
        missing = ingested["failed"] + ingested["pending"]
        if missing:
            return ExitCode.INGESTION_FAILED, (
                f"{missing} of {ingested['count']} pages are not stored, see above."
            )
    elif receipt.get("ticket") and "status" in receipt:
        as_triggered = {**output, "outcome": "auto_ingest_triggered"}
        code, complaint = exit_verdict(as_triggered, waited=True, fetches=fetches)
        if complaint:
            return code, complaint
    if gaps := coverage.get("gaps"):
        return ExitCode.NOTHING_FOUND, f"Queries that the collection does not answer: {len(gaps)}."
    return exit_verdict(output, waited=True, fetches=fetches)
