"""Whether a collection answers queries, with its passages as evidence."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Final, NamedTuple

from ...planning.fallback import text_to_ask
from ...ranking.evidence import answering, evidence_of
from ...ranking.excerpts import best_excerpts
from ...text.clean import excerpt
from ...text.headings import without_heading_marks
from ..retrieve import aretrieve

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from ...context import SearchContext
    from ...contracts.collection import Passage
    from ...contracts.coverage import CoveredDocument, Evidence, QueryCoverage

    OnQuery = Callable[[QueryCoverage], None]

AT_ONCE: Final = 4
"""Queries that the collection is asked at once."""
EVIDENCE: Final = 3
"""Passages that are shown for a query."""
EVIDENCE_CHARS: Final = 400


class AnsweredQuery(NamedTuple):
    """A query with all passages that answer it."""

    coverage: QueryCoverage
    passages: list[Passage]


async def ask_queries(
    queries: Sequence[str],
    *,
    questions: Sequence[str],
    collection: str,
    context: SearchContext,
    on_query: OnQuery | None = None,
) -> list[AnsweredQuery]:
    """Return each query with the collection's answer, in order; a few are asked at once.

    The queries are those of the `questions`, which may be among them. A kind of page at the end of
    a query, as in "asyncio tutorial", is not asked for. `on_query` is told of each as soon as it is
    known. Raises what `aretrieve` raises; the other queries are cancelled then.
    """
    room = asyncio.Semaphore(AT_ONCE)

    async def asked(query: str) -> AnsweredQuery:
        async with room:
            text = text_to_ask(query, questions)
            found = await aretrieve(text, collection=collection, context=context)
        passages = answering(found)
        coverage: QueryCoverage = {
            "query": query,
            "answered": bool(passages),
            "evidence": [_evidence(query, passage) for passage in passages[:EVIDENCE]],
            "best_score": max(map(evidence_of, found), default=None),
        }
        if on_query is not None:
            on_query(coverage)
        return AnsweredQuery(coverage, passages)

    try:
        async with asyncio.TaskGroup() as group:
            tasks = [group.create_task(asked(query)) for query in queries]
    except ExceptionGroup as failed:
        raise failed.exceptions[0] from None
    return [task.result() for task in tasks]


def list_documents(answers: Iterable[AnsweredQuery]) -> list[CoveredDocument]:
    """Return the documents that answer some of the queries, those that answer most first."""
    found: dict[str, CoveredDocument] = {}
    for coverage, passages in answers:
        for passage in passages:
            document = found.setdefault(
                passage.url, {"url": passage.url, "title": passage.title, "answers": []}
            )
            if coverage["query"] not in document["answers"]:
                document["answers"].append(coverage["query"])
    return sorted(found.values(), key=lambda document: -len(document["answers"]))


def _evidence(query: str, passage: Passage) -> Evidence:
    return {
        "url": passage.url,
        "title": passage.title,
        "text": _shown(query, passage),
        "score": evidence_of(passage),
    }


def _shown(query: str, passage: Passage) -> str:
    """Return the sentences of the passage that answer best, in one line."""
    text = without_heading_marks(passage.text)
    best = best_excerpts(query, text, title=passage.title, chars=EVIDENCE_CHARS)
    return excerpt(" … ".join(text[one.start : one.end] for one in best), EVIDENCE_CHARS)
