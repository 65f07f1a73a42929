"""What crosses the package's borders, as pure data: validated, and free of any adapter.

The contexts and results of a search are importable from here, and what a parser of pages takes and
returns. They are loaded on first use: other contracts need no pydantic.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from .document_text import Extracted
    from .page import FetchedPage, PageKind
    from .search import (
        BusinessContext,
        Identifier,
        Name,
        NormalizedQuery,
        NormalizedUrl,
        ProviderSearchResult,
        RawSearchResult,
        ScopeContext,
        SearchAdapterResponse,
        SearchResult,
        ToolContext,
        ToolMetadata,
        ToolOutcome,
        WebSearchInput,
        WebSearchResponse,
    )

__all__ = [
    "BusinessContext",
    "Extracted",
    "FetchedPage",
    "Identifier",
    "Name",
    "NormalizedQuery",
    "NormalizedUrl",
    "PageKind",
    "ProviderSearchResult",
    "RawSearchResult",
    "ScopeContext",
    "SearchAdapterResponse",
    "SearchResult",
    "ToolContext",
    "ToolMetadata",
    "ToolOutcome",
    "WebSearchInput",
    "WebSearchResponse",
]

_OTHER_MODULES: Final = {"Extracted": "document_text", "FetchedPage": "page", "PageKind": "page"}
"""Of the names that are not in `search`."""


def __getattr__(name: str) -> Any:
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    module = import_module(f".{_OTHER_MODULES.get(name, 'search')}", __name__)
    return getattr(module, name)
