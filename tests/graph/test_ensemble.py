"""Several embedders rank together, and a model that cannot tell in a language is left out."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

import pytest
from support.scripted_world import INPUT, fair_pages, good_pages, poor_pages

from collection_search import CollectionSearchGraph, SearchContext, Settings
from collection_search.cassette import Cassette
from collection_search.contracts.inputs import GraphInput
from collection_search.errors import ConfigError, ModelError
from collection_search.ranking.anchors import anchor_texts
from collection_search.ranking.calibration import scale_of
from collection_search.settings.remote_caller import restrict_remote_caller
from collection_search.testing import ScriptedAdapter, ScriptedEmbedder
from collection_search.tools.estimate import estimate_run

if TYPE_CHECKING:
    from pathlib import Path

    from collection_search.contracts.collection import Embedded
    from collection_search.testing import RecordingSink

PAGES = [*good_pages(2), *fair_pages(), *poor_pages(2)]
GERMAN = "Wie kann ich eine Aufgabe nach einer Weile mit asyncio abbrechen?"
SMALL, LARGE = "openai:text-embedding-3-small", "openai:text-embedding-3-large"


def run(context: SearchContext, question: str | None = None, **ports: Any) -> Any:
    ours = context.model_copy(update={"provider": ScriptedAdapter(PAGES), **ports})
    asked = INPUT | ({"question": question} if question else {})
    return CollectionSearchGraph(ours).run(asked)[1]


def ranked(result: Any) -> dict[str, float]:
    return {row["url"]: row["embedding_rank_score"] for row in result["results"]}


def similar(result: Any) -> dict[str, float]:
    return {row["url"]: row["embedding_similarity"] for row in result["results"]}


def facts(result: Any) -> Any:
    return result["telemetry"]["nodes"]["k_embedding_rank"]


def other(**options: Any) -> ScriptedEmbedder:
    """Return a model that hashes the same words to other places."""
    return ScriptedEmbedder(dimension=96, **options)


def measure_scales(context: SearchContext) -> None:
    """Let no run of the test pay for anchors."""
    for each in (ScriptedEmbedder(fingerprint=SMALL), other(fingerprint=LARGE)):
        asyncio.run(scale_of(each, folder=context.using().home))


# --- the model is checked


def test_words_decide_in_a_language_that_the_model_cannot_tell(context: SearchContext) -> None:
    """Scores as without a model, flagged, with the reason in telemetry and explanation."""
    model = ScriptedEmbedder(tells=["english"])
    lexical = run(context, GERMAN)
    for _ in range(2):  # measured, then known
        result = run(context, GERMAN, embeddings=model)
        assert (ranked(result), similar(result)) == (ranked(lexical), similar(lexical))
        assert "model_not_used" in result["flags"]
        assert "embedding_degraded" not in result["flags"]
        reason = "the model tells related from unrelated German texts no better than words do"
        assert facts(result)["model_not_used"] == reason
        for row in result["results"]:
            assert (row["explanation"]["scale"], row["explanation"]["model"]) == (
                "lexical",
                "scripted:64",
            )
            assert reason in row["explanation"]["meaning"]


def test_a_model_that_is_not_used_is_not_asked(context: SearchContext) -> None:
    """Once that is known; a question in the other language is its own."""
    model = ScriptedEmbedder(tells=["english"])
    run(context, GERMAN, embeddings=model)
    count = len(model.calls)
    run(context, GERMAN, embeddings=model)
    assert len(model.calls) == count
    result = run(context, embeddings=model)
    assert "model_not_used" not in result["flags"]
    assert len(model.calls) == count + 1
    assert {row["explanation"]["scale"] for row in result["results"]} == {"dense"}


def test_the_literal_profile_takes_every_model(context: SearchContext) -> None:
    """Its arithmetic has no scale, so nothing is measured."""
    model = ScriptedEmbedder(tells=())
    result = run(context, embeddings=model, ranking_profile="literal")
    assert "model_not_used" not in result["flags"]
    assert len(model.calls) == 1


# --- several embedders


def test_an_ensemble_of_one_is_the_model_alone(context: SearchContext) -> None:
    """Named twice it counts once."""
    alone = run(context, embeddings=ScriptedEmbedder())
    twice = run(context, embeddings=ScriptedEmbedder(), ensemble=[ScriptedEmbedder()])
    assert ranked(twice) == ranked(alone)
    assert [row["explanation"] for row in twice["results"]] == [
        row["explanation"] for row in alone["results"]
    ]
    assert len(facts(twice)["embedders"]) == 1


def test_each_is_asked_once_and_the_mean_ranks(context: SearchContext) -> None:
    """One request of all texts each, and its own anchors; the mean of the cosines is shown."""
    one, two = ScriptedEmbedder(), other()
    context.settings = context.using().model_copy(update={"answer_cache_s": 0})
    alone = [run(context, embeddings=each) for each in (one, two)]
    one.calls.clear()
    two.calls.clear()
    result = run(context, embeddings=one, ensemble=[two])
    assert result["flags"] == alone[0]["flags"]
    assert len(one.calls) == len(two.calls) == 1
    assert one.calls == two.calls
    assert facts(result)["embedder"] == "scripted:64 + scripted:96"
    for url, shown in similar(result).items():
        assert shown == pytest.approx(sum(similar(each)[url] for each in alone) / 2, abs=1e-4)
        low, high = sorted(ranked(each)[url] for each in alone)
        assert low - 0.02 <= ranked(result)[url] <= high + 0.02
    for row in result["results"]:
        assert row["explanation"]["model"] == "scripted:64 + scripted:96"


async def test_their_requests_are_under_way_together(context: SearchContext) -> None:
    """Each ends only when the other has begun."""
    both = asyncio.Barrier(2)

    class Meeting(ScriptedEmbedder):
        async def embed(self, texts: Any) -> Embedded:
            if texts[0] not in anchor_texts():
                await asyncio.wait_for(both.wait(), timeout=60)
            return await super().embed(texts)

    ours = {"embeddings": Meeting(), "ensemble": [Meeting(dimension=96)]}
    _, result = await CollectionSearchGraph(context.model_copy(update=ours)).arun(INPUT)
    assert "embedding_degraded" not in result["flags"]


def test_one_that_fails_leaves_the_others(context: SearchContext) -> None:
    """Flagged, with the cause; the scores are those of the others."""
    alone = run(context, embeddings=ScriptedEmbedder())
    down = other(error=ModelError("the endpoint is down"))
    for first, second in ((ScriptedEmbedder(), down), (down, ScriptedEmbedder())):
        result = run(context, embeddings=first, ensemble=[second])
        assert ranked(result) == ranked(alone)
        assert "embedding_degraded" in result["flags"]
        assert facts(result)["error"] is None
        causes = {each["embedder"]: each["error"] for each in facts(result)["embedders"]}
        assert causes == {"scripted:64": None, "scripted:96": "the endpoint is down"}


def test_where_all_fail_no_page_has_a_similarity(context: SearchContext) -> None:
    """As with one embedder; every cause is told."""
    result = run(
        context,
        embeddings=ScriptedEmbedder(error=ModelError("first down")),
        ensemble=[other(error=ModelError("second down"))],
    )
    assert set(similar(result).values()) == {0.0}
    assert facts(result)["error"] == "first down; second down"


def test_one_that_cannot_tell_is_left_out_of_the_mean(context: SearchContext) -> None:
    """In its language alone."""
    weak = other(tells=["english"])
    alone = run(context, GERMAN, embeddings=ScriptedEmbedder())
    result = run(context, GERMAN, embeddings=ScriptedEmbedder(), ensemble=[weak])
    assert ranked(result) == ranked(alone)
    assert "model_not_used" in result["flags"]
    assert [each["counts"] for each in facts(result)["embedders"]] == [True, False]
    both = run(context, embeddings=ScriptedEmbedder(), ensemble=[weak])
    assert [each["counts"] for each in facts(both)["embedders"]] == [True, True]


def test_each_has_its_own_cost_and_observation(context: SearchContext, sink: RecordingSink) -> None:
    """Tokens and price per model; the node has the sum and no usage of its own."""
    measure_scales(context)
    one, two = ScriptedEmbedder(fingerprint=SMALL), other(fingerprint=LARGE)
    result = run(context, embeddings=one, ensemble=[two])
    tokens = sum(len(text.split()) for text in one.calls[0])
    costs = [tokens * 2 / 10**8, tokens * 13 / 10**8]
    assert [each["cost_usd"] for each in facts(result)["embedders"]] == pytest.approx(costs)
    assert facts(result)["cost_usd"] == pytest.approx(sum(costs))
    assert facts(result)["input_tokens"] == 2 * tokens
    spans = sink.named("embedding")
    assert [span.parent.name for span in spans if span.parent] == ["k_embedding_rank"] * 2
    assert {span.tokens["model"]: span.tokens["cost_usd"] for span in spans} == pytest.approx(
        {"text-embedding-3-small": costs[0], "text-embedding-3-large": costs[1]}
    )
    [node] = sink.named("k_embedding_rank")
    assert not node.tokens


def test_each_has_its_own_vectors(context: SearchContext) -> None:
    """The same question asks neither again; a new member alone is asked."""
    one, two = ScriptedEmbedder(fingerprint=SMALL), other(fingerprint=LARGE)
    first = run(context, embeddings=one)
    count = len(one.calls)
    run(context, embeddings=one, ensemble=[two])
    assert (len(one.calls), len([c for c in two.calls if c[0] not in anchor_texts()])) == (count, 1)
    again = run(context, embeddings=one, ensemble=[two])
    assert (facts(again)["cost_usd"], facts(again)["cached"]) == (0.0, True)
    assert ranked(run(context, embeddings=one)) == ranked(first)


def test_the_ceiling_leaves_out_who_is_too_dear(context: SearchContext) -> None:
    """The first one in order is asked first; what was found is kept."""
    measure_scales(context)
    one, two = ScriptedEmbedder(fingerprint=SMALL), other(fingerprint=LARGE)
    alone = run(context, embeddings=ScriptedEmbedder(fingerprint=SMALL))
    context.settings = context.using().model_copy(update={"answer_cache_s": 0})
    limit = 3 * facts(alone)["cost_usd"]
    result = run(context, embeddings=one, ensemble=[two], max_cost_usd=limit)
    assert two.calls == []
    assert ranked(result) == ranked(alone)
    assert {"embedding_degraded", "cost_limit_reached"} <= set(result["flags"])
    first, second = facts(result)["embedders"]
    assert (first["counts"], second["counts"]) == (True, False)
    assert "ceiling" in second["error"]
    assert result["telemetry"]["cost_usd"] <= limit


def test_a_recorded_ensemble_is_replayed(context: SearchContext, tmp_path: Path) -> None:
    """Without a name, by its names, and without the ensemble."""
    path = tmp_path / "run.jsonl"
    ours = {"embeddings": ScriptedEmbedder(), "ensemble": [other()]}
    live = run(context, cassette=Cassette.record(path), **ours)
    elsewhere = context.model_copy(update={"settings": Settings(home=tmp_path / "elsewhere")})
    for choice in ({}, {"embeddings": "scripted:64", "ensemble": "scripted:96"}):
        cassette = Cassette.replay(path)
        played = run(elsewhere, provider=None, cassette=cassette, **choice)
        assert played["results"] == live["results"]
        assert [each["counts"] for each in facts(played)["embedders"]] == [True, True]
    alone = run(elsewhere, provider=None, cassette=Cassette.replay(path), ensemble="")
    assert facts(alone)["embedder"] == "scripted:64"


def test_a_recording_holds_the_check_of_a_model_that_was_not_used(
    context: SearchContext, tmp_path: Path
) -> None:
    """The machine that replays it may not know the scale, where the recording one did."""
    path, model = tmp_path / "run.jsonl", ScriptedEmbedder(tells=["english"])
    run(context, embeddings=model)
    live = run(context, GERMAN, cassette=Cassette.record(path), embeddings=model)
    elsewhere = context.model_copy(update={"settings": Settings(home=tmp_path / "elsewhere")})
    played = run(elsewhere, GERMAN, provider=None, cassette=Cassette.replay(path))
    assert "model_not_used" in played["flags"]
    assert (played["results"], played["flags"]) == (live["results"], live["flags"])


async def test_the_estimate_counts_all(settings: Settings) -> None:
    """Pages are compared by each, and stored with the vectors of the first."""
    context = SearchContext(
        settings=settings,
        provider=ScriptedAdapter(PAGES),
        embeddings=ScriptedEmbedder(fingerprint=SMALL),
        ensemble=[other(fingerprint=LARGE)],
    )
    given = GraphInput(question="How?", collection_scope="c", purpose="docs", auto_ingest=True)
    estimate = await estimate_run(given, context)
    told = [(part.task, part.name) for part in estimate.parts if part.kind == "embedding"]
    compared = [[("rank", name), ("anchors", name)] for name in (SMALL, LARGE)]
    assert told == [*compared[0], ("ingest", SMALL), *compared[1]]


# --- what may be named


@pytest.mark.parametrize(
    ("choices", "says"),
    [
        ({"embeddings": "local:a", "ensemble": "local:b local:c local:d"}, "at most 3"),
        ({"embeddings": "local:a", "ensemble": "local:b lexical"}, "no embedder"),
        ({"ensemble": "local:b"}, "names none"),
        ({"embeddings": "lexical", "ensemble": "local:b"}, "names none"),
        ({"embeddings": ScriptedEmbedder(), "ensemble": [object()]}, "needs a name"),
    ],
)
async def test_a_wrong_ensemble_is_refused(
    settings: Settings, choices: dict[str, Any], says: str
) -> None:
    """With what to do about it."""
    first = {"embeddings": ScriptedEmbedder()} if choices.get("embeddings") == "local:a" else {}
    with pytest.raises(ConfigError, match=says):
        await SearchContext(settings=settings, **(choices | first)).embedders()


async def test_a_run_s_choice_replaces_that_of_the_settings(settings: Settings) -> None:
    """An empty one is none, and a run by words alone has none either."""
    settings = settings.model_copy(update={"ensemble": "openai:mine"})
    assert await SearchContext(settings=settings, embeddings="lexical").embedders() == []
    one = SearchContext(settings=settings, embeddings=ScriptedEmbedder(), ensemble="")
    assert [each.fingerprint for each in await one.embedders()] == ["scripted:64"]
    with pytest.raises(ConfigError, match="needs a key"):
        await SearchContext(settings=settings, embeddings=ScriptedEmbedder()).embedders()


def test_a_remote_caller_names_configured_embedders_alone(settings: Settings) -> None:
    """As text or as a list; fewer of them too."""
    configured = {"embeddings": "openai:one", "ensemble": "openai:two openai:three"}
    settings = settings.model_copy(update=configured)
    for allowed in (None, "", "openai:two", "openai:three openai:one", ["openai:two"]):
        asked = SearchContext(settings=settings, ensemble=allowed)
        assert restrict_remote_caller(asked, None, settings)["tenant_id"]
    for refused in ("openai:four", "openai:two local:/etc", ["local:/etc/passwd"]):
        asked = SearchContext(settings=settings, ensemble=refused)
        with pytest.raises(ConfigError, match="is not configured on this server"):
            restrict_remote_caller(asked, None, settings)
