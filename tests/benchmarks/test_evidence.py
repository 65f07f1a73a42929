"""What counts as evidence holds on the set that was fixed before it was fitted."""

from __future__ import annotations

from typing import TYPE_CHECKING

from support.benchmark_modules import benchmark

from collection_search import Settings
from collection_search.adapters.stores.sqlite import SQLiteStore
from collection_search.context import SearchContext
from collection_search.tools.evaluation.beir import load_dataset

if TYPE_CHECKING:
    from pathlib import Path

evidence = benchmark("evidence")
CASES = 48


async def test_words_alone_answer_with_the_pages_and_not_without_them(tmp_path: Path) -> None:
    """At least 80 % of the queries each, in both languages, also within one subject."""
    dataset = load_dataset(evidence.OWN, limit=1000)
    assert len({question.id.partition("-")[0] for question in dataset.questions}) >= CASES
    settings = Settings(home=tmp_path)
    store = SQLiteStore.from_settings(settings)
    context = SearchContext(
        settings=settings, store=store, tenant_id=evidence.TENANT, embeddings="lexical"
    )
    whole, by_subject = await evidence.measure(dataset, context)
    store.close()
    assert len(whole.answered) == len(dataset.questions)
    for language in ("/en", "/de"):
        own = [answers for subject, answers in by_subject.items() if subject.endswith(language)]
        answers = evidence.Answers.joined(own)
        assert min(answers.shares) >= evidence.GOAL, answers.wrong
    assert min(whole.shares) >= evidence.GOAL, whole.wrong
