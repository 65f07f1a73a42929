"""Verifies how far a collection answers a question and the queries that were planned for it."""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

from ...contracts.collection import QuestionRecord, TenantScope
from ...contracts.ingestion import Ticket
from ...planning.gaps import gap_queries
from ...runtime.concurrency import blocking
from ...text.clean import normalize_query
from ..ingestion.questions import masks_of, named_records, record_coverage
from ..public_arguments import context_for, validate_arguments, validate_texts
from ..tickets import tenant_of
from .ingestion_coverage import await_ingestion
from .query_coverage import AnsweredQuery, ask_queries, list_documents

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from ...context import SearchContext
    from ...contracts.coverage import Coverage, IngestionCoverage
    from ...text.question_mask import QuestionMask
    from ..tickets import OnStatus


async def averify_coverage(
    question: str,
    *,
    collection: str,
    queries: Sequence[str] = (),
    tenant: str | None = None,
    ticket: Ticket | str | None = None,
    context: SearchContext | None = None,
    on_progress: OnStatus | None = None,
) -> Coverage:
    """Return which of the question and its queries the collection answers, and what is missing.

    Without `queries` those are asked that were searched for when the question filled the
    collection; a question that it remembers keeps this result. A kind of page at the end of a
    query, as in "asyncio tutorial", is not asked for unless the question names it. A question with
    a secret may be named as it is shown: all that are shown so are verified, and the answer masks
    their secrets.

    With a `ticket` it first waits for the ticket's pages, at most `coverage_timeout_s` seconds of
    the settings. Workers of this process ingest them unless the context says otherwise.
    `on_progress` gets every new status, on the event loop, so it may not block. `next_queries` are
    made without a model. Each query is embedded, where the collection has an embedder. `tenant` is
    by default the context's, else the settings'. `verify_coverage` blocks; `averify_coverage` is
    its coroutine.

    Raises what `aretrieve` and `await_ticket` raise.
    """
    if isinstance(ticket, Ticket):
        tenant = tenant_of(ticket, tenant)
    context = context_for(context, tenant)
    coverage, records = await _verify(
        question, collection, queries, context, ticket=ticket, on_progress=on_progress
    )
    is_as_asked = all(one.question == normalize_query(question) for one in records)
    return coverage if is_as_asked else _masked(coverage, masks_of(records))


verify_coverage = blocking(averify_coverage, "verify_coverage")
"""`averify_coverage` for code without an event loop."""


async def averify_shown(
    question: str,
    *,
    collection: str,
    context: SearchContext,
    queries: Sequence[str] = (),
    ticket: str | None = None,
    on_progress: OnStatus | None = None,
) -> Coverage:
    """Return what `averify_coverage` does, as people see it: no secret of a question is shown."""
    coverage, records = await _verify(
        question, collection, queries, context, ticket=ticket, on_progress=on_progress
    )
    return _masked(coverage, masks_of([QuestionRecord(question=question), *records]))


async def _verify(
    question: str,
    collection: str,
    queries: Sequence[str],
    context: SearchContext,
    *,
    ticket: Ticket | str | None,
    on_progress: OnStatus | None,
) -> tuple[Coverage, list[QuestionRecord]]:
    """Return the coverage with its secrets, and the remembered questions that were meant."""
    validate_arguments(question=question, collection=collection, on_progress=on_progress)
    scope = TenantScope(context.tenant(), collection)
    asked = [normalize_query(text) for text in (question, *validate_texts("queries", queries))]
    records = await named_records(context, scope, asked[0])
    is_planned = len(asked) == 1
    planned = [query for one in records for query in one.queries] if is_planned else asked[1:]
    questions = [one.question for one in records] or asked[:1]
    asked_now = unique_queries([*questions, *planned])
    ingestion = None
    if ticket is not None:
        ingestion = await await_ingestion(ticket, scope, context, on_progress=on_progress)
    context = context.model_copy(update=dict(context.ids()))  # all queries are one run
    answers = await ask_queries(
        asked_now, questions=questions, collection=collection, context=context
    )
    coverage = build_coverage(
        collection,
        answers,
        searched=[query for one in records for query in one.queries or [one.question]],
        purpose=context.searched_purpose(records[0].purpose if records else ""),
        ingestion=ingestion,
    )
    if is_planned:
        for record in records:
            await record_coverage(context, scope, record.question, _part_of(coverage, record))
    return coverage, records


def _masked(coverage: Coverage, masks: QuestionMask) -> Coverage:
    return cast("Coverage", masks.mask(coverage))


def _part_of(coverage: Coverage, record: QuestionRecord) -> Coverage:
    """Return the coverage of the record's own queries."""
    own = {query.casefold() for query in (record.question, *record.queries)}
    return {
        **coverage,
        "queries": [one for one in coverage["queries"] if one["query"].casefold() in own],
        "gaps": [query for query in coverage["gaps"] if query.casefold() in own],
    }


def build_coverage(
    collection: str,
    answers: Sequence[AnsweredQuery],
    *,
    searched: Sequence[str],
    purpose: str,
    ingestion: IngestionCoverage | None = None,
    search_round: int = 1,
    error: str | None = None,
) -> Coverage:
    """Return the coverage that the answers prove; without answers there is nothing to search."""
    gaps = [coverage["query"] for coverage, _ in answers if not coverage["answered"]]
    ratio = 1 - len(gaps) / len(answers) if answers else 0.0
    return {
        "collection": collection,
        "round": search_round,
        "ingestion": ingestion,
        "queries": [coverage for coverage, _ in answers],
        "answered_ratio": round(ratio, 4),
        "documents": list_documents(answers),
        "gaps": gaps,
        "next_queries": gap_queries(gaps, searched, purpose=purpose),
        "searched": list(searched),
        "error": error,
    }


def unique_queries(queries: Iterable[str]) -> list[str]:
    """Return the queries in order, each once regardless of case.

    >>> unique_queries(["asyncio", "Asyncio", "asyncio guide"])
    ['asyncio', 'asyncio guide']
    """
    first: dict[str, str] = {}
    for query in queries:
        first.setdefault(query.casefold(), query)
    return list(first.values())
