"""What a run lacks whose embedders all failed, and whether nothing was ingested because of that."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Mapping


@dataclass(frozen=True, slots=True)
class EmbedderOutage:
    """The failure of all embedders of a run: every similarity counts 0."""

    embedder: str
    """Their fingerprints."""
    cause: str

    @property
    def effect(self) -> str:
        """What failed and what follows from it, without a full stop."""
        return f"{self.embedder} failed, and without similarities no page gets a full score"

    def advise(self, lexical: str = "embeddings set to lexical") -> str:
        """Return effect, cause and what to do; `lexical` is how the caller compares words.

        >>> EmbedderOutage("openai:m", "It is down.").advise()
        'openai:m failed, and without similarities no page gets a full score. It is down. \
Run it again when the model answers, or with embeddings set to lexical.'
        """
        cause = self.cause.rstrip(".")
        return f"{self.effect}. {cause}. Run it again when the model answers, or with {lexical}."


def find_outage(run: Mapping[str, Any]) -> EmbedderOutage | None:
    """Return the outage in the state or output of a run.

    None where a model ranked the pages, and where words were compared in its place.
    """
    facts = run.get("telemetry", {}).get("nodes", {}).get("k_embedding_rank", {})
    if not (error := facts.get("error")):
        return None
    results = run.get("results") or ()
    if any(result.get("explanation", {}).get("scale") == "lexical" for result in results):
        return None
    return EmbedderOutage(facts["embedder"], error)


def outage_behind(run: Mapping[str, Any]) -> EmbedderOutage | None:
    """Return the outage for which the run ingested nothing; None where there was another cause.

    A receipt has a threshold where the scores were that cause: criteria, rules and deleted pages
    have nothing to do with an embedder.
    """
    if run.get("outcome") != "auto_ingest_failed_quality_threshold":
        return None
    threshold = (run.get("ingestion") or {}).get("threshold")
    return None if threshold is None else find_outage(run)
