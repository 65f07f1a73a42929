"""`k_embedding_rank`: scores that mean the same for every model."""

from __future__ import annotations

import asyncio
import math
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from blockbuster import blockbuster_ctx
from support.scripted_world import INPUT, QUESTION, fair_pages, good_pages, poor_pages

from collection_search import CollectionSearchGraph, Settings
from collection_search.adapters.stores.sqlite.usage import SQLiteUsage
from collection_search.contracts.collection import Embedded
from collection_search.errors import ModelError
from collection_search.nodes import embedding_rank
from collection_search.ranking import calibration
from collection_search.ranking.anchors import anchor_texts, anchors
from collection_search.runtime.concurrency import offload
from collection_search.testing import ScriptedAdapter, ScriptedEmbedder
from collection_search.tools.spending.run_spendings import open_account
from collection_search.tools.spending.spend_writer import spend_writer

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from collection_search import SearchContext
    from collection_search.testing import RecordingSink

PAGES = [*good_pages(2), *fair_pages(), *poor_pages(2)]


class Scaled(ScriptedEmbedder):
    """The same model on another scale: each cosine becomes `floor + (1 - floor) * cosine`."""

    def __init__(self, floor: float, **options: Any) -> None:
        super().__init__(fingerprint=f"scaled:{floor}", **options)
        self.floor = floor

    async def embed(self, texts: Any) -> Embedded:
        embedded = await super().embed(texts)
        raised = np.full((len(texts), 1), math.sqrt(self.floor), np.float32)
        vectors = np.hstack([math.sqrt(1 - self.floor) * embedded.vectors, raised])
        return Embedded(vectors, embedded.input_tokens)


class Anchored(ScriptedEmbedder):
    """Does with the anchors what a test wants."""

    def __init__(self, answer: Callable[[Any], Any]) -> None:
        super().__init__(fingerprint="anchored:64")
        self.answer = answer

    async def embed(self, texts: Any) -> Embedded:
        if texts[0] in anchor_texts():  # all of them, or a part
            self.calls.append(list(texts))
            return Embedded(self.answer(texts))
        return await super().embed(texts)


def down(_: Any) -> Any:
    raise ModelError("overloaded")


def run(context: SearchContext, **ports: Any) -> Any:
    ours = context.model_copy(update={"provider": ScriptedAdapter(PAGES), **ports})
    return CollectionSearchGraph(ours).run(INPUT)[1]


def scores(result: Any) -> dict[str, float]:
    return {row["url"]: row["embedding_rank_score"] for row in result["results"]}


@pytest.mark.parametrize("floor", [0.5, 0.8])
def test_a_score_means_the_same_on_every_scale(context: SearchContext, floor: float) -> None:
    """Models that differ by their scale alone give the same scores, far as their cosines lie."""
    low = run(context, embeddings=ScriptedEmbedder())
    high = run(context, embeddings=Scaled(floor))
    assert scores(high) == pytest.approx(scores(low), abs=0.2)
    for one, other in zip(low["results"], high["results"], strict=True):
        raised = floor + (1 - floor) * one["embedding_similarity"]
        assert other["embedding_similarity"] == pytest.approx(raised, abs=1e-3)


def test_anchors_are_embedded_beside_the_first_question_alone(context: SearchContext) -> None:
    """Each question is one request of the question and its distinct pages."""
    embedder = ScriptedEmbedder()
    context.settings = context.using().model_copy(update={"answer_cache_s": 0})
    texts = [QUESTION, *(f"{page.title}\n{page.snippet}" for page in PAGES)]
    for _ in range(3):
        run(context, embeddings=embedder)
    questions = [call for call in embedder.calls if call != anchor_texts()]
    assert len(embedder.calls) == 4
    assert [sorted(call) for call in questions] == [sorted(texts)] * 3
    assert [call[0] for call in questions] == [QUESTION] * 3


def test_the_literal_profile_needs_no_anchors(context: SearchContext) -> None:
    """Its cosines are not calibrated."""
    embedder = ScriptedEmbedder()
    run(context, embeddings=embedder, ranking_profile="literal")
    assert len(embedder.calls) == 1


async def test_anchors_and_pages_are_under_way_together(context: SearchContext) -> None:
    """The pages' request ends only when that of the anchors has begun, and the other way round."""
    both = asyncio.Barrier(2)

    class Meeting(ScriptedEmbedder):
        async def embed(self, texts: Any) -> Embedded:
            await asyncio.wait_for(both.wait(), timeout=60)
            return await super().embed(texts)

    ours = context.model_copy(update={"embeddings": Meeting()})
    _, result = await CollectionSearchGraph(ours).arun(INPUT)
    assert "embedding_degraded" not in result["flags"]


async def test_measuring_a_scale_never_blocks_the_loop(context: SearchContext) -> None:
    """Anchors and medians are files, read and written off the loop."""
    anchors.cache_clear()
    ours = context.model_copy(update={"embeddings": ScriptedEmbedder()})
    with blockbuster_ctx():
        _, result = await CollectionSearchGraph(ours).arun(INPUT)
    assert "embedding_degraded" not in result["flags"]


def test_every_result_says_whose_scale_it_is_on(context: SearchContext, settings: Settings) -> None:
    """Scale, model, and the medians that place it, which are those in the data folder."""
    result = run(context, embeddings=Scaled(0.5))
    [file] = (settings.home / "calibrations").iterdir()
    for row in result["results"]:
        explanation = row["explanation"]
        assert (explanation["scale"], explanation["model"]) == ("dense", "scaled:0.5")
        assert f'"unrelated": {explanation["unrelated"]}' in file.read_text()
        assert 0.5 < explanation["unrelated"] < explanation["related"] < 1


@pytest.mark.parametrize(
    ("answer", "cause"),
    [
        (down, "overloaded"),
        (lambda texts: np.ones((len(texts) - 1, 2), np.float32), "31 vectors for 32 texts"),
    ],
    ids=["fails", "too few"],
)
def test_without_a_scale_words_are_compared(
    context: SearchContext, caplog: pytest.LogCaptureFixture, answer: Any, cause: str
) -> None:
    """Scores as without a model, flagged, with one warning that has the cause."""
    lexical = run(context)
    result = run(context, embeddings=Anchored(answer))
    assert scores(result) == scores(lexical)
    assert "embedding_degraded" in result["flags"]
    [record] = [record for record in caplog.records if record.levelname == "WARNING"]
    assert record.name == "collection_search.ranking.calibration"
    assert cause in caplog.text
    for row in result["results"]:
        assert row["explanation"]["scale"] == "lexical"
        assert row["explanation"]["model"] == "anchored:64"
    similar = {row["embedding_similarity"] for row in result["results"]}
    assert similar != {row["embedding_similarity"] for row in lexical["results"]}


def test_a_lost_scale_is_asked_for_again(context: SearchContext) -> None:
    """Some minutes later; the questions until then cost no further request."""
    embedder = Anchored(down)
    for _ in range(3):
        assert "embedding_degraded" in run(context, embeddings=embedder)["flags"]
    asked = [call for call in embedder.calls if call[0] in anchor_texts()]
    assert list(map(len, asked)) == [128, 32]
    calibration._failed.clear()  # as time does
    sound = asyncio.run(ScriptedEmbedder().embed(anchor_texts())).vectors
    embedder.answer = lambda _: sound
    result = run(context, embeddings=embedder)
    assert "embedding_degraded" not in result["flags"]
    assert {row["explanation"]["scale"] for row in result["results"]} == {"dense"}


def test_tokens_and_price_are_told(context: SearchContext, sink: RecordingSink) -> None:
    """In the observation and the output, with those of the anchors at first use."""
    embedder = ScriptedEmbedder(fingerprint="openai:text-embedding-3-small")
    result = run(context, embeddings=embedder)
    assert len(embedder.calls) == 2
    tokens = sum(len(text.split()) for call in embedder.calls for text in call)
    cost = tokens * 2 / 10**8
    facts = result["telemetry"]["nodes"]["k_embedding_rank"]
    assert (facts["input_tokens"], facts["cost_usd"]) == (tokens, cost)
    [span] = sink.named("k_embedding_rank")
    assert span.tokens == {
        "model": "text-embedding-3-small",
        "input_tokens": tokens,
        "output_tokens": None,
        "cost_usd": cost,
    }


def test_what_a_failed_request_cost_is_not_known(context: SearchContext) -> None:
    """It may have been billed."""
    embedder = ScriptedEmbedder(
        fingerprint="openai:text-embedding-3-small", error=ModelError("down")
    )
    telemetry = run(context, embeddings=embedder)["telemetry"]
    assert telemetry["nodes"]["k_embedding_rank"]["cost_usd"] is None
    assert telemetry["cost_complete"] is False


@pytest.mark.parametrize(
    ("embedder", "limit", "kind"),
    [
        (ScriptedEmbedder(error=ModelError("down")), None, "ModelError"),
        (Anchored(down), None, "ModelError"),
        (ScriptedEmbedder(fingerprint="openai:text-embedding-3-small"), 1e-9, "CostLimitReached"),
        (ScriptedEmbedder(), None, None),
    ],
)
def test_a_failed_embedder_is_a_failed_observation(
    context: SearchContext,
    sink: RecordingSink,
    embedder: Any,
    limit: float | None,
    kind: str | None,
) -> None:
    """Without vectors, without a scale, and below the ceiling, though the run goes on."""
    run(context, embeddings=embedder, max_cost_usd=limit)
    (span,) = sink.named("k_embedding_rank")
    assert (span.failure and span.failure[0]) == kind


async def test_a_request_that_nobody_waits_for_any_more_is_in_the_books(
    context: SearchContext, tmp_path: Path
) -> None:
    """It may be billed all the same, and so its price stays reserved; a free one is not listed."""

    async def booked(fingerprint: str) -> tuple[int, int, bool]:
        asked = asyncio.Event()

        class Waiting(ScriptedEmbedder):
            async def embed(self, texts: Any) -> Embedded:
                asked.set()
                await asyncio.Event().wait()
                return await super().embed(texts)

        books = SQLiteUsage(tmp_path / f"{fingerprint[:5]}.db")
        embedder = Waiting(fingerprint=fingerprint)
        choices = {"embeddings": embedder, "ranking_profile": "literal", "usage_store": books}
        ours = context.model_copy(update={**choices, "run_id": "r", "max_cost_usd": 1.0})
        question = asyncio.ensure_future(CollectionSearchGraph(ours).arun(INPUT))
        await asked.wait()
        question.cancel()
        with pytest.raises(asyncio.CancelledError):
            await question
        await offload(spend_writer().flush)
        totals = [one for one in books.totals(ours.tenant(), by="name") if one.kind == "embedding"]
        spent = (await open_account(ours, ours.ids())).budget.spent_usd
        return sum(one.requests for one in totals), sum(one.unpriced for one in totals), spent > 0

    assert await booked("openai:text-embedding-3-small") == (1, 1, True)
    assert await booked("local:a-model") == (0, 0, False)


@pytest.mark.parametrize("count", [embedding_rank.INLINE, 80])
def test_many_candidates_are_ranked_as_few_are(context: SearchContext, count: int) -> None:
    """On the event loop or in a thread."""
    pages, share = good_pages(count), math.ceil(count / 5)
    provider = ScriptedAdapter(*(pages[place : place + share] for place in range(0, count, share)))
    ours = context.model_copy(update={"provider": provider, "embeddings": ScriptedEmbedder()})
    wide = {**INPUT, "max_candidates": 40, "quality_mode": "premium"}
    _, result = CollectionSearchGraph(ours).run(wide)
    assert result["telemetry"]["nodes"]["k_embedding_rank"]["input_count"] == count
    assert len(result["results"]) == 40
    ordered = [row["embedding_rank_score"] for row in result["results"]]
    assert ordered == sorted(ordered, reverse=True)
