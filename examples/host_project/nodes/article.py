"""State and context of the application: none of its keys is one of Collection Search's."""

from __future__ import annotations

from dataclasses import dataclass, field

from typing_extensions import TypedDict

from collection_search import SearchContext


class Article(TypedDict, total=False):
    """An article that is being written."""

    topic: str
    sources: list[str]
    title: str


@dataclass
class Desk:
    """Who writes, and for which tenant: the attribute `collection_search` is read by its graphs."""

    editor: str = "ann"
    collection_search: SearchContext = field(default_factory=SearchContext)
