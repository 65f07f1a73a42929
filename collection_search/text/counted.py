"""Numbers of things in sentences."""

from __future__ import annotations


def counted(number: int, noun: str) -> str:
    """Return a number with its noun, in the plural unless it is 1.

    >>> counted(1, "page"), counted(2, "new page"), counted(3, "query")
    ('1 page', '2 new pages', '3 queries')
    """
    if number == 1:
        return f"1 {noun}"
    return f"{number} {noun[:-1]}ies" if noun.endswith("y") else f"{number} {noun}s"
