"""The coverage of a collection as text: answers, gaps, missing pages and the next commands."""

from __future__ import annotations

import textwrap
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Final, NamedTuple

from ...ranking.score_text import format_score
from .failed_pages import format_unstored
from .next_steps import shell_command

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Sequence

    from ...contracts.collection import QuestionRecord
    from ...contracts.coverage import Coverage, Evidence, QueryCoverage, UnstoredPage

_MARK: Final = 10
"""Columns of the word that begins a line."""
_LEAST: Final = 40
"""Columns of a text, however narrow the terminal is."""
_PASSAGE_LINES: Final = 2


class MissingPages(NamedTuple):
    """Pages that are not stored, of a ticket or of a collection."""

    unstored: list[UnstoredPage]
    """Those of a collection that were given up, or all of a ticket."""
    waiting: int


def format_coverage(found: Sequence[Coverage], *, width: int) -> Iterator[str]:
    """Yield each query with its best passage, or as a gap, question by question."""
    for coverage in found:
        queries, gaps = coverage["queries"], coverage["gaps"]
        count = f"{len(queries) - len(gaps)} of {len(queries)}"
        yield f"Collection {coverage['collection']}: {count} queries answered"
        for query in queries:
            yield from _query_lines(query, width)
        yield ""


def _query_lines(query: QueryCoverage, width: int) -> Iterator[str]:
    room = max(width - _MARK, _LEAST)
    mark = "answered" if query["answered"] else "gap"
    lines = textwrap.wrap(query["query"], room)
    lines += _passage_lines(query["evidence"][0], room) if query["evidence"] else [_miss(query)]
    for line in lines:
        yield f"{mark:<{_MARK}}{line}"
        mark = ""


def _passage_lines(best: Evidence, room: int) -> list[str]:
    score = f"  (score {format_score(best['score'], decimals=0)})"
    title = _cut(best["title"], room - len(score), lines=1)
    return [*(line + score for line in title), best["url"], *_cut(best["text"], room)]


def _cut(text: str, room: int, *, lines: int = _PASSAGE_LINES) -> list[str]:
    return textwrap.wrap(text, room, max_lines=lines, placeholder="…") or [""]


def _miss(query: QueryCoverage) -> str:
    if (best := query["best_score"]) is None:
        return "no passage shares a word with it"
    return f"the best passage scores {format_score(best, decimals=0)}, too low for an answer"


def format_missing(coverage: Coverage, missing: MissingPages, *, width: int) -> Iterator[str]:
    """Yield what became of the pages of the ticket, and each one that is not stored."""
    pages = missing.unstored
    if (ingestion := coverage["ingestion"]) is not None:
        parts = [f"{ingestion['stored']} of {ingestion['count']} stored"]
        counts = {"failed": ingestion["failed"], "pending": ingestion["pending"]}
        parts += [f"{count} {state}" for state, count in counts.items() if count]
        yield f"Pages of the ticket: {', '.join(parts)}"
    elif pages or missing.waiting:
        yield f"Pages: {len(pages)} failed, {missing.waiting} waiting"
    yield from format_unstored(pages, width=width)
    if ingestion is not None or pages or missing.waiting:
        yield ""


def _unknown(queries: Sequence[str], known: Collection[str]) -> list[str]:
    return [query for query in queries if query.casefold() not in known]


def coverage_steps(
    found: Sequence[Coverage],
    missing: MissingPages,
    *,
    collection: str,
    tenant: str | None,
) -> Iterator[str]:
    """Yield the commands that close the gaps, one for each, and those that ingest the pages.

    What one of the questions was searched for is not proposed for another one.
    """
    where = {"collection": collection, "tenant": tenant}
    known = {query.casefold() for coverage in found for query in coverage["searched"]}
    queries: list[str] = []
    for coverage in found:
        new = _unknown(coverage["next_queries"], known)[: len(coverage["gaps"])]
        known.update(query.casefold() for query in new)
        queries += new
    if queries:
        yield "Next, to close the gaps:"
        for query in queries:
            yield f"  {shell_command('run', query, '--auto-ingest', **where)}"
    has_failed = any(page["state"] == "failed" for page in missing.unstored)
    if has_failed or missing.waiting:
        yield "Next, to ingest the missing pages:"
    if has_failed:
        yield f"  {shell_command('ingest', 'retry-failed', **where)}"
    if has_failed or missing.waiting:
        yield f"  {shell_command('worker', '--once')}"


def last_rows(records: Sequence[QuestionRecord]) -> Iterator[str]:
    """Yield each question with its last result and its time, under a header.

    >>> from collection_search.contracts.collection import LastCoverage, QuestionRecord
    >>> last = LastCoverage(query_count=3, gaps=["tea"], verified_at=1_700_000_000)
    >>> for row in last_rows([QuestionRecord(question="Which tea?", coverage=last)]):
    ...     print(row)
    answered  verified (UTC)    question
    2 of 3    2023-11-14 22:13  Which tea?
    """
    if records:
        yield f"answered  {'verified (UTC)':<16}  question"
    for record in records:
        if (last := record.coverage) is None:
            yield f"{'-':<8}  {'not yet':<16}  {record.question}"
            continue
        count = f"{last.query_count - len(last.gaps)} of {last.query_count}"
        at = datetime.fromtimestamp(last.verified_at, UTC)
        yield f"{count:<8}  {at:%Y-%m-%d %H:%M}  {record.question}"
