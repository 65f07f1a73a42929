"""The way of a run's searches, opened and closed as a run does it."""

from __future__ import annotations

from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any

from collection_search.runtime.spans import NULL_SINK
from collection_search.tools.search.route import build_route
from collection_search.tools.spending.account import Account

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from collection_search import SearchContext
    from collection_search.tools.search.route import SearchRoute


@asynccontextmanager
async def opened(
    context: SearchContext, *, count: int = 5, sink: Any = NULL_SINK
) -> AsyncIterator[SearchRoute]:
    """Give the route; what is to be kept is written at the end."""
    account = Account(context, context.ids())
    try:
        yield await build_route(context, max_results=count, sink=sink, account=account)
    finally:
        await account.close()
