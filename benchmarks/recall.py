"""Measure whether `retrieve` finds the pages that answer a question.

`python benchmarks/recall.py [FOLDER ...] [--embeddings local:FOLDER] [--limit 300] [--wrong]`
stages the pages of each data set in BEIR layout, ingests them with the engine, and asks the
collection every question with default settings. Without a FOLDER these are the data sets of
`parallel_set`, one per language. It prints the share of the relevant pages among the first 5 pages
of `retrieve`, and of `retrieve` with `k=20` the share among the first 20 and nDCG@10. Beside it
stand nDCG@10 of full-text search (BM25) and of the model's cosines, each alone. `--wrong` prints
the questions whose pages are not among the first 5. The exit code is 1 when a language of
`parallel_set` is below the goal by words.
"""

from __future__ import annotations

import argparse
import asyncio
import sys
import tempfile
from dataclasses import dataclass, field
from pathlib import Path
from statistics import fmean
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from collection_search import Settings, aretrieve
from collection_search.adapters.stores.sqlite import SQLiteStore
from collection_search.context import SearchContext
from collection_search.contracts.collection import TenantScope
from collection_search.contracts.ingestion import IngestionItem, IngestionRequest
from collection_search.ranking.metrics import ndcg, recall
from collection_search.tools.evaluation.beir import load_dataset
from collection_search.tools.tickets import await_ticket

if TYPE_CHECKING:
    from collections.abc import Sequence

    from collection_search.contracts.collection import Passage
    from collection_search.tools.evaluation.beir import Dataset, Question

OWN: Final = Path(__file__).with_name("parallel_set")
GOAL: Final = 0.85
"""Least recall@5 by words in every language of `parallel_set`."""
FEW: Final = 5
MANY: Final = 20
TENANT: Final = "benchmark"
BATCH: Final = 500
"""Pages of one ingestion."""


@dataclass
class Found:
    """The figures of each question of a data set."""

    recall_at_5: list[float] = field(default_factory=list)
    recall_at_20: list[float] = field(default_factory=list)
    ndcg_at_10: list[float] = field(default_factory=list)
    wrong: list[str] = field(default_factory=list)

    def add_few(self, question: Question, ids: Sequence[str]) -> None:
        """Add a question with the ids of the first pages that were found, best first."""
        self.recall_at_5.append(_figure(recall, question, ids, depth=FEW))
        if self.recall_at_5[-1] < 1:
            self.wrong.append(f"{question.text} {[*question.grades]} not in {[*ids]}")

    def add_many(self, question: Question, ids: Sequence[str]) -> None:
        """Add what was found when more pages were asked for."""
        self.recall_at_20.append(_figure(recall, question, ids, depth=MANY))
        self.ndcg_at_10.append(_figure(ndcg, question, ids, depth=10))

    def means(self) -> tuple[float, float, float]:
        """Return the means of the three figures."""
        return fmean(self.recall_at_5), fmean(self.recall_at_20), fmean(self.ndcg_at_10)


def _figure(of: Any, question: Question, ids: Sequence[str], *, depth: int) -> float:
    missed = [grade for page, grade in question.grades.items() if page not in ids]
    grades = [question.grades.get(page, 0) for page in ids]
    return float(of(-np.arange(len(ids), dtype=float), grades, depth=depth, missed=missed))


async def ingest_pages(context: SearchContext, dataset: Dataset) -> None:
    """Ingest the pages of the data set into a collection of its name, as a run does."""
    store, scope = await context.storage(), TenantScope(TENANT, dataset.name)
    trigger, entries = await context.ledger_trigger(), list(dataset.entries())
    for start in range(0, len(entries), BATCH):
        part = entries[start : start + BATCH]
        refs = store.staging.put(TENANT, [one.text for one in part])
        items = [
            IngestionItem(f"https://pages.example/{one.id}", one.id, one.title, ref)
            for one, ref in zip(part, refs, strict=True)
        ]
        ticket = await trigger.trigger(IngestionRequest(scope, items))
        status = await await_ticket(ticket, context=context)
        assert status.stored == len(items), status


async def measure(dataset: Dataset, context: SearchContext, *, many: int | None = MANY) -> Found:
    """Return how the questions fare in a collection that has the pages; `many` may be left out."""
    found = Found()
    for question in dataset.questions:
        few = await aretrieve(question.text, collection=dataset.name, context=context)
        found.add_few(question, _ids(few)[:FEW])
        if many is not None:
            more = await aretrieve(question.text, collection=dataset.name, k=many, context=context)
            found.add_many(question, _ids(more))
    return found


async def measure_alone(dataset: Dataset, context: SearchContext) -> tuple[float, float | None]:
    """Return nDCG@10 of full-text search and of the cosines; None for these without a model."""
    store, scope = await context.storage(), TenantScope(TENANT, dataset.name)
    embedder, by_words, by_cosine = await context.embedder(), Found(), Found()
    pages = store.collections.get(scope, [one.id for one in dataset.entries()])
    rows = [(page.document.url_key, chunk.vector) for page in pages for chunk in page.chunks]
    keys = np.array([key for key, vector in rows if vector is not None])
    vectors = np.array([vector for _, vector in rows if vector is not None])
    for question in dataset.questions:
        found = store.collections.search(scope, question.text, limit=5 * MANY)
        ids = list(dict.fromkeys(one.document.url_key for one in found))
        by_words.add_many(question, ids[:MANY])
        if embedder is not None:
            asked = (await embedder.embed([question.text])).vectors[0]
            best = keys[np.argsort(-(vectors @ asked))][: 5 * MANY]
            by_cosine.add_many(question, list(dict.fromkeys(best.tolist()))[:MANY])
    cosine = fmean(by_cosine.ndcg_at_10) if by_cosine.ndcg_at_10 else None
    return fmean(by_words.ndcg_at_10), cosine


def _ids(passages: Sequence[Passage]) -> list[str]:
    return list(dict.fromkeys(one.url.rpartition("/")[2] for one in passages))


async def run(given: argparse.Namespace, embedder: Any = None) -> int:
    """Measure, print and return the exit code; `embedder` stands for the one that is named."""
    folders = given.folders or sorted(each for each in OWN.iterdir() if each.is_dir())
    met = True
    head = "data set", "questions", "recall@5", "recall@20", "nDCG@10", "BM25", "cosine"
    print(f"| {' | '.join(head)} |\n|{'---|' * len(head)}")
    for folder in folders:
        dataset = load_dataset(folder, limit=given.limit)
        with tempfile.TemporaryDirectory() as home:
            settings = Settings(home=Path(home))
            store = SQLiteStore.from_settings(settings)
            context = SearchContext(
                settings=settings,
                store=store,
                tenant_id=TENANT,
                embeddings=embedder or given.embeddings,
            )
            await ingest_pages(context, dataset)
            found = await measure(dataset, context)
            alone = await measure_alone(dataset, context)
            store.close()
        figures = found.means()
        told = " | ".join("-" if one is None else f"{one:.3f}" for one in (*figures, *alone))
        print(f"| {dataset.name} | {len(dataset.questions)} | {told} |", flush=True)
        if given.wrong:
            print(*(f"  {each}" for each in found.wrong), sep="\n")
        met = met and (figures[0] >= GOAL or folder.parent != OWN or given.embeddings != "lexical")
    return int(not met)


def parse(arguments: Sequence[str] | None = None) -> argparse.Namespace:
    """Return the options of the command line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folders", type=Path, nargs="*")
    parser.add_argument("--embeddings", default="lexical")
    parser.add_argument("--limit", type=int, default=300)
    parser.add_argument("--wrong", action="store_true")
    return parser.parse_args(arguments)


if __name__ == "__main__":
    sys.exit(asyncio.run(run(parse())))
