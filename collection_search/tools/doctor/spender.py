"""Paid searches of the doctor, for providers without a free check."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from ...runtime.spans import NULL_SINK
from ..search.search_worker import WebSearchWorker
from ..spending.account import Account

if TYPE_CHECKING:
    from ...context import SearchContext
    from ...contracts.search import WebSearchResponse
    from ...ports import BaseSearchAdapter

QUERY: Final = "python"
"""The query of a paid search."""


class SearchProbe:
    """Makes single searches for one result, within the provider's limits and the budget."""

    def __init__(self, context: SearchContext) -> None:
        self._context = context
        self._ids = context.ids()
        self._account = Account(context, self._ids)
        self.limit_s = context.using().search_timeout_s

    async def search(self, adapter: BaseSearchAdapter) -> WebSearchResponse:
        """Return the outcome, a failure included, and record its cost."""
        worker = WebSearchWorker(
            adapter,
            max_results=1,
            max_attempts=1,
            oversample_factor=1,
            timeout_s=self.limit_s,
            deadline_s=self.limit_s,
            spans=NULL_SINK,
            metrics=await self._context.metrics(),
            guard=await self._context.guard(adapter),
            prices=self._account.prices,
            budget=self._account.budget,
            on_billed=self._account.record_billed,
        )
        try:
            context = self._context.tool_context(self._ids)
            response = await worker.arun(query=QUERY, context=context)
            self._account.total_search_cost([response])
        finally:
            await self._account.close()
        return response
