"""The route of a search: the providers that are asked in order, with their limits."""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from ...planning.quality import rows_to_request
from ...ports.description import describe
from ...settings.provider_needs import join_names
from .cache import SearchCache
from .search_worker import WebSearchWorker

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from ...context import SearchContext
    from ...contracts.options import SearchOptions
    from ...contracts.search import ToolContext, WebSearchResponse
    from ...errors import ErrorCode
    from ...ports import SpanSink
    from ..spending.account import Account

LASTING: Final[frozenset[ErrorCode]] = frozenset({"invalidQuery"})
"""Failures that another provider would only repeat."""
MIN_CALL_S: Final = 0.2
"""With less time left no further provider is asked: it would be paid for nothing."""


@dataclass(frozen=True, slots=True)
class SearchRoute:
    """The workers of a search in the order in which they are asked."""

    workers: Sequence[WebSearchWorker]
    reason: str
    """Why the first one was chosen."""
    notices: Sequence[str] = ()
    """Notices for the user about the route."""
    deadline_s: float = 60.0
    """Time limit of one query over all providers."""

    async def recall(self, queries: Sequence[str], options: SearchOptions | None = None) -> None:
        """Look up the cached answers to several queries in one go, before they are searched."""
        await self.workers[0].recall(queries, options)

    async def known(self, queries: Sequence[str], options: SearchOptions | None = None) -> int:
        """Return how many of the queries the first provider's cache answers."""
        return await self.workers[0].known(queries, options)

    async def arun(
        self, *, query: str, context: ToolContext, options: SearchOptions | None = None
    ) -> WebSearchResponse:
        """Return the first success, else the first failure.

        `meta["routing"]` lists the attempts in order when there was more than one provider.
        """
        routing: list[dict[str, Any]] = []
        first: WebSearchResponse | None = None
        ends_at = time.monotonic() + self.deadline_s
        for worker in self.workers:
            if first is not None and time.monotonic() > ends_at - MIN_CALL_S:
                break
            response = await worker.arun(
                query=query, context=context, options=options, ends_at=ends_at
            )
            routing.append(attempt_of(response))
            response.outcome.meta["notices"].extend(self.notices)
            if response.outcome.decision == "ok":
                return _routed(response, routing)
            first = first or response
            error = response.outcome.meta["error"]
            if error["code"] in LASTING or error["kind"] == "CostLimitReached":
                break
        if first is None:
            raise ValueError("a search route needs a worker")
        return _routed(first, routing)


async def build_route(
    context: SearchContext,
    *,
    max_results: int,
    sink: SpanSink,
    oversample_factor: int = 2,
    returns_spare: bool = False,
    account: Account,
    reads_pages: bool = False,
) -> SearchRoute:
    """Return the route of a run's searches: its provider and, when switched on, the fallbacks.

    With `reads_pages` texts that are wanted and not delivered are fetched. With `returns_spare`
    results beyond `max_results` that came with them are returned, too. Raises ConfigError when
    the provider cannot be used, or metrics that are switched on; an unusable fallback is left out
    with a notice.
    """

    def rows(adapter: object) -> int:
        page_size = describe(adapter).info.page_size
        return rows_to_request(
            max_results, oversample_factor=oversample_factor, page_size=page_size
        )

    settings = context.using()
    providers, notices = await context.search_providers()
    metrics = await context.metrics()
    workers = [
        WebSearchWorker(
            provider.adapter,
            max_results=rows(provider.adapter) if returns_spare else max_results,
            oversample_factor=1 if returns_spare else oversample_factor,
            timeout_s=settings.search_timeout_s,
            retry_timeout_s=settings.search_retry_timeout_s,
            deadline_s=settings.run_deadline_s,
            spans=sink,
            metrics=metrics,
            guard=await context.guard(provider.adapter),
            cache=await _cache(context, provider.adapter, account),
            prices=account.prices,
            budget=account.budget,
            on_billed=account.record_billed,
            capture_query=settings.capture_tool_query,
            reader=context.page_reader if reads_pages and context.fetches() else None,
        )
        for provider in providers
    ]
    return SearchRoute(workers, providers[0].reason, notices, settings.run_deadline_s)


async def _cache(context: SearchContext, adapter: object, account: Account) -> SearchCache | None:
    """Return the tenant's cache; None for an adapter without an identity."""
    identity = describe(adapter).info.cache_identity
    max_age_s = context.answer_cache_s()
    if identity is None or max_age_s <= 0 or (store := await context.usage()) is None:
        return None
    return SearchCache(store, context.tenant(), identity, max_age_s, account.cache_answers)


def attempt_of(response: WebSearchResponse) -> dict[str, Any]:
    """Return one entry of `meta["routing"]`."""
    meta = response.outcome.meta
    return {
        "provider": meta["provider"],
        "rationale": response.outcome.rationale,
        "latency_ms": meta["latency_ms"],
        "cost_usd": meta["cost_usd"],
        "message": meta["error"]["message"] if "error" in meta else None,
    }


def _routed(response: WebSearchResponse, routing: list[dict[str, Any]]) -> WebSearchResponse:
    """Return the response, which lists the other providers, in words as well."""
    first, *others = routing
    if not others:
        return response
    meta = response.outcome.meta
    meta["routing"] = routing
    if response.outcome.decision == "ok":
        *failed, _ = routing
        told = [first["message"], *(f"Then {_message(one)}" for one in failed[1:])]
        meta["notices"].append(
            f"{_names(failed)} failed, so {meta['provider']} was asked. {' '.join(told)}"
        )
    else:
        further = [f"Then {_message(one)}" for one in others]
        meta["error"]["message"] = " ".join([meta["error"]["message"], *further])
    return response


def reason_of(response: WebSearchResponse, reason: str) -> str:
    """Return why this provider answered: `reason` if it was the first."""
    routing = response.outcome.meta.get("routing", ())
    if not routing or response.outcome.decision == "error":
        return reason
    return f"the fallback_provider of the settings, since {_names(routing[:-1])} failed"


def _names(attempts: Sequence[Mapping[str, Any]]) -> str:
    return join_names([one["provider"] for one in attempts])


def _message(attempt: Mapping[str, Any]) -> str:
    return f"{attempt['provider']}: {attempt['message']}"
