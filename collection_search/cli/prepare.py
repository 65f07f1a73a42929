"""What a command does before and after its work: the offline index, and sending the spans."""

from __future__ import annotations

import asyncio
import os
from contextlib import contextmanager
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Iterator

    from ..context import SearchContext, SearchProvider
    from .screen import Screen

FLUSH_TIMEOUT_S: Final = 2


@contextmanager
def flushed(context: SearchContext) -> Iterator[None]:
    """Send the observations that are still waiting when the work is over, however it ended."""
    # An export in flight would otherwise hold up the end of the process for its own 5 s.
    os.environ.setdefault("LANGFUSE_TIMEOUT", str(FLUSH_TIMEOUT_S))
    try:
        yield
    finally:
        asyncio.run(context.sink()).flush(FLUSH_TIMEOUT_S)


def ready_provider(context: SearchContext, screen: Screen) -> SearchProvider:
    """Return the search provider; the offline one builds its index first, with a progress bar.

    In the main thread, where Ctrl-C ends it at once: an index is built whole or not at all.
    """
    provider = asyncio.run(context.search_provider())
    prepare = getattr(provider.adapter, "prepare", None)
    if callable(prepare):
        with screen.bar("Indexing the documentation on this machine") as advance:
            prepare(advance)
    return provider
