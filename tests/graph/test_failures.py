"""What goes wrong in a run is a flag or an outcome with its cause, never an exception."""

from __future__ import annotations

import asyncio
import json
import logging
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from support.scripted_world import INPUT, good_pages, poor_pages

from collection_search import CollectionSearchGraph, SearchContext, Settings
from collection_search.contracts.collection import Embedded
from collection_search.errors import (
    ConfigError,
    ModelError,
    SearchProviderTimeout,
    SearchProviderUnavailable,
)
from collection_search.settings.tenant_heuristics import TenantHeuristics
from collection_search.testing import (
    RecordingSink,
    RecordingTrigger,
    ScriptedAdapter,
    ScriptedEmbedder,
    ScriptedQueryModel,
)

SECRET = "hunter2hunter2"
LEAK = f"GET https://api.example.com/v1?key={SECRET} failed"


def run(context: SearchContext, *, changes: dict[str, Any] | None = None, **ports: Any) -> Any:
    graph = CollectionSearchGraph(context.model_copy(update=ports))
    return graph.run({**INPUT, **(changes or {})})[1]


def down(**options: Any) -> SearchProviderUnavailable:
    return SearchProviderUnavailable("down", retryable=False, **options)


# --- LLM errors


class ForeignModel:
    """A host's own model: what it raises or returns is not in our hands."""

    model_name = "foreign"

    def __init__(self, answer: Any) -> None:
        self.answer = answer

    async def plan(self, question: str, *, purpose: str, count: int) -> Any:
        if isinstance(self.answer, BaseException):
            raise self.answer
        return self.answer


@pytest.mark.parametrize(
    "answer", [RuntimeError(LEAK), TimeoutError(), asyncio.CancelledError(), None], ids=repr
)
def test_llm_error_of_any_kind_falls_back(
    context: SearchContext, sink: RecordingSink, caplog: pytest.LogCaptureFixture, answer: Any
) -> None:
    """Flag, cause, mark on the observation and warning; the secret in the cause goes nowhere."""
    result = run(context, model=ForeignModel(answer))
    assert result["outcome"] == "search_completed"
    assert result["flags"] == ["strategy_fallback"]
    assert result["strategy"]["fallback"] is True
    assert result["strategy"]["error"]
    [span] = sink.named("k_generate_strategy")
    assert span.failure is not None
    [record] = caplog.records
    assert (record.levelname, record.exc_info is not None) == ("WARNING", True)
    assert SECRET not in f"{result} {caplog.text} {[each.fields for each in sink.spans]}"


def test_half_a_character_in_a_message_does_not_spoil_the_state(
    context: SearchContext,
) -> None:
    """Endpoints cut their messages anywhere; what they say has to travel as JSON."""
    model = ForeignModel(RuntimeError("no model \ud83d"))
    trigger = RecordingTrigger(error=RuntimeError("no worker \ud83d"))
    result = run(context, model=model, trigger=trigger, changes={"auto_ingest": True})
    assert json.dumps(result, ensure_ascii=False).encode()
    assert result["strategy"]["error"] == "no model ?"
    assert result["ingestion"]["error"]["message"] == "no worker ?"


def test_run_without_a_model_is_flagged(context: SearchContext) -> None:
    """Deterministic queries count as the fallback also where no model was asked."""
    result = run(context)
    assert result["flags"] == ["strategy_fallback"]
    assert result["strategy"]["model"] is None
    assert result["strategy"]["queries"][0] == INPUT["question"]


# --- web search errors


def test_search_errors_tell_the_details(context: SearchContext) -> None:
    """`search.errors` holds every field of every failed query."""
    failing = ScriptedAdapter(down(retry_in_ms=1500, http_status=529))
    result = run(context, provider=failing)
    assert "partial_search" not in result["flags"]
    assert result["search"]["errors"] == [
        {
            "query": query,
            "rationale": "provider_unavailable",
            "kind": "SearchProviderUnavailable",
            "code": "serviceUnavailable",
            "message": "down",
            "retryable": False,
            "http_status": 529,
            "retry_in_ms": 1500,
        }
        for query in result["strategy"]["queries"]
    ]


def test_graph_does_not_retry_a_failed_search(context: SearchContext) -> None:
    """Retry lives in the worker: what it gives up on is asked once per query."""
    failing = ScriptedAdapter(down())
    result = run(context, provider=failing)
    assert len(failing.requests) == len(result["strategy"]["queries"]) == 3


@pytest.mark.parametrize(
    ("answer", "outcome"), [(down(), "search_failed"), ([], "no_candidates")], ids=str
)
def test_without_candidates_nothing_is_ingested(
    context: SearchContext, trigger: RecordingTrigger, answer: Any, outcome: str
) -> None:
    """The early ends come before ingestion, although it was asked for."""
    provider = ScriptedAdapter(answer)
    result = run(context, changes={"auto_ingest": True}, provider=provider)
    assert (result["outcome"], result["ingestion"]) == (outcome, None)
    assert trigger.requests == []


# --- embedding errors


class ForeignEmbedder:
    """A host's own embedder, answering by a function of the texts."""

    fingerprint = "foreign:2"

    def __init__(self, vectors: Any) -> None:
        self.vectors = vectors

    async def embed(self, texts: Any) -> Any:
        return Embedded(self.vectors(texts))


def _raise(texts: Any) -> Any:
    raise ConnectionError(LEAK)


@pytest.mark.parametrize(
    "vectors",
    [_raise, lambda _: np.ones((2, 2), np.float32), lambda texts: [[1.0, 0.0] for _ in texts]],
    ids=["raises", "too few", "no array"],
)
@pytest.mark.parametrize("profile", ["default", "literal"])
def test_embedding_error_of_any_kind_scores_zero(
    context: SearchContext, caplog: pytest.LogCaptureFixture, vectors: Any, profile: str
) -> None:
    """The embedding's part of every score is 0, the run is flagged and the cause is logged."""
    result = run(context, embeddings=ForeignEmbedder(vectors), ranking_profile=profile)
    assert result["outcome"] == "search_completed"
    assert "embedding_degraded" in result["flags"]
    for row in result["results"]:
        assert row["embedding_similarity"] == row["explanation"]["embedding_score"] == 0
        assert row["embedding_rank_score"] == pytest.approx(0.4 * row["heuristic_score"], abs=0.01)
    [record] = caplog.records
    assert record.levelname == "WARNING"
    assert SECRET not in caplog.text


def test_embedding_error_of_one_result_scores_only_that_one_zero(context: SearchContext) -> None:
    """A page that could not be embedded is flagged, the others keep their similarity."""

    def all_but_the_last(texts: Any) -> Any:
        return np.array([[1, 0]] * (len(texts) - 1) + [[np.nan, 0]], np.float32)

    result = run(context, embeddings=ForeignEmbedder(all_but_the_last))
    assert "embedding_degraded" in result["flags"]
    similarities = [row["embedding_similarity"] for row in result["results"]]
    assert similarities == [1.0] * 5 + [0.0]


# --- auto-ingest errors


@pytest.mark.parametrize("profile", ["default", "literal"])
def test_an_embedder_that_fails_is_named_as_the_cause(context: SearchContext, profile: str) -> None:
    """In receipt and summary; no other question would help."""
    down = ScriptedEmbedder(error=ModelError("It cannot be reached."))
    ports = {"provider": ScriptedAdapter(good_pages(14)), "embeddings": down}
    result = run(context, changes={"auto_ingest": True}, ranking_profile=profile, **ports)
    assert result["outcome"] == "auto_ingest_failed_quality_threshold"
    effect = "scripted:64 failed, and without similarities no page gets a full score"
    receipt = result["ingestion"]
    assert receipt["error"] == {
        "kind": "QualityThresholdError",
        "message": (
            f"{effect}. It cannot be reached. Run it again when the model answers, or with"
            " embeddings set to lexical."
        ),
    }
    assert (receipt["threshold"], receipt["fallback_used"]) == (50.0, True)
    assert f"Nothing was ingested into software_docs: {effect}. The run" in result["summary"]


def test_an_embedder_without_its_key_is_told_before_anything_is_paid(
    context: SearchContext, sink: RecordingSink
) -> None:
    model, adapter = ScriptedQueryModel(), ScriptedAdapter()
    name = "openai:text-embedding-3-small"
    with pytest.raises(ConfigError, match="OPENAI_API_KEY"):
        run(context, model=model, adapter=adapter, embeddings=name)
    assert not model.calls
    assert not adapter.requests
    [span] = sink.named("k_generate_strategy")
    assert span.failure is not None
    assert not sink.named("k_parallel_web_search")


def test_an_embedder_that_fails_is_not_to_blame_for_what_rules_refuse(
    context: SearchContext, settings: Settings
) -> None:
    """Their refusal is the cause with any embedder."""
    heuristics = TenantHeuristics.model_validate({"blocked_hosts": ["example.com"]})
    ports = {
        "settings": settings.model_copy(update={"heuristics": heuristics}),
        "embeddings": ScriptedEmbedder(error=ModelError("down")),
    }
    result = run(context, changes={"auto_ingest": True}, **ports)
    assert "the rules refuse all 6 results" in result["ingestion"]["error"]["message"]
    assert "the rules refuse all 6 results" in result["summary"]


def test_a_search_that_seems_astray_without_similarities_is_not_blamed(
    context: SearchContext, settings: Settings
) -> None:
    """Whether it found its subject cannot be told by the points that are left."""
    heuristics = TenantHeuristics.model_validate({"weights": {"embedding_share": 0.4}})
    ports: dict[str, Any] = {
        "provider": ScriptedAdapter([*good_pages(1), *poor_pages(24)]),
        "settings": settings.model_copy(update={"heuristics": heuristics}),
    }
    asked = {"auto_ingest": True, "max_candidates": 40}
    failing = ScriptedEmbedder(error=ModelError("down"))
    result = run(context, changes=asked, embeddings=failing, **ports)
    assert result["results"][0]["embedding_rank_score"] == 60
    receipt = result["ingestion"]
    assert receipt["error"]["message"].startswith("scripted:64 failed, and without similarities")
    assert receipt["threshold"] == 60


@pytest.mark.parametrize("error", [ConnectionError(LEAK), TimeoutError()], ids=repr)
def test_crawler_error_of_any_kind_is_an_outcome(
    context: SearchContext, caplog: pytest.LogCaptureFixture, error: Exception
) -> None:
    """A host's trigger may raise what it likes; the results stay."""
    broken = RecordingTrigger(error=error)
    result = run(context, changes={"auto_ingest": True}, trigger=broken)
    assert result["outcome"] == "auto_ingest_trigger_failed"
    assert result["ingestion"]["error"]["kind"] == type(error).__name__
    assert result["ingestion"]["error"]["message"]
    assert (result["ingestion"]["count"], result["ingestion"]["ticket"]) == (0, None)
    assert len(result["results"]) == 6
    assert SECRET not in f"{result} {caplog.text}"


@pytest.mark.parametrize(
    "outcome", ["auto_ingest_trigger_failed", "auto_ingest_failed_quality_threshold"]
)
def test_auto_ingest_errors_are_logged_with_their_context(
    context: SearchContext, caplog: pytest.LogCaptureFixture, sink: RecordingSink, outcome: str
) -> None:
    """Level ERROR, with the ids of the run and the cause; the observation is marked too."""
    ports: dict[str, Any] = {"run_id": "run-1", "trace_id": "trace-1"}
    if outcome == "auto_ingest_trigger_failed":
        ports["trigger"] = RecordingTrigger(error=ConnectionError("refused"))
    else:
        ports["embeddings"] = ScriptedEmbedder(error=ModelError("down"))
        caplog.set_level(logging.ERROR)
    assert run(context, changes={"auto_ingest": True}, **ports)["outcome"] == outcome
    record: Any = caplog.records[-1]
    assert (record.levelname, record.run_id, record.trace_id) == ("ERROR", "run-1", "trace-1")
    assert outcome in record.getMessage()
    assert record.cause
    [span] = sink.named("k_auto_ingest")
    assert span.failure is not None
    assert span.failure[1] == record.cause


# --- flags


def test_flags_of_all_nodes_are_kept(context: SearchContext) -> None:
    """No node loses what an earlier one flagged."""
    question = INPUT["question"]
    adapter = ScriptedAdapter(good_pages()).on(question, SearchProviderTimeout("", retryable=False))
    result = run(
        context,
        provider=adapter,
        model=ScriptedQueryModel(ModelError("down")),
        embeddings=ScriptedEmbedder(error=ModelError("down")),
    )
    assert result["flags"] == ["strategy_fallback", "partial_search", "embedding_degraded"]


def test_texts_that_cannot_be_staged_are_flagged(
    context: SearchContext, settings: Settings
) -> None:
    """A search whose texts find no room, or whose host's store is broken, is still a search."""
    settings.home.joinpath("file").touch()
    pages = good_pages()
    pages[0].content = "The text of the page."
    full = settings.model_copy(update={"home": settings.home / "file"})
    gone = SimpleNamespace(staging=None, ledger=None, collections=None, close=list)
    for ports in ({"settings": full}, {"store": gone}):
        result = run(context, provider=ScriptedAdapter(pages), **ports)
        assert result["outcome"] == "search_completed"
        assert result["flags"] == ["strategy_fallback", "staging_failed"]
