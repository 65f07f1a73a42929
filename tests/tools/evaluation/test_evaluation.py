"""An evaluation as a whole: who is compared, and which figures come out."""

from __future__ import annotations

import json
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

import pytest
from support.labelled_data import JUDGEMENTS, write_dataset

from collection_search.adapters.stores.sqlite import SQLiteStore
from collection_search.contracts.price_list import LIST_PRICES
from collection_search.ranking.calibration import scale_of
from collection_search.ranking.metrics import Interval
from collection_search.ranking.scoring import DENSE, LEXICAL
from collection_search.testing import ScriptedEmbedder
from collection_search.tools.evaluation.beir import load_dataset
from collection_search.tools.evaluation.evaluation import Model, evaluate_ranking, measure_embedder
from collection_search.tools.evaluation.pools import EvalCorpus, embed_corpus, index_corpus

if TYPE_CHECKING:
    from pathlib import Path

    from collection_search.tools.evaluation.findings import Evaluation, Figures
    from collection_search.tools.evaluation.selection_findings import SelectionFindings


def searched(folder: Path, **files: Any) -> EvalCorpus:
    dataset = load_dataset(write_dataset(folder / "small", **files))
    return index_corpus(dataset, SQLiteStore(folder / "pages.db").collections)


def gate_of(figures: Figures) -> SelectionFindings:
    assert figures.gate is not None
    return figures.gate


def by_name(found: Evaluation) -> dict[str, Figures]:
    return {each.method: each for each in found.methods}


@pytest.mark.slow
def test_without_a_model_words_are_compared(tmp_path: Path) -> None:
    """Both profiles against BM25 and the search's own order."""
    found = evaluate_ranking(searched(tmp_path))
    assert list(by_name(found)) == ["lexical, default", "lexical, literal", "BM25", "search order"]
    assert [(each.method, each.rival) for each in found.differences] == [
        ("lexical, default", "lexical, literal"),
        ("lexical, default", "BM25"),
        ("lexical, default", "search order"),
    ]
    assert (found.model, found.cost_usd, found.embedded_pages) == (None, 0.0, 0)


@pytest.mark.slow
def test_the_facts_of_the_data_set(tmp_path: Path) -> None:
    """Three of four questions find a relevant page; one page of five is missed, one unknown."""
    found = evaluate_ranking(searched(tmp_path, judgements=[*JUDGEMENTS, ("q1", "elsewhere", "1")]))
    assert (found.dataset, found.split, found.pages) == ("small", "test", 5)
    assert (found.questions, found.questions_in_split, found.answerable) == (4, 4, 3)
    assert (found.relevant_pages, found.relevant_pages_found) == (6, 4)
    assert found.relevant_pages_unknown == 1
    assert found.off_topic_pools == 12


@pytest.mark.slow
def test_figures_count_what_the_search_did_not_find(tmp_path: Path) -> None:
    """A question without a relevant page in its pool is a failure of all, but not in the pool."""
    order = by_name(evaluate_ranking(searched(tmp_path)))["search order"]
    assert order.recall_at_20.mean == order.precision_at_1.mean == order.mrr_at_10.mean == 0.75
    assert order.ndcg_at_10.mean == 0.75
    assert order.ndcg_at_10_in_pool == Interval(1, 1, 1)


@pytest.mark.slow
def test_thresholds_are_read_from_scores_of_0_to_100_only(tmp_path: Path) -> None:
    """BM25 and the search's order have no such scale."""
    found = by_name(evaluate_ranking(searched(tmp_path)))
    assert gate_of(found["lexical, default"]).off_topic_let_through == Interval(0, 0, 0)
    assert gate_of(found["lexical, literal"]).served is not None
    for name in ("BM25", "search order"):
        assert found[name].gate is None


@pytest.mark.slow
async def test_a_model_joins_with_its_calibration(tmp_path: Path) -> None:
    """Its rankings are compared with those by words; what it cost is kept."""
    corpus = searched(tmp_path)
    embedder = ScriptedEmbedder()
    space = await embed_corpus(corpus, embedder)
    model = Model(embedder.fingerprint, space, DENSE, space.input_tokens, cost_usd=0.5)
    found = evaluate_ranking(corpus, model)
    assert list(by_name(found))[:3] == ["dense, default", "dense, literal", "dense, cosine"]
    assert ("dense, default", "lexical, default") in {
        (each.method, each.rival) for each in found.differences
    }
    assert found.answerable == 4  # with five pages the nearest ones are all of them
    assert (found.model, found.cost_usd) == ("scripted:64", 0.5)
    assert (found.embedded_texts, found.embedded_pages) == (9, 5)
    assert (found.input_tokens, found.calibration) == (space.input_tokens, DENSE)
    assert by_name(found)["dense, cosine"].gate is None


async def test_a_model_is_measured_as_a_run_would(tmp_path: Path) -> None:
    """Its scale comes from the anchors and is kept; its price from the list."""
    corpus = searched(tmp_path)
    embedder = ScriptedEmbedder(fingerprint="openai:text-embedding-3-small@64")
    model = await measure_embedder(corpus, embedder, folder=tmp_path)
    assert model.calibration == (await scale_of(embedder, folder=tmp_path)).dense
    assert (model.calibration.scale, model.problem) == ("dense", None)
    assert model.cost_usd == LIST_PRICES.embedding_cost(
        embedder.fingerprint, model.space.input_tokens
    )
    assert model.cost_usd


async def test_a_model_without_a_scale_is_told(tmp_path: Path) -> None:
    """Where every text lies in one place, words are compared, as in a run."""
    embedder = ScriptedEmbedder(dimension=1)
    model = await measure_embedder(searched(tmp_path), embedder, folder=tmp_path)
    assert model.calibration == LEXICAL
    assert "tells related from unrelated" in str(model.problem)


@pytest.mark.slow
def test_a_difference_is_that_of_the_means(tmp_path: Path) -> None:
    """Question by question, so that its mean is the difference of the means."""
    found = evaluate_ranking(searched(tmp_path))
    figures = by_name(found)
    for each in found.differences:
        apart = figures[each.method].ndcg_at_10.mean - figures[each.rival].ndcg_at_10.mean
        assert each.ndcg_at_10.mean == pytest.approx(apart)


@pytest.mark.slow
def test_progress_counts_every_rank(tmp_path: Path) -> None:
    """Four methods over four pools, two of them over twelve off-topic ones."""
    calls: list[tuple[int, int]] = []
    evaluate_ranking(searched(tmp_path), None, lambda *at: calls.append(at))
    assert calls == [(n, 40) for n in range(1, 41)]


@pytest.mark.slow
def test_a_single_question_that_finds_nothing(tmp_path: Path) -> None:
    """No answerable question and no off-topic pool: those figures are missing, not wrong."""
    found = evaluate_ranking(searched(tmp_path, judgements=[("q4", "soup", "1")]))
    default = by_name(found)["lexical, default"]
    assert default.ndcg_at_10 == Interval(0, 0, 0)
    gate = gate_of(default)
    assert (default.ndcg_at_10_in_pool, gate.served, gate.off_topic_let_through) == (None,) * 3
    assert (gate.recall, gate.empty_pools) == (None, 1)


@pytest.mark.slow
def test_the_figures_are_plain_and_repeat(tmp_path: Path) -> None:
    """As JSON they are the same each time, but for the times."""
    one, other = (asdict(evaluate_ranking(searched(tmp_path / n))) for n in ("one", "other"))
    for each in (one, other):
        for figures in each["methods"]:
            assert 0 <= figures.pop("ms_median") <= figures.pop("ms_95")
    assert json.dumps(one) == json.dumps(other)
