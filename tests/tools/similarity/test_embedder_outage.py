"""Only the failure of all embedders is an outage, and only low scores are its fault."""

from __future__ import annotations

from typing import Any

import pytest

from collection_search.tools.similarity.embedder_outage import find_outage, outage_behind


def ended(*, error: str | None = "It is down.", scale: str = "dense", **receipt: Any) -> Any:
    """The parts of a run's output that tell of its embedder and of its ingestion."""
    facts = {"embedder": "openai:m", "error": error, "cost_limit_reached": True}
    return {
        "outcome": "auto_ingest_failed_quality_threshold",
        "results": [{"explanation": {"scale": scale}}],
        "ingestion": {"threshold": 50.0, **receipt},
        "telemetry": {"nodes": {"k_embedding_rank": facts}},
    }


@pytest.mark.parametrize("scale", ["dense", "literal"])
def test_a_failed_embedder_is_the_cause_of_low_scores(scale: str) -> None:
    """In both profiles, with its name and what to do; the full stop of the cause is no second."""
    outage = outage_behind(ended(scale=scale))
    assert outage is not None
    assert outage.advise("--embeddings lexical") == (
        "openai:m failed, and without similarities no page gets a full score. It is down. Run it"
        " again when the model answers, or with --embeddings lexical."
    )
    assert outage.effect in outage.advise()


@pytest.mark.parametrize("run", [ended(error=None), ended(scale="lexical"), {}], ids=str)
def test_where_pages_were_compared_there_is_no_outage(run: Any) -> None:
    """By a model or by words in its place, such as under a ceiling; nor before the ranking."""
    assert find_outage(run) is None
    assert outage_behind(run) is None


@pytest.mark.parametrize(
    "other",
    [{"outcome": "auto_ingest_trigger_failed"}, {"ingestion": {"threshold": None}}],
    ids=["a failed trigger", "criteria"],
)
def test_another_cause_stays_the_cause(other: Any) -> None:
    """The embedder failed as well, but no score decided."""
    run = ended() | other
    assert find_outage(run) is not None
    assert outage_behind(run) is None
