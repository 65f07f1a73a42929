"""The exit code of a run, and the sentence that says why it failed."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from ...tools.similarity.embedder_outage import outage_behind
from .exit_codes import ExitCode

if TYPE_CHECKING:
    from collections.abc import Mapping

NOTHING_FOUND: Final = "Nothing was found. Use other words, or another source with --provider."
WORKER: Final = "'collection-search worker'"


def exit_verdict(
    output: Mapping[str, Any], *, waited: bool, fetches: bool = True
) -> tuple[ExitCode, str | None]:
    """Return the exit code, and one sentence where the run failed.

    Pending pages are a failure only where the command `waited` for their ingestion, pages to be
    fetched only where this process `fetches`.
    """
    cause = _cause(output)
    match output["outcome"]:
        case "search_failed":
            return ExitCode.PROVIDER_FAILED, f"The search failed. {cause}"
        case "no_candidates":
            return ExitCode.NOTHING_FOUND, NOTHING_FOUND
        case "auto_ingest_failed_quality_threshold":
            outage = outage_behind(output)
            reason = outage.advise("--embeddings lexical") if outage else cause
            return ExitCode.NOTHING_FOUND, f"Nothing was ingested. {reason}"
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
        return ExitCode.INGESTION_FAILED, f"The ingestion stopped; {WORKER} goes on. {cause}"
    if failed := status["failed"]:
        return ExitCode.INGESTION_FAILED, (
            f"{failed} of {receipt['count']} pages failed, see above. 'collection-search ingest"
            " failed' lists what was given up, 'ingest retry-failed' tries it again."
        )
    left = status["pending"] + (status["to_fetch"] if fetches else 0)
    if waited and left:
        return ExitCode.INGESTION_FAILED, f"The ingestion takes too long; {WORKER} goes on."
    return ExitCode.DONE, None


def was_too_dear(output: Mapping[str, Any], node: str) -> bool:
    """Return whether the node skipped a call because of the run's cost limit."""
    nodes = output.get("telemetry", {}).get("nodes", {})
    return bool(nodes.get(node, {}).get("cost_limit_reached"))


def _cause(output: Mapping[str, Any]) -> str:
    """Return the message of the failed search or ingestion."""
    failures = [*output["search"]["errors"], (output["ingestion"] or {}).get("error")]
    return next((failure["message"] for failure in failures if failure), "")
