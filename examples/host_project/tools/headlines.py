"""Headlines from topics."""

from __future__ import annotations


def headline(topic: str, count: int) -> str:
    """Return the headline of an article with that many sources.

    >>> headline("asyncio.timeout", 3)
    'What 3 sources say about asyncio.timeout'
    """
    return f"What {count} sources say about {topic}"
