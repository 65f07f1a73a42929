"""Pools of a data set: found by full text and by a model, off topic, and what is embedded."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from support.labelled_data import JUDGEMENTS, write_dataset

from collection_search.adapters.stores.sqlite import SQLiteStore
from collection_search.contracts.collection import Embedded
from collection_search.errors import InputError, ModelError
from collection_search.ranking.scoring import PageText
from collection_search.testing import ScriptedEmbedder
from collection_search.tools.evaluation.beir import Dataset, Question, load_dataset
from collection_search.tools.evaluation.pools import (
    BATCH,
    MAX_EMBEDDED,
    EvalCorpus,
    build_pools,
    embed_corpus,
    index_corpus,
)

if TYPE_CHECKING:
    from collections.abc import Sequence


@pytest.fixture
def corpus(tmp_path: Path) -> EvalCorpus:
    """The small data set, indexed."""
    return searched(tmp_path)


def searched(folder: Path, **files: Any) -> EvalCorpus:
    dataset = load_dataset(write_dataset(folder / "small", **files))
    return index_corpus(dataset, SQLiteStore(folder / "pages.db").collections)


def test_the_search_reads_whole_texts_in_both_languages(corpus: EvalCorpus) -> None:
    """A page is found by words behind its snippet, and by other forms of a word."""
    assert corpus.by_words[0] == ["cancel", "late"]
    assert corpus.by_words[1][0] == "tea"
    assert corpus.by_words[2] == ["houses"]
    assert corpus.by_words[3] == []
    assert "timeout" not in corpus.pages["late"].snippet
    assert len(corpus.pages["late"].snippet) <= 240


def test_progress_counts_pages_and_questions(tmp_path: Path) -> None:
    """It ends with the whole."""
    dataset, calls = load_dataset(write_dataset(tmp_path / "small")), list[tuple[int, int]]()
    index_corpus(dataset, SQLiteStore(tmp_path / "x.db").collections, lambda *at: calls.append(at))
    assert calls == [(n, 9) for n in range(1, 10)]


def test_a_pool_knows_grades_places_and_what_was_missed(corpus: EvalCorpus) -> None:
    """Shuffled, each page with the place where the search had it."""
    own, _ = build_pools(corpus)
    first = dict(zip(own[0].places, zip(own[0].pages, own[0].grades, strict=True), strict=True))
    assert first == {0: (corpus.pages["cancel"], 2), 1: (corpus.pages["late"], 1)}
    assert own[0].missed == []
    assert (own[3].pages, own[3].missed, own[3].is_answerable) == ([], [1], False)


def test_off_topic_pools_hold_nothing_relevant(corpus: EvalCorpus) -> None:
    """Every question meets the pools of three others, as often as there are, less its pages."""
    own, off_topic = build_pools(corpus)
    assert [pool.question for pool in off_topic] == [pool.question for pool in own] * 3
    relevant = {each.text: {corpus.pages[i] for i in each.grades} for each in questions(corpus)}
    assert all(relevant[pool.question].isdisjoint(pool.pages) for pool in off_topic)
    assert not any(pool.is_answerable for pool in off_topic)
    assert any(pool.pages for pool in off_topic)


def test_a_single_question_has_no_off_topic_pool(tmp_path: Path) -> None:
    """There is no other question whose pool it could meet."""
    own, off_topic = build_pools(searched(tmp_path, judgements=JUDGEMENTS[:1]))
    assert (len(own), off_topic) == (1, [])


async def test_a_model_adds_its_nearest_pages_in_turn(corpus: EvalCorpus) -> None:
    """Of each the best first, none twice; similarities belong to the pool's pages."""
    embedder = ScriptedEmbedder(synonyms={"chess": "soup", "rules": "potatoes"})
    space = await embed_corpus(corpus, embedder)
    own, off_topic = build_pools(corpus, space)
    found = dict(zip(own[3].places, own[3].pages, strict=True))
    assert found[0] == corpus.pages["soup"]
    assert len(found) == 5
    assert own[3].is_answerable
    assert own[3].similarities == pytest.approx(
        [space.cosines(3, [each])[0] for each in ids(corpus, own[3].pages)]
    )
    first = dict(zip(own[0].places, ids(corpus, own[0].pages), strict=True))
    others = [each for each in space.nearest(0) if each not in {"cancel", "late"}]
    assert [first[place] for place in range(5)] == ["cancel", "late", *others]
    assert all(len(pool.similarities) == len(pool.pages) for pool in off_topic)


async def test_every_text_is_embedded_once_as_the_ranking_would(tmp_path: Path) -> None:
    """Questions, then title and snippet of each page, in groups; tokens are added up."""
    rows = [{"_id": str(n), "title": f"T{n}", "text": f"Text {n}"} for n in range(BATCH)]
    corpus = searched(tmp_path, pages=rows, judgements=[("q1", "0", "1"), ("q2", "1", "1")])
    embedder, calls = ScriptedEmbedder(), list[tuple[int, int]]()
    space = await embed_corpus(corpus, embedder, lambda *at: calls.append(at))
    assert [len(call) for call in embedder.calls] == [BATCH, 2]
    assert embedder.calls[0][:3] == [*(each.text for each in questions(corpus)), "T0\nText 0"]
    assert calls == [(BATCH, BATCH + 2), (BATCH + 2, BATCH + 2)]
    assert space.questions.shape == (2, 64)
    assert space.pages.shape == (BATCH, 64)
    assert space.input_tokens == sum(len(text.split()) for text in corpus.texts)


async def test_tokens_that_are_not_told_are_not_guessed(corpus: EvalCorpus) -> None:
    """One call without a count makes the sum unknown."""

    class Silent(ScriptedEmbedder):
        async def embed(self, texts: Sequence[str]) -> Embedded:
            return Embedded((await super().embed(texts)).vectors)

    assert (await embed_corpus(corpus, Silent())).input_tokens is None


async def test_a_vector_too_few_is_refused(corpus: EvalCorpus) -> None:
    """Otherwise every later page would have another page's vector."""

    class Short(ScriptedEmbedder):
        async def embed(self, texts: Sequence[str]) -> Embedded:
            return Embedded((await super().embed(texts)).vectors[1:])

    with pytest.raises(ModelError, match="8 vectors for 9 texts"):
        await embed_corpus(corpus, Short())


def test_of_a_large_corpus_a_part_is_embedded() -> None:
    """What words found and what is relevant, filled up by chance to the limit."""
    pages = {str(n): PageText("", "", "") for n in range(MAX_EMBEDDED + 500)}
    question = Question("q", "?", {"10200": 1, "not there": 1})
    corpus = EvalCorpus(Dataset(Path(), "test", [question], 1), pages, [["10300", "10400"]])
    chosen = corpus.to_embed
    assert len(chosen) == MAX_EMBEDDED == len(set(chosen))
    assert {"10200", "10300", "10400"} <= set(chosen)
    assert chosen == sorted(chosen, key=int)
    assert len({int(each) for each in chosen} & set(range(MAX_EMBEDDED, MAX_EMBEDDED + 500))) > 300


def test_relevant_pages_that_the_corpus_lacks_are_counted(tmp_path: Path) -> None:
    """They count as missed."""
    corpus = searched(tmp_path, judgements=[*JUDGEMENTS, ("q2", "elsewhere", "1")])
    assert corpus.unknown == 1
    assert build_pools(corpus)[0][1].missed == [1]


def test_files_that_do_not_belong_together_are_refused(tmp_path: Path) -> None:
    """When the corpus holds none of the relevant pages, every figure would be 0."""
    with pytest.raises(InputError, match=r"corpus\.jsonl holds none of the pages"):
        searched(tmp_path, judgements=[("q1", "elsewhere", "1")])


def test_the_same_files_give_the_same_pools(tmp_path: Path) -> None:
    """Nothing depends on the run."""
    one, other = searched(tmp_path / "one"), searched(tmp_path / "other")
    assert build_pools(one) == build_pools(other)


def questions(corpus: EvalCorpus) -> list[Question]:
    return corpus.dataset.questions


def ids(corpus: EvalCorpus, pages: Sequence[PageText]) -> list[str]:
    by_page = {page: key for key, page in corpus.pages.items()}
    assert len(by_page) == len(corpus.pages)
    return [by_page[page] for page in pages]


def test_nearest_pages_are_ordered() -> None:
    """By cosine, best first."""
    from collection_search.tools.evaluation.pools import Space

    vectors = np.array([[1, 0], [0, 1], [0.6, 0.8]], dtype=np.float32)
    space = Space(np.array([[0, 1]], dtype=np.float32), vectors, {"a": 0, "b": 1, "c": 2})
    assert space.nearest(0) == ["b", "c", "a"]
    assert space.cosines(0, ["c", "a"]) == pytest.approx([0.8, 0])
    assert space.cosines(0, []) == []
