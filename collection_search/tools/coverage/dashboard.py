"""What a collection is known to answer, how fresh it is, and what it cost."""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

from typing_extensions import TypedDict

from ...contracts.collection import TenantScope
from ...ports.collections import require_collection
from ...runtime.concurrency import offload
from ...text.timestamps import iso_time
from ..ingestion.questions import masks_of
from ..spending.totals import sum_runs
from .verification import unique_queries

if TYPE_CHECKING:
    from ...context import SearchContext
    from ...contracts.collection import CollectionInfo, QuestionRecord
    from ...contracts.stored_lists import DocumentAges
    from ...ports import CollectionStore


class KnownQuery(TypedDict):
    """A query of a question, as it was verified last."""

    query: str
    answered: bool | None
    """None: not verified since it was searched for."""
    best_score: float | None
    """Of its best passage, 0-100; None where it has none or it was not kept."""


class KnownQuestion(TypedDict):
    """A question that filled the collection, with the result of its last verification."""

    question: str
    purpose: str
    asked_at: str
    """ISO 8601, UTC: when it was asked last."""
    first_asked_at: str
    verified_at: str | None
    queries: list[KnownQuery]
    answered: int
    open: int
    unverified: int
    """Queries of which nothing is known: the three counts add up to all queries."""


class KnownFreshness(TypedDict):
    """When the documents were stored or found unchanged; None in an empty collection."""

    oldest: str | None
    newest: str | None


class Dashboard(TypedDict):
    """The state of a collection at one look."""

    collection: str
    questions: list[KnownQuestion]
    """The first asked first."""
    documents: int
    pending: int
    failed: int
    freshness: KnownFreshness
    cost_usd: float
    """What the runs cost that brought its documents, as far as it is known."""
    cost_complete: bool


async def aread_dashboard(collection: str, *, context: SearchContext) -> Dashboard:
    """Return the collection's questions, freshness and cost; nothing is asked and nothing spent.

    Raises UnknownCollectionError, ConfigError, StoreError.
    """
    store = (await context.storage()).collections
    scope = TenantScope(context.tenant(), collection)
    info, questions, freshness, runs = await offload(_read, store, scope)
    cost_usd, cost_complete = await sum_runs(context, runs)
    return {
        "collection": collection,
        "questions": [known_question(record) for record in questions],
        "documents": info.documents,
        "pending": info.waiting,
        "failed": info.failed,
        "freshness": {
            "oldest": iso_time(freshness.oldest) if freshness else None,
            "newest": iso_time(freshness.newest) if freshness else None,
        },
        "cost_usd": cost_usd,
        "cost_complete": cost_complete,
    }


def known_question(record: QuestionRecord) -> KnownQuestion:
    """Return a question with what its last verification found, for people: no secret is shown."""
    queries, last = _queries(record), record.coverage
    counts = [one["answered"] for one in queries]
    known: KnownQuestion = {
        "question": record.question,
        "purpose": record.purpose,
        "asked_at": iso_time(record.last_asked_at),
        "first_asked_at": iso_time(record.first_asked_at),
        "verified_at": iso_time(last.verified_at) if last else None,
        "queries": queries,
        "answered": counts.count(True),
        "open": counts.count(False),
        "unverified": counts.count(None),
    }
    return cast("KnownQuestion", masks_of([record]).mask(known))


def _queries(record: QuestionRecord) -> list[KnownQuery]:
    last = record.coverage
    if last is None:
        return [{"query": query, "answered": None, "best_score": None} for query in _asked(record)]
    scores = last.best_scores
    return [
        {"query": query, "answered": query not in last.gaps, "best_score": scores.get(query)}
        for query in scores or _asked(record)
    ]


def _asked(record: QuestionRecord) -> list[str]:
    """Return what a verification asks: the question, then its queries."""
    return unique_queries([record.question, *record.queries])


def _read(
    store: CollectionStore, scope: TenantScope
) -> tuple[CollectionInfo, list[QuestionRecord], DocumentAges | None, list[str]]:
    info = require_collection(store, scope)
    freshness = store.freshness(scope.tenant_id).get(scope.collection)
    return info, store.questions(scope), freshness, store.runs(scope)
