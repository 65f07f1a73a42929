"""Search adapters, query models and embedders."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol, runtime_checkable

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from ..contracts.collection import Embedded
    from ..contracts.health import Health
    from ..contracts.options import SearchOptions
    from ..contracts.search import SearchAdapterResponse


@runtime_checkable
class BaseSearchAdapter(Protocol):
    """A search provider with the least that `WebSearchWorker` needs.

    It may also have `info`, a `ProviderInfo`, on its class and on itself; the keywords of
    `SupportsOptions`; and the methods of the other protocols here. `describe` reads them and logs
    names that are probably misspelt.

    An adapter that makes several requests takes a `turn` keyword, a coroutine function that it
    awaits before each but the first: it waits for the rate limit, and raises a
    `SearchProviderError` if no further request is allowed.

    Older forms still work: attributes named as the fields of `ProviderInfo` instead of `info`
    (with `answers_from` for `cache_identity` and `default_base_url` for `default_address`),
    `limit=` instead of `max_results=`, and a `provider()` method instead of `provider_name`.
    """

    provider_name: str

    def search(self, query: str, *, max_results: int) -> SearchAdapterResponse:
        """Return the provider's rows for one query, best first.

        Raises a `SearchProviderError`; whether a retry helps is in its `retryable`.
        """
        ...


@runtime_checkable
class SupportsOptions(Protocol):
    """A search adapter with options, which reports in `applied` how it applied each.

    It may leave an option out: the worker filters the results afterwards.
    """

    provider_name: str

    def search(
        self,
        query: str,
        *,
        max_results: int,
        timeout: float | None = None,
        options: SearchOptions | None = None,
    ) -> SearchAdapterResponse:
        """Return the same as `BaseSearchAdapter.search`."""
        ...


class SupportsAsyncSearch(Protocol):
    """A search adapter with a coroutine function, which needs no thread."""

    async def asearch(self, query: str, *, max_results: int) -> SearchAdapterResponse:
        """Return the same as `BaseSearchAdapter.search`; cancelling it ends the search."""
        ...


class SupportsPrice(Protocol):
    """A search adapter whose searches may need several requests or units."""

    def price(self, max_results: int, options: SearchOptions) -> tuple[int, float]:
        """Return the most requests, and units of the list price, of such a search."""
        ...


class SupportsHealthCheck(Protocol):
    """A search adapter, model or embedder with a free health check."""

    async def acheck(
        self,
        *,
        timeout: float,  # noqa: ASYNC109 - the keyword of the port
    ) -> Health:
        """Return its health; `timeout` is in seconds. Raises the error that a call would raise."""
        ...


class SupportsPreparation(Protocol):
    """A search adapter with a preparation before its first search."""

    def prepare(self, progress: Callable[[int, int], None] | None = None) -> None:
        """Prepare. Blocks, perhaps for seconds; `progress` gets the steps done and their total."""
        ...


SearchAdapter = BaseSearchAdapter
"""Older name of the same protocol."""


@dataclass(frozen=True, slots=True)
class QueryPlan:
    """Queries that a model proposes for a question, with the tokens used."""

    queries: Sequence[str]
    model: str
    input_tokens: int | None = None
    output_tokens: int | None = None


@runtime_checkable
class QueryModel(Protocol):
    """A chat model that turns a question into search queries."""

    model_name: str

    async def plan(self, question: str, *, purpose: str, count: int) -> QueryPlan:
        """Return up to `count` queries. Raises `ModelError`; the caller falls back, not retries."""
        ...


@runtime_checkable
class Embedder(Protocol):
    """A model that places texts in a vector space."""

    fingerprint: str
    """Model id and dimension: equal fingerprints mean comparable vectors."""

    async def embed(self, texts: Sequence[str]) -> Embedded:
        """Return `(len(texts), d)` float32, unit length, in order. Raises `ModelError`."""
        ...
