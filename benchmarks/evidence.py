"""Measure what counts as evidence: is a query answered with its pages, and unanswered without them?

`python benchmarks/evidence.py [--dataset FOLDER] [--embeddings local:FOLDER] [--limit 300]` asks a
collection every query of a data set in BEIR layout, by default of `evidence_set`, once with all
pages and once without those that answer it, while pages on the same subject stay. It prints both
shares, the same with one collection per subject (host and first part of the path), and by `--wrong`
the queries that went wrong. The exit code is 1 when a share is below 80 %.
"""

from __future__ import annotations

import argparse
import asyncio
import hashlib
import sys
import tempfile
from collections import defaultdict
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Final
from urllib.parse import urlsplit

from collection_search import Settings, aretrieve
from collection_search.adapters.stores.sqlite import SQLiteStore
from collection_search.context import SearchContext
from collection_search.contracts.collection import Chunk, Document, StoredDocument, TenantScope
from collection_search.contracts.embedded_text import chunk_texts
from collection_search.ranking.evidence import answering
from collection_search.text.clean import chunk_spans
from collection_search.tools.evaluation.beir import load_dataset
from collection_search.tools.ingestion.embedders import bind_to

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from collection_search.tools.evaluation.beir import Dataset, Entry, Question

OWN: Final = Path(__file__).with_name("evidence_set")
GOAL: Final = 0.8
TENANT: Final = "benchmark"


@dataclass
class Answers:
    """How the queries fared."""

    answered: list[bool] = field(default_factory=list)
    """With their pages: a page that answers is among the evidence."""
    unanswered: list[bool] = field(default_factory=list)
    """Without them: there is no evidence."""
    wrong: list[str] = field(default_factory=list)

    @classmethod
    def joined(cls, every: Iterable[Answers]) -> Answers:
        """Return several as one."""
        whole = cls()
        for each in every:
            whole.answered += each.answered
            whole.unanswered += each.unanswered
            whole.wrong += each.wrong
        return whole

    @property
    def shares(self) -> tuple[float, float]:
        """Return the shares of both, 0-1."""
        return sum(self.answered) / len(self.answered), sum(self.unanswered) / len(self.unanswered)


async def fill(context: SearchContext, collection: str, entries: Sequence[Entry]) -> None:
    """Store the pages in the collection, cut into chunks and embedded as by ingestion."""
    settings, store = context.using(), await context.storage()
    scope = TenantScope(TENANT, collection)
    embedder = await context.embedder()
    if embedder is not None:
        bind_to(store.collections, scope, embedder)
    remembered = store.collections.embedder(scope) or ""
    for entry in entries:
        spans = chunk_spans(
            entry.text, size=settings.chunk_chars, overlap=settings.chunk_overlap_chars
        )
        chunks = [
            Chunk(n, entry.text[start:end], start, end) for n, (start, end) in enumerate(spans)
        ]
        if embedder is not None:
            texts = chunk_texts(remembered, ((entry.title, chunk.text) for chunk in chunks))
            vectors = (await embedder.embed(texts)).vectors
            pairs = zip(chunks, vectors, strict=True)
            chunks = [replace(chunk, vector=vector) for chunk, vector in pairs]
        digest = hashlib.sha256(entry.text.encode()).hexdigest()
        url = entry.url or f"https://pages.example/{entry.id}"
        page = Document(url, entry.id, entry.title, digest)
        store.collections.replace_document(scope, page, chunks)


async def ask(context: SearchContext, collection: str, questions: Sequence[Question]) -> Answers:
    """Return how the questions fare in a collection that is filled."""
    store, scope = await context.storage(), TenantScope(TENANT, collection)
    answers = Answers()
    for question in questions:
        pages: list[StoredDocument] = store.collections.get(scope, list(question.grades))
        urls = {page.document.url for page in pages}
        found = await aretrieve(question.text, collection=collection, context=context)
        answers.answered.append(any(one.url in urls for one in answering(found)))
        for page in pages:
            store.collections.delete_document(scope, page.document.url_key)
        left = await aretrieve(question.text, collection=collection, context=context)
        answers.unanswered.append(not answering(left))
        for page in pages:
            store.collections.replace_document(scope, page.document, page.chunks)
        for name, shown, is_right in (
            ("unanswered", found, answers.answered[-1]),
            ("answered", left, answers.unanswered[-1]),
        ):
            if not is_right:
                best = max(shown, key=lambda one: one.evidence or 0, default=None)
                told = "nothing" if best is None else f"{best.evidence:.0f} {best.title}"
                answers.wrong.append(f"{name}: {question.text} [{told}]")
    return answers


async def measure(dataset: Dataset, context: SearchContext) -> tuple[Answers, dict[str, Answers]]:
    """Return the answers of one collection of all pages, and of one collection per subject."""
    pages = list(dataset.entries())
    await fill(context, "all", pages)
    whole = await ask(context, "all", dataset.questions)
    by_subject: dict[str, list[Entry]] = defaultdict(list)
    for page in pages:
        by_subject[subject_of(page)].append(page)
    parts = {}
    for subject, own in by_subject.items() if len(by_subject) > 1 else ():
        await fill(context, subject, own)
        ids = {page.id for page in own}
        asked = [one for one in dataset.questions if ids.issuperset(one.grades)]
        parts[subject] = await ask(context, subject, asked)
    return whole, parts


def subject_of(entry: Entry) -> str:
    """Return the host and the first part of the path of the page's address."""
    address = urlsplit(entry.url)
    return f"{address.hostname}/{address.path.strip('/').partition('/')[0]}"


async def run(given: argparse.Namespace) -> int:
    """Measure, print and return the exit code."""
    dataset = load_dataset(given.dataset, limit=given.limit)
    met = True
    with tempfile.TemporaryDirectory() as home:
        settings = Settings(home=Path(home))
        store = SQLiteStore.from_settings(settings)
        context = SearchContext(
            settings=settings, store=store, tenant_id=TENANT, embeddings=given.embeddings
        )
        whole, parts = await measure(dataset, context)
        store.close()
    print(f"{dataset.name}, {len(dataset.questions)} queries, {given.embeddings}")
    by_subject = Answers.joined(parts.values())
    for name, answers in (("all pages in one collection", whole), ("one per subject", by_subject)):
        if answers.answered:
            answered, unanswered = answers.shares
            met = met and min(answered, unanswered) >= GOAL
            print(f"{name}: answered {answered:.1%}, unanswered without {unanswered:.1%}")
        if given.wrong:
            print(*(f"  {each}" for each in answers.wrong), sep="\n")
    return int(not met)


def main() -> int:
    """Read the command line and run."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--dataset", type=Path, default=OWN)
    parser.add_argument("--embeddings", default="lexical")
    parser.add_argument("--limit", type=int, default=300)
    parser.add_argument("--wrong", action="store_true")
    return asyncio.run(run(parser.parse_args()))


if __name__ == "__main__":
    sys.exit(main())
