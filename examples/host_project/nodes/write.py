"""Writes the article, as far as this example goes."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tools.headlines import headline

if TYPE_CHECKING:
    from nodes.article import Article


async def write(state: Article) -> Article:
    """Return the title."""
    return {"title": headline(state["topic"], len(state["sources"]))}
