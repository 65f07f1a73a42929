"""Queries that close gaps: what a collection does not answer is searched for in other words."""

from __future__ import annotations

from itertools import chain, zip_longest
from typing import TYPE_CHECKING

from .fallback import complete_queries, query_variants, subject_of
from .quality import MAX_QUERIES

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence


def gap_queries(
    gaps: Sequence[str],
    searched: Iterable[str],
    *,
    purpose: str,
    proposed: Iterable[object] = (),
    count: int = MAX_QUERIES,
) -> list[str]:
    """Return at most `count` queries for the gaps, none of which was searched already.

    First those of the `proposed` that can be used, then variants of each gap in turn, always the
    same. Empty when every variant was searched.

    >>> gap_queries(["cancel asyncio task", "asyncio"], ["asyncio", "asyncio guide"],
    ...     purpose="search", count=3)
    ['cancel asyncio task', 'asyncio documentation', 'cancel asyncio task documentation']
    """
    if not gaps:
        return []
    known = {query.casefold() for query in searched}
    usable = complete_queries(proposed, gaps[0], purpose=purpose, minimum=0)
    in_turn = zip_longest(*(_new(_variants(gap, known, purpose), known) for gap in gaps))
    variants = (query for query in chain.from_iterable(in_turn) if query is not None)
    return _new([*usable, *variants], known)[:count]


def _variants(gap: str, known: set[str], purpose: str) -> list[str]:
    """Return the gap and its variants; those of its subject where it is a variant itself."""
    subject = subject_of(gap)
    origin = subject if subject.casefold() in known else gap
    return [gap, *query_variants(origin, purpose=purpose)]


def _new(queries: Iterable[str], known: set[str]) -> list[str]:
    """Return the queries that are not known, each once regardless of case."""
    found: dict[str, str] = {}
    for query in queries:
        if (key := query.casefold()) not in known:
            found.setdefault(key, query)
    return list(found.values())
