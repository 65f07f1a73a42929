"""One search on its own: by the context's route, with its cost recorded."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from ..spending.run_spendings import open_account
from .route import build_route

if TYPE_CHECKING:
    from ...context import SearchContext
    from ...contracts.options import SearchOptions
    from ...contracts.search import WebSearchResponse


class SingleSearch(NamedTuple):
    """The response of a search and what it cost."""

    response: WebSearchResponse
    cost_usd: float | None
    """Cost of all its requests in US dollars; None where it is not known."""
    reason: str
    """Why the first provider was chosen."""


async def search_once(
    context: SearchContext,
    query: str,
    *,
    max_results: int,
    options: SearchOptions | None = None,
) -> SingleSearch:
    """Return what the context's provider, or its fallback, found; a failure is in the outcome.

    Texts that are wanted and not delivered are fetched. Raises ConfigError, StoreError.
    """
    ids = context.ids()
    account = await open_account(context, ids, is_new=context.run_id is None)
    route = await build_route(
        context,
        max_results=max_results,
        sink=await context.sink(),
        account=account,
        reads_pages=True,
    )
    try:
        account.name_question(query)
        call = context.tool_context(ids)
        response = await route.arun(query=query, context=call, options=options)
        cost = account.total_search_cost([response])
    finally:
        await account.close()
    return SingleSearch(response, cost, route.reason)
