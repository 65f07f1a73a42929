"""Pools of a labelled data set: the pages that a search over its corpus finds per question."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from itertools import chain, islice, zip_longest
from typing import TYPE_CHECKING, Final

import numpy as np

from ...contracts.collection import Chunk, Document, TenantScope
from ...contracts.embedded_text import titled_text
from ...errors import InputError, ModelError
from ...ranking.heuristics import PageText
from ...ranking.metrics import PAIRINGS, Pool, derangement
from ...text.clean import excerpt
from ..search.normalize import MAX_SNIPPET_CHARS

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence
    from typing import TypeAlias

    from ...contracts.collection import Vectors
    from ...ports import CollectionStore, Embedder
    from .beir import Dataset

    EvalProgress: TypeAlias = Callable[[int, int], None]
    """Called with the count so far and the total."""

POOL_SIZE: Final = 40
SNIPPET_CHARS: Final = 240
MAX_EMBEDDED: Final = 10_000
"""Pages that are embedded of a larger corpus."""
BATCH: Final = 128
"""Texts of one call of the embedder."""

_SCOPE: Final = TenantScope("evaluation", "pages")


@dataclass(frozen=True)
class EvalCorpus:
    """The pages of a data set, and the results of full-text search for each question."""

    dataset: Dataset
    pages: Mapping[str, PageText]
    """By id: title and the beginning of the text."""
    by_words: Sequence[Sequence[str]]
    """Ids of the best pages per question, best first; given pools in the order shown."""
    is_given: bool = False
    """True when exactly these pages are ranked, and nothing was searched."""

    @property
    def unknown(self) -> int:
        """Pages called relevant that the corpus does not hold."""
        questions = self.dataset.questions
        return sum(each not in self.pages for question in questions for each in question.grades)

    @cached_property
    def to_embed(self) -> list[str]:
        """Ids of the pages to embed: those of given pools, else all.

        Of a large corpus the found and the relevant ones, and some more.
        """
        ids = list(self.pages)
        if self.is_given:
            return list(dict.fromkeys(chain.from_iterable(self.by_words)))
        if len(ids) <= MAX_EMBEDDED:
            return ids
        relevant = chain.from_iterable(question.grades for question in self.dataset.questions)
        needed = {*chain.from_iterable(self.by_words), *relevant} & self.pages.keys()
        drawn = (ids[i] for i in np.random.default_rng(0).permutation(len(ids)))
        room = max(0, MAX_EMBEDDED - len(needed))
        chosen = needed.union(islice((each for each in drawn if each not in needed), room))
        return [each for each in ids if each in chosen]

    @cached_property
    def texts(self) -> list[str]:
        """Texts to embed: the questions, then the pages."""
        pages = (self.pages[each] for each in self.to_embed)
        return [
            *(question.text for question in self.dataset.questions),
            *(titled_text(page.title, page.snippet) for page in pages),
        ]


@dataclass(frozen=True)
class Space:
    """The vectors of questions and pages."""

    questions: Vectors
    pages: Vectors
    rows: Mapping[str, int]
    """Id of each page that was embedded -> its row in `pages`."""
    input_tokens: int | None = None
    """None when the embedder does not say."""

    def nearest(self, asked: int) -> list[str]:
        """Return the ids of the pages nearest to a question, nearest first."""
        ids = list(self.rows)
        order = np.argsort(-(self.pages @ self.questions[asked]), kind="stable")
        return [ids[row] for row in order[:POOL_SIZE]]

    def cosines(self, asked: int, ids: Sequence[str]) -> list[float]:
        """Return the cosine of a question with each of these pages."""
        rows = self.pages[[self.rows[each] for each in ids]]
        return [float(cosine) for cosine in rows @ self.questions[asked]]


def index_corpus(
    dataset: Dataset, store: CollectionStore, progress: EvalProgress | None = None
) -> EvalCorpus:
    """Put the corpus into an empty store and ask it every question, by full text.

    Raises InputError for a corpus that cannot be used, StoreError. `progress` counts pages and
    questions.
    """
    whole = dataset.size() + len(dataset.questions)
    pages: dict[str, PageText] = {}
    for entry in dataset.entries():
        pages[entry.id] = PageText(entry.title, excerpt(entry.text, SNIPPET_CHARS), entry.url)
        document = Document(entry.url, entry.id, entry.title, content_hash="")
        chunk = Chunk(0, entry.text, 0, len(entry.text))
        store.replace_document(_SCOPE, document, [chunk])
        if progress:
            progress(len(pages), whole)
    by_words = []
    for question in dataset.questions:
        found = store.search(_SCOPE, question.text, limit=POOL_SIZE)
        by_words.append([one.document.url_key for one in found])
        if progress:
            progress(len(pages) + len(by_words), whole)
    corpus = EvalCorpus(dataset, pages, by_words)
    if corpus.unknown == sum(len(question.grades) for question in dataset.questions):
        raise InputError(
            f"{dataset.folder / 'corpus.jsonl'} holds none of the pages that {dataset.split}.tsv "
            "calls relevant: do the files belong together?"
        )
    return corpus


def take_pools(dataset: Dataset, progress: EvalProgress | None = None) -> EvalCorpus:
    """Return the corpus with the given pools. Raises InputError. `progress` counts pages."""
    whole = dataset.size() if progress else 0
    pages: dict[str, PageText] = {}
    for entry in dataset.entries():
        pages[entry.id] = PageText(entry.title, excerpt(entry.text, MAX_SNIPPET_CHARS), entry.url)
        if progress:
            progress(len(pages), whole)
    pools = [question.pool or () for question in dataset.questions]
    if unknown := next((each for pool in pools for each in pool if each not in pages), None):
        raise InputError(
            f"{dataset.folder / 'pools.jsonl'} names the page {unknown!r}, which corpus.jsonl"
            " does not hold."
        )
    return EvalCorpus(dataset, pages, pools, is_given=True)


async def embed_corpus(
    corpus: EvalCorpus, embedder: Embedder, progress: EvalProgress | None = None
) -> Space:
    """Return the vectors of questions and pages. Raises ModelError. `progress` counts texts."""
    texts, parts, tokens = corpus.texts, [], []
    for start in range(0, len(texts), BATCH):
        batch = texts[start : start + BATCH]
        found = await embedder.embed(batch)
        if len(found.vectors) != len(batch):
            raise ModelError(
                f"{embedder.fingerprint} returned {len(found.vectors)} vectors for {len(batch)}"
                " texts."
            )
        parts.append(found.vectors)
        tokens.append(found.input_tokens)
        if progress:
            progress(start + len(batch), len(texts))
    vectors, n = np.concatenate(parts), len(corpus.dataset.questions)
    known = [count for count in tokens if count is not None]
    return Space(
        questions=vectors[:n],
        pages=vectors[n:],
        rows={each: row for row, each in enumerate(corpus.to_embed)},
        input_tokens=sum(known) if len(known) == len(tokens) else None,
    )


def build_pools(corpus: EvalCorpus, space: Space | None = None) -> tuple[list[Pool], list[Pool]]:
    """Return each question's own pool, and off-topic ones.

    A pool has up to 40 pages, shuffled: by words, with a model alternating with the nearest ones.
    A given pool has exactly its pages.
    An off-topic pool is another question's without the question's relevant pages; each question
    has three, a single question none.
    """
    n = len(corpus.dataset.questions)
    lists = [
        list(corpus.by_words[i])
        if corpus.is_given
        else _alternating(corpus.by_words[i], space.nearest(i) if space else ())
        for i in range(n)
    ]
    own = [_pool(corpus, space, i, lists[i]) for i in range(n)]
    pairs = (
        pair for seed in range(PAIRINGS if n > 1 else 0) for pair in enumerate(derangement(n, seed))
    )
    off_topic = [
        _pool(
            corpus,
            space,
            asked,
            [each for each in lists[other] if each not in corpus.dataset.questions[asked].grades],
        )
        for asked, other in pairs
    ]
    return own, off_topic


def _pool(corpus: EvalCorpus, space: Space | None, asked: int, found: Sequence[str]) -> Pool:
    question = corpus.dataset.questions[asked]
    places = [int(place) for place in np.random.default_rng(asked).permutation(len(found))]
    ids = [found[place] for place in places]
    return Pool(
        question.text,
        [corpus.pages[each] for each in ids],
        [question.grades.get(each, 0) for each in ids],
        similarities=space.cosines(asked, ids) if space else (),
        places=places,
        missed=[grade for each, grade in question.grades.items() if each not in ids],
    )


def _alternating(*lists: Iterable[str]) -> list[str]:
    """Return the pages of the lists in turn, each once, cut to a pool's size."""
    in_turn = chain.from_iterable(zip_longest(*lists))
    return list(dict.fromkeys(each for each in in_turn if each is not None))[:POOL_SIZE]
