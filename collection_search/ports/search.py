"""Search adapters, query models and embedders."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol, runtime_checkable

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ..contracts.collection import Embedded
    from ..contracts.options import SearchOptions
    from ..contracts.search import SearchAdapterResponse


@runtime_checkable
class BaseSearchAdapter(Protocol):
    """A search provider: the smallest thing that `WebSearchWorker` can use.

    Optional members that the worker looks for: `asearch` (a coroutine of the same form), a
    `timeout` keyword in seconds, `page_size` (rows of one billed request), and for older adapters
    `limit=` instead of `max_results=` and a `provider()` method instead of `provider_name`. An
    adapter that makes several requests takes a `turn` keyword, a coroutine function that it awaits
    before each but the first: it waits for the rate limit, and raises a `SearchProviderError` where
    no further request may be made.

    Others look for: `source` (a text that differs with provider, address and key: rate, quota,
    breaker, fallback and kept answers go by it, and without it there are none; an adapter made by
    its name gets one), `answers_from` (the same for kept answers alone, where more makes a
    difference), `price(max_results, options)` (requests and units of the list price that an
    attempt takes), `acheck(timeout=)` (a coroutine that returns a `Health` and spends nothing), and
    for the doctor `storage_rights`, `key_variable`, `address_variable` and `ends_on`.
    """

    provider_name: str

    def search(self, query: str, *, max_results: int) -> SearchAdapterResponse:
        """Return the provider's rows for one query, best first.

        Raises a `SearchProviderError`; whether a retry helps is in its `retryable`.
        """
        ...


def provider_name(adapter: object) -> str:
    """Return the provider's name: `provider_name`, else `provider` or `provider()`, else the class.

    >>> class LegacyAdapter:
    ...     def provider(self) -> str:
    ...         return "legacy"
    >>> provider_name(LegacyAdapter())
    'legacy'
    """
    for attribute in ("provider_name", "provider"):
        name = getattr(adapter, attribute, None)
        name = name() if callable(name) else name
        if isinstance(name, str) and name.strip():
            return name.strip()
    return type(adapter).__name__


@runtime_checkable
class SupportsOptions(Protocol):
    """A search adapter that looks at options and says in `applied` what it made of each.

    The worker drops what does not fit afterwards, so that an adapter may leave an option out.
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


SearchAdapter = BaseSearchAdapter
"""Older name of the same protocol."""


@dataclass(frozen=True, slots=True)
class QueryPlan:
    """Queries that a model proposes for a question, with what the proposal cost."""

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
