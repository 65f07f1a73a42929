"""Judge premium re-ranking: python benchmarks/premium.py PATH_TO_POOLS [local:FOLDER] > report.md.

A scripted judge that is right with a known probability stands in for the chat model: a relevant
page gets the grade 2 or 3, any other 0 or 1, a wrong judgement the other two. It shows what a judge
of that quality is worth. What is ingested follows the product's own rule: the 20 best, 60, 50 below
three, at most 10. Precision, recall and the shares are means over the questions of a set. With a
cross-encoder's folder the time of its judgements is printed as well.
"""

from __future__ import annotations

import asyncio
import functools
import json
import sys
import time
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import numpy as np
from environment import environment
from pools import Pool, load_off_topic, load_sets

from collection_search import SearchContext, Settings
from collection_search.contracts.price_list import LIST_PRICES
from collection_search.contracts.prices import tokens_in
from collection_search.planning.premium_prompt import BEST_GRADE, premium_messages, read_judgements
from collection_search.planning.quality import QUALITY
from collection_search.ports import JudgedPage
from collection_search.ranking.metrics import format_table
from collection_search.ranking.rejudging import rejudge
from collection_search.ranking.scoring import rank
from collection_search.ranking.selection_metrics import SHOWN, TOP_K, ingested
from collection_search.tools.evaluation.report import PACKAGES

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

RIGHT: Final = (0.6, 0.7, 0.8, 0.9, 1.0)
"""Probabilities with which the scripted judge is right about a page."""
MODEL: Final = "gpt-4o-mini"
"""The model whose list price is taken."""
REASON: Final = "It names the subject of the question, but says nothing that helps."
TIMED: Final = 40
"""Questions of each set whose prompts, replies and pairs are timed."""
SEED: Final = 14


@dataclass(frozen=True)
class Ranked:
    """The pages of one pool in the order of their scores."""

    question: str
    pages: Sequence[JudgedPage]
    scores: Sequence[float]
    relevant: Sequence[bool]
    wanted: int
    """Relevant pages of the whole pool."""

    @classmethod
    def of(cls, pool: Pool, *, dense: bool) -> Ranked:
        """Rank the pool as the graph does."""
        given = pool.similarities if dense else None
        found = rank(pool.question, pool.pages, similarities=given, limit=SHOWN)
        pages = [pool.pages[one.index] for one in found]
        return cls(
            pool.question,
            [JudgedPage(page.title, page.snippet, page.url) for page in pages],
            [one.embedding_rank_score for one in found],
            [pool.grades[one.index] > 0 for one in found],
            sum(grade > 0 for grade in pool.grades),
        )

    @functools.cached_property
    def unsure(self) -> list[int]:
        """Places of the pages that premium has judged."""
        band = QUALITY["premium"].judged_band
        return band.places(self.scores) if band else []

    def ingested(self, relevance: Mapping[int, float]) -> list[bool]:
        """Return for each page that is ingested whether it is relevant."""
        scores = [
            rejudge(score, relevance[place]) if place in relevance else score
            for place, score in enumerate(self.scores)
        ]
        return [self.relevant[place] for place in ingested(np.array(scores))]

    def prompt(self) -> list[Any]:
        """Return the messages about the unsure pages."""
        return premium_messages(self.question, [self.pages[place] for place in self.unsure])


class ScriptedJudge:
    """Is right about a page with a known probability; None judges no page."""

    def __init__(self, right: float | None) -> None:
        self._right = right
        self._random = np.random.default_rng(SEED)

    def grades(self, ranked: Ranked) -> dict[int, int]:
        """Return the grades of the unsure pages."""
        if self._right is None:
            return {}
        draws = self._random.random((len(ranked.unsure), 2))
        return {
            place: 2 * (ranked.relevant[place] == (right < self._right)) + (high < 0.5)
            for place, (right, high) in zip(ranked.unsure, draws, strict=True)
        }

    def relevance(self, ranked: Ranked) -> dict[int, float]:
        """Return the relevance of the unsure pages, 0-1."""
        return {place: grade / BEST_GRADE for place, grade in self.grades(ranked).items()}


@dataclass(frozen=True)
class Figures:
    """What one judge is worth on one set; NaN where no question counts."""

    precision: float
    recall: float
    served: float
    empty: float
    off_topic: float

    @classmethod
    def of(
        cls, judge: ScriptedJudge, own: Sequence[Ranked], off_topic: Sequence[Ranked]
    ) -> Figures:
        """Ingest every pool."""
        taken = [(one, one.ingested(judge.relevance(one))) for one in own]
        answerable = [(one, pages) for one, pages in taken if one.wanted]
        empty = [bool(pages) for one, pages in taken if not one.wanted]
        through = [bool(one.ingested(judge.relevance(one))) for one in off_topic]
        return cls(
            _mean(sum(pages) / len(pages) for _, pages in taken if pages),
            _mean(sum(pages) / min(one.wanted, TOP_K) for one, pages in answerable),
            _mean(any(pages) for _, pages in answerable),
            _mean(empty),
            _mean(through),
        )

    def cells(self) -> list[str]:
        """Return the figures as cells of a table."""
        values = (self.precision, self.recall, self.served, self.empty, self.off_topic)
        return ["-" if np.isnan(value) else f"{value:.3f}" for value in values]


def worth(
    own: Mapping[str, Sequence[Ranked]], off_topic: Mapping[str, Sequence[Ranked]]
) -> Iterable[Sequence[str]]:
    """Yield the figures of each judge on each set."""
    for name, pools in own.items():
        for right in (None, *RIGHT):
            label = "nobody judges" if right is None else f"right {right:.0%}"
            figures = Figures.of(ScriptedJudge(right), pools, off_topic[name])
            yield name, label, *figures.cells()


def effort(own: Mapping[str, Sequence[Ranked]]) -> Iterable[Sequence[str]]:
    """Yield pages judged, cost and own time of a question."""
    for name, pools in own.items():
        judged = [len(one.unsure) for one in pools]
        costs, times = zip(*(_priced(one) for one in pools[:TIMED]), strict=True)
        yield (
            name,
            f"{np.mean(judged):.1f}",
            f"{np.mean([count > 0 for count in judged]):.2f}",
            f"{np.mean(costs):.6f}",
            f"{np.max(costs):.6f}",
            f"{np.median(times):.2f}",
        )


def _priced(ranked: Ranked) -> tuple[float, float]:
    """Return the cost of judging a question's unsure pages, and the milliseconds of our part."""
    if not ranked.unsure:
        return 0.0, 0.0
    grades = ScriptedJudge(1.0).grades(ranked).values()
    rows = [{"n": n, "grade": g, "reason": REASON} for n, g in enumerate(map(int, grades), 1)]
    reply = json.dumps(rows)
    started = time.process_time()
    messages = ranked.prompt()
    judged = read_judgements(reply, len(rows))
    taken = 1000 * (time.process_time() - started)
    if None in judged:
        raise RuntimeError("a judgement was not read")
    cost = LIST_PRICES.chat_cost(MODEL, tokens_in(one.text for one in messages), tokens_in([reply]))
    return cost or 0.0, taken


async def cross_encoder(name: str, own: Mapping[str, Sequence[Ranked]]) -> list[Sequence[str]]:
    """Return the milliseconds in which the cross-encoder judges a question's unsure pages."""
    context = SearchContext(settings=Settings(), reranker=name)
    reranker = await context.named_reranker()
    if reranker is None:
        raise SystemExit(f"{name} names no reranker")
    await reranker.judge("warm up", [JudgedPage("a", "b", "https://a.example/")])
    rows = []
    for set_name, pools in own.items():
        times, pages = [], []
        for one in [pool for pool in pools if pool.unsure][:TIMED]:
            started = time.perf_counter()
            await reranker.judge(one.question, [one.pages[place] for place in one.unsure])
            times.append(1000 * (time.perf_counter() - started))
            pages.append(len(one.unsure))
        if times:
            cells = f"{np.mean(pages):.1f}", f"{np.median(times):.1f}", f"{np.max(times):.1f}"
            rows.append((set_name, *cells))
    return rows


def _mean(values: Iterable[float]) -> float:
    listed = list(values)
    return float(np.mean(listed)) if listed else float("nan")


def main(folder: Path, reranker: str | None) -> None:
    """Print the report."""
    sets, others = load_sets(folder), load_off_topic(folder)
    band = QUALITY["premium"].judged_band
    print("# Premium re-ranking\n", *environment(PACKAGES), sep="\n")
    print(f"- judged: {band}")
    for scale, dense in (("words", False), ("dense", True)):
        own, off_topic = (
            {name: [Ranked.of(pool, dense=dense) for pool in pools] for name, pools in each.items()}
            for each in (sets, others)
        )
        head = ["set", "judge", "precision", "recall", "served", "empty-handed", "off-topic"]
        print(f"\n## What is ingested, {scale}\n\n{format_table(head, worth(own, off_topic))}")
        head = ["set", "pages judged", "questions with any", "mean $", "most $", "ms CPU"]
        print(f"\n## Effort of a question, {scale}, {MODEL}\n\n{format_table(head, effort(own))}")
        if reranker:
            rows = asyncio.run(cross_encoder(reranker, own))
            head = ["set", "pages", "median ms", "most ms"]
            print(f"\n## Time of {reranker}, {scale}\n\n{format_table(head, rows)}")


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2] if len(sys.argv) > 2 else None)
