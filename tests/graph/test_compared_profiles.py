"""The setting `compare_profile`: a second ranking of the same results, which decides nothing."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from support.scripted_world import INPUT, QUESTION, fair_pages, good_pages, poor_pages

from collection_search import CollectionSearchGraph
from collection_search.cassette import Cassette
from collection_search.cassette.recorded_pools import read_pools, read_vectors
from collection_search.errors import StoreError
from collection_search.testing import ScriptedAdapter, ScriptedEmbedder

if TYPE_CHECKING:
    from pathlib import Path

    import pytest

    from collection_search import SearchContext
    from collection_search.adapters.stores.sqlite import SQLiteStore

PAGES = [*good_pages(2), *fair_pages(), *poor_pages(2)]


def run(context: SearchContext, profile: str | None, **choices: Any) -> Any:
    settings = context.using().model_copy(update={"compare_profile": profile})
    given = {"provider": ScriptedAdapter(PAGES), "settings": settings, **choices}
    _, result = CollectionSearchGraph(context.model_copy(update=given)).run(INPUT)
    return result


def rank_facts(result: Any) -> dict[str, Any]:
    return result["telemetry"]["nodes"]["k_embedding_rank"]  # type: ignore[no-any-return]


def test_the_second_profile_changes_no_result(context: SearchContext, store: SQLiteStore) -> None:
    """No call is made for it; both ranks of each page are stored with who decided."""
    alone, beside = ScriptedEmbedder(), ScriptedEmbedder()
    before = run(context, None, embeddings=alone, store=store)
    assert store.comparisons.comparisons("local") == []
    after = run(context, "words", embeddings=beside, store=store, asks_anew=True)
    assert after["results"] == before["results"]
    assert len(beside.calls) <= len(alone.calls)
    assert rank_facts(after)["compared_profile"] == "words"
    assert 0 <= rank_facts(after)["top10_overlap"] <= 1
    (stored,) = store.comparisons.comparisons("local")
    assert (stored.decided_by, stored.compared, stored.question) == ("default", "words", QUESTION)
    assert stored.model == "scripted:64"
    urls = [page["url"] for page in stored.pages if page["decided_rank"] is not None]
    assert urls == [each["url"] for each in after["results"]]
    scores = [page["decided_score"] for page in stored.pages]
    assert scores == [each["embedding_rank_score"] for each in after["results"]]
    by_words = run(context, None)["results"]
    compared = sorted(stored.pages, key=lambda page: page["compared_rank"])
    assert [(page["url"], page["compared_score"]) for page in compared] == [
        (each["url"], each["embedding_rank_score"]) for each in by_words
    ]


def test_a_profile_is_not_compared_with_itself(context: SearchContext, store: SQLiteStore) -> None:
    """Nothing is stored, and the telemetry has no word of it."""
    assert "compared_profile" not in rank_facts(run(context, "default", store=store))
    literal = run(context, "literal", store=store, ranking_profile="literal")
    assert "compared_profile" not in rank_facts(literal)
    assert store.comparisons.comparisons("local") == []


def test_an_unknown_scale_is_not_measured_for_a_comparison(
    context: SearchContext, store: SQLiteStore
) -> None:
    """Anchors would be a paid call; once the default profile has measured them, they are used."""
    embedder = ScriptedEmbedder(fingerprint="unmeasured:64")
    options = {"embeddings": embedder, "store": store, "asks_anew": True}
    literal = run(context, "default", ranking_profile="literal", **options)
    assert "compared_profile" not in rank_facts(literal)
    assert len(embedder.calls) == 1
    run(context, None, **options)
    calls = len(embedder.calls)
    again = run(context, "default", ranking_profile="literal", **options)
    assert rank_facts(again)["compared_profile"] == "default"
    assert len(embedder.calls) == calls + 1


def test_a_store_that_fails_does_not_end_the_run(
    context: SearchContext, store: SQLiteStore, caplog: pytest.LogCaptureFixture
) -> None:
    """The figures are in the telemetry all the same."""

    class Full:
        def add(self, comparison: object) -> None:
            raise StoreError(f"No space for {type(comparison).__name__}.")

    vars(store)["comparisons"] = Full()
    result = run(context, "literal", store=store)
    assert result["outcome"] == "search_completed"
    assert rank_facts(result)["compared_profile"] == "literal"
    assert "the comparison is not stored" in caplog.text


def test_a_replay_compares_and_stores_nothing(
    context: SearchContext, store: SQLiteStore, tmp_path: Path
) -> None:
    """A recording keeps the pages that were ranked, and the vectors of all their texts."""
    path = tmp_path / "run.jsonl"
    recorded = run(
        context, None, store=store, embeddings=ScriptedEmbedder(), cassette=Cassette.record(path)
    )
    (pool,) = read_pools(path)
    assert pool.question == QUESTION
    assert {page.url for page in pool.pages} == {each["url"] for each in recorded["results"]}
    vectors = read_vectors(path)
    assert vectors is not None
    assert vectors.fingerprint == "scripted:64"
    assert vectors.has_all([QUESTION, *(f"{page.title}\n{page.snippet}" for page in pool.pages)])
    replayed = run(
        context,
        "words",
        store=store,
        provider=None,
        cassette=Cassette.replay(path),
    )
    assert rank_facts(replayed)["compared_profile"] == "words"
    assert store.comparisons.comparisons("local") == []
    assert len(read_pools(path)) == 1
