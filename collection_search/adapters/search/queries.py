"""Queries as providers take them."""

from __future__ import annotations

from datetime import date
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ...options import SearchOptions


def cut_query(query: str, *, chars: int | None = None, words: int | None = None) -> str:
    """Return the beginning of the query, at most that long; it ends with a whole word.

    A single word that is too long is cut.

    >>> cut_query("how to cancel an asyncio task", chars=18)
    'how to cancel an'
    >>> cut_query("how to cancel an asyncio task", words=3), cut_query("x" * 9, chars=4)
    ('how to cancel', 'xxxx')
    """
    kept = " ".join(query.split()[:words])
    if chars is None or len(kept) <= chars:
        return kept
    border = kept.rfind(" ", 0, chars + 1)
    return kept[: chars if border < 1 else border]


def day_beside(day: date, days: int) -> date:
    """Return the day so many days later, or earlier, the first or last one of the calendar at most.

    >>> day_beside(date(2026, 3, 1), -1), day_beside(date.max, 1) == date.max
    (datetime.date(2026, 2, 28), True)
    """
    return date.fromordinal(min(max(day.toordinal() + days, 1), date.max.toordinal()))


def site_operators(options: SearchOptions, *, include: bool, exclude: bool) -> str:
    """Return the operators that most search engines know for domains, blank without any.

    >>> from collection_search.options import SearchOptions
    >>> wish = SearchOptions(include_domains=("a.org", "b.org"), exclude_domains=("c.org",))
    >>> site_operators(wish, include=True, exclude=True)
    '(site:a.org OR site:b.org) -site:c.org'
    """
    sites = [f"site:{domain}" for domain in options.include_domains if include]
    wanted = f"({' OR '.join(sites)})" if len(sites) > 1 else "".join(sites)
    unwanted = [f"-site:{domain}" for domain in options.exclude_domains if exclude]
    return " ".join(filter(None, [wanted, *unwanted]))
