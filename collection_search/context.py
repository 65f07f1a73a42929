"""Which ports a run uses: the composition root, and the graph's `context_schema`.

Every choice is a name in JSON and may be a live object in Python. What is not given comes from
the settings.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

from pydantic import Field, InstanceOf, field_validator
from pydantic.json_schema import SkipJsonSchema

from .cassette import Cassette
from .errors import ConfigError, StoreError
from .ports import (
    BaseSearchAdapter,
    Embedder,
    IngestionTrigger,
    PageReader,
    QueryModel,
    SpanSink,
    Storage,
)
from .ports.description import describe, is_runnable
from .ports.http_client import HttpClient
from .ports.usage import UsageStore
from .runtime.concurrency import offload
from .runtime.spans import NULL_SINK, GuardedSink
from .settings import registry
from .settings.adapter_factory import access_of, adapter_of, is_traced, provider_guard
from .settings.identity import RunIdentity
from .settings.process_defaults import process_settings
from .settings.provider_choice import choose_provider, is_configured
from .settings.remote_caller import restrict_remote_caller

if TYPE_CHECKING:
    from .resilience import ProviderGuard

_LOGGER = logging.getLogger(__name__)

RankingProfile = Literal["default", "literal"]


class SearchProvider(NamedTuple):
    """The chosen search adapter and why it was chosen."""

    adapter: BaseSearchAdapter
    reason: str


class SearchContext(RunIdentity):
    """Who asks, and with which provider, model, embedder, store and tracing."""

    provider: str | SkipJsonSchema[Any] | None = Field(
        default=None, description="Search provider; auto takes the first usable one."
    )
    model: str | SkipJsonSchema[Any] | None = Field(
        default=None, description="Chat model that plans the queries, as provider:model."
    )
    embeddings: str | SkipJsonSchema[Any] | None = Field(
        default=None, description="Embedder, as provider:model; lexical needs no model."
    )
    ranking_profile: RankingProfile | None = Field(
        default=None, description="default: calibrated scores; literal: raw 0.6/0.4 arithmetic."
    )
    max_cost_usd: float | None = Field(
        default=None,
        ge=0,
        allow_inf_nan=False,
        description="Ceiling of what the run may cost, in US dollars; a server has its own.",
    )
    http_client: HttpClient = None
    """Your own `httpx.AsyncClient`, through which all calls to providers, models and embedders of
    this package go; pages of the web are fetched by the safe fetch only."""
    store: SkipJsonSchema[InstanceOf[Storage] | None] = None
    """Staging, ledger and collections; by default the embedded SQLite database."""
    trigger: SkipJsonSchema[InstanceOf[IngestionTrigger] | None] = None
    """Starts ingestions in a host's own way; by default the graph `universal_ingestion` does."""
    reader: SkipJsonSchema[InstanceOf[PageReader] | None] = None
    """Reads pages of the web; by default the safe fetch of the settings."""
    ingests: SkipJsonSchema[bool] = True
    """False: accepted pages are left to the workers of other processes."""
    usage_store: SkipJsonSchema[InstanceOf[UsageStore] | None] = None
    """Remembered answers, quotas and spending; by default an SQLite file beside the collections."""
    spans: SkipJsonSchema[InstanceOf[SpanSink] | None] = None
    asks_anew: SkipJsonSchema[bool] = False
    """Whether answers that were paid for before are asked for once more."""
    cassette: SkipJsonSchema[InstanceOf[Cassette] | None] = None
    """Records what search, model and embedder say, or plays it without asking them."""

    @field_validator("provider", "model", "embeddings")
    @classmethod
    def _name_or_object(cls, value: Any) -> Any:
        if isinstance(value, Mapping | list | int | float):
            raise ValueError("give a name, or a live object in Python")  # noqa: TRY004 - pydantic
        return value

    @classmethod
    def of(cls, runtime: Any) -> SearchContext:
        """Return this run's context: ours, one that a host's context carries, or the default.

        A host carries it as attribute or key `collection_search`. On a server what a remote
        caller may choose is restricted: see `settings.remote_caller`.
        """
        given = cls.found_in(getattr(runtime, "context", None))
        server = getattr(runtime, "server_info", None)
        if server is None:
            return given
        return given.model_copy(update=restrict_remote_caller(given, server, process_settings()))

    async def search_provider(self) -> SearchProvider:
        """Return the search adapter with the reason for the choice. Raises ConfigError."""
        if (cassette := self._cassette()) is None:
            return await self._search_provider()
        if cassette.replays:
            return SearchProvider(cassette.search(self.provider), cassette.reason)
        adapter, reason = await self._search_provider()
        return SearchProvider(await offload(cassette.search, adapter), reason)

    async def _search_provider(self) -> SearchProvider:
        given = self.provider
        if given is not None and not isinstance(given, str):
            if is_runnable(given):
                wrap = await offload(registry.load_adapter, "search", "langchain")
                given = wrap(given)  # a tool or retriever of LangChain's
            return SearchProvider(given, "given by the caller")
        settings = self.using()
        name, reason = await choose_provider(settings, given)
        return SearchProvider(await adapter_of(settings, "search", name, self.http_client), reason)

    async def search_providers(self) -> tuple[list[SearchProvider], list[str]]:
        """Return the search adapters in the order in which they are asked, with notices.

        A fallback is there only if it is switched on, and only if it can be used: else a notice
        says what is missing. Raises ConfigError, also for a fallback that nobody knows.
        """
        first = await self.search_provider()
        settings = self.using()
        name = settings.fallback_provider
        info = describe(first.adapter).info
        if not settings.use_fallback or self.cassette is not None or info.source is None:
            return [first], []
        if name == info.name:
            return [first], []
        unusable = f"The fallback provider {name} cannot be used."
        try:
            second = await adapter_of(settings, "search", name, self.http_client)
        except ConfigError as error:
            await offload(
                registry.load_adapter, "search", name.partition(":")[0]
            )  # is there such a one?
            return [first], [f"{unusable} {error}"]
        variable = describe(second).info.key_variable
        if variable and not is_configured(settings, name):  # what works without a key is a trial
            return [first], [f"{unusable} Set {variable}."]
        return [first, SearchProvider(second, "the fallback_provider of the settings")], []

    async def guard(self, adapter: object) -> ProviderGuard | None:
        """Return what limits the calls to this adapter's provider; None where nothing does."""
        if self.cassette is not None and self.cassette.replays:
            return None
        settings = self.using()
        if access_of(settings, adapter).quota is None:
            return provider_guard(settings, adapter)
        return await offload(provider_guard, settings, adapter)  # it opens a database

    async def query_model(self) -> QueryModel | None:
        """Return the model that plans queries, or None when none is configured."""
        if (cassette := self._cassette()) is None:
            return await self._query_model()
        given = self.model if cassette.replays else await self._query_model()
        return await offload(cassette.model, given)

    async def _query_model(self) -> QueryModel | None:
        given = self.using().model if self.model is None else self.model
        if given is None or isinstance(given, QueryModel):
            return given
        if not isinstance(given, str):
            if not hasattr(given, "with_structured_output"):
                raise ConfigError("model needs a name, a chat model or an object with `plan`.")
            wrap = await offload(registry.load_adapter, "models", "langchain")
            return wrap(given, timeout_s=self.using().model_timeout_s)  # type: ignore[no-any-return]
        model: QueryModel = await adapter_of(self.using(), "models", given, self.http_client)
        return model

    async def embedder(self) -> Embedder | None:
        """Return the embedder, or None for similarity by words alone."""
        if (cassette := self._cassette()) is None or self.embeddings == "lexical":
            return await self._embedder()
        given = self.embeddings if cassette.replays else await self._embedder()
        return await offload(cassette.embedder, given)

    async def _embedder(self) -> Embedder | None:
        given = self.using().embeddings if self.embeddings is None else self.embeddings
        if given == "lexical":
            return None
        if isinstance(given, Embedder):
            return given
        if isinstance(given, str):
            embedder: Embedder = await adapter_of(
                self.using(), "embeddings", given, self.http_client
            )
            return embedder
        if callable(getattr(given, "embed_documents", None)):
            wrap = await offload(registry.load_adapter, "embeddings", "langchain")
            return wrap(given, timeout_s=self.using().model_timeout_s)  # type: ignore[no-any-return]
        raise ConfigError("embeddings needs a name, LangChain embeddings, or an `Embedder`.")

    def _cassette(self) -> Cassette | None:
        """Return the cassette, which now knows what it must not show."""
        if self.cassette is not None:
            self.cassette.hide(self.using())
        return self.cassette

    def profile(self) -> RankingProfile:
        """Return the ranking profile."""
        return self.ranking_profile or self.using().ranking_profile

    async def storage(self) -> Storage:
        """Return the store: staging, ledger and collections. Raises ConfigError, StoreError."""
        if self.store is not None:
            return self.store
        store: Storage = await adapter_of(self.using(), "stores", "sqlite")
        return store

    async def usage(self) -> UsageStore | None:
        """Return where spending and answers are kept; None where that is not possible.

        It never fails a run. A replayed run spends nothing and has none.
        """
        if self.cassette is not None and self.cassette.replays:
            return None
        if self.usage_store is not None:
            return self.usage_store
        try:
            store: UsageStore = await adapter_of(self.using(), "usage", "sqlite")
        except (ConfigError, StoreError) as error:
            _LOGGER.warning("costs are not kept and no answer is used again: %s", error)
            return None
        return store

    def answer_cache_s(self) -> float:
        """Return how old an answer may be that is used again, in seconds; 0: none is.

        A run that is recorded, or that looks for what is new, asks everything anew.
        """
        is_anew = self.asks_anew or self.cassette is not None
        return 0.0 if is_anew else self.using().answer_cache_s

    def cost_limit(self) -> float | None:
        """Return the ceiling of the run's cost in US dollars, None for none."""
        given = self.max_cost_usd
        return self.using().max_cost_usd if given is None else given

    async def ingestion_trigger(self) -> IngestionTrigger:
        """Return what starts an ingestion for another graph. Raises ConfigError, StoreError."""
        if self.trigger is not None:
            return self.trigger
        build = await offload(registry.load_adapter, "triggers", "graph")
        return build(self)  # type: ignore[no-any-return]

    async def ledger_trigger(self) -> IngestionTrigger:
        """Return what starts an ingestion itself: the host's own way, else by the ledger.

        Raises ConfigError, StoreError.
        """
        if self.trigger is not None:
            return self.trigger
        build = await offload(registry.load_adapter, "triggers", "ledger")
        return await build.of(self, wake=self.ingests)  # type: ignore[no-any-return]

    async def page_reader(self) -> PageReader:
        """Return what reads pages of the web. Raises ConfigError."""
        if self.reader is not None:
            return self.reader
        reader: PageReader = await adapter_of(self.using(), "readers", "web")
        return reader

    def fetches(self) -> bool:
        """Tell whether pages may be fetched: a run that is replayed touches no network."""
        return self.cassette is None or not self.cassette.replays

    async def sink(self) -> SpanSink:
        """Return where observations go."""
        if self.spans is not None:
            return GuardedSink(self.spans)
        settings = self.using()
        if not is_traced(settings):
            return NULL_SINK
        sink: SpanSink = await adapter_of(settings, "tracing", "langfuse")
        return sink
