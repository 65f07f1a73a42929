"""What people ask is found without a model, in every language of the parallel set."""

from __future__ import annotations

from statistics import fmean
from typing import TYPE_CHECKING

import pytest
from support.benchmark_modules import benchmark

from collection_search import Settings
from collection_search.context import SearchContext
from collection_search.tools.evaluation.beir import load_dataset

if TYPE_CHECKING:
    from pathlib import Path

    from collection_search.adapters.stores.sqlite import SQLiteStore

bench = benchmark("recall")
LANGUAGES = ("ar", "de", "en", "hi", "ja", "ko", "ru", "th", "zh")
PAGES = 60
QUESTIONS = 30


def test_every_language_has_the_same_pages_and_questions() -> None:
    """At least as many as were promised; a question is no part of a text."""
    folders = [each for each in bench.OWN.iterdir() if each.is_dir()]
    assert sorted(each.name for each in folders) == list(LANGUAGES)
    first = load_dataset(bench.OWN / "en")
    ids = [entry.id for entry in first.entries()]
    assert len(ids) >= PAGES
    assert len(first.questions) >= QUESTIONS
    for folder in folders:
        dataset = load_dataset(folder)
        assert [entry.id for entry in dataset.entries()] == ids
        assert [(one.id, one.grades) for one in dataset.questions] == [
            (one.id, one.grades) for one in first.questions
        ]
        whole = "\n".join(f"{entry.title}\n{entry.text}" for entry in dataset.entries())
        assert not [one.text for one in dataset.questions if one.text[:-1] in whole]


@pytest.mark.parametrize("language", LANGUAGES)
async def test_the_pages_that_answer_are_among_the_first_five(
    language: str, store: SQLiteStore, tmp_path: Path
) -> None:
    """For nearly all questions, in a real collection, by words alone."""
    dataset = load_dataset(bench.OWN / language)
    context = SearchContext(
        settings=Settings(home=tmp_path),
        store=store,
        tenant_id=bench.TENANT,
        embeddings="lexical",
    )
    await bench.ingest_pages(context, dataset)
    found = await bench.measure(dataset, context, many=None)
    assert len(found.recall_at_5) == len(dataset.questions)
    assert fmean(found.recall_at_5) >= bench.GOAL, found.wrong
