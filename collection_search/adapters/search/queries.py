"""Queries as providers take them."""

from __future__ import annotations


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
