"""The ports of a run: the composition root, and the graph's `context_schema`.

Every choice is a name in JSON and may be a live object in Python. The settings give the defaults.
"""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, Any

from pydantic import InstanceOf
from pydantic.json_schema import SkipJsonSchema

from .cassette import Cassette
from .errors import ConfigError, StoreError
from .ports import (
    Embedder,
    IngestionTrigger,
    PageReader,
    QueryModel,
    Reranker,
    SearchMetrics,
    SpanSink,
    Storage,
)
from .ports.description import describe, is_runnable
from .runtime.concurrency import offload
from .runtime.metering import NULL_METRICS, guarded
from .runtime.spans import NULL_SINK, GuardedSink
from .runtime.step_log import log_steps
from .settings import registry
from .settings.adapter_factory import (
    access_of,
    adapter_of,
    is_counted,
    is_traced,
    provider_guard,
)
from .settings.ensemble import ensemble_of, refuse_ensemble_alone
from .settings.page_rules import under_rules
from .settings.process_defaults import process_settings
from .settings.provider_choice import SearchProvider, choose_provider
from .settings.provider_fallbacks import with_fallbacks
from .settings.remote_caller import restrict_remote_caller
from .settings.run_choices import RunChoices

if TYPE_CHECKING:
    from .contracts.page import PageRules
    from .ports.usage import UsageStore
    from .resilience import ProviderGuard
    from .settings.ranking_table import RankingProfile

_LOGGER = logging.getLogger(__name__)


class SearchContext(RunChoices):
    """Who asks, and with which provider, model, embedder, store and tracing."""

    cassette: SkipJsonSchema[InstanceOf[Cassette] | None] = None
    """Records the answers of search, model and embedder, or replays them without a call."""

    @classmethod
    def of(cls, runtime: Any) -> SearchContext:
        """Return this run's context: our own, one inside a host's context, or the default.

        A host's context has it as attribute or key `collection_search`. On a server the choices of
        a remote caller are restricted: see `settings.remote_caller`.
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
        """Return the search adapters in the order of their use, with notices.

        Fallbacks are among them only if they are switched on and usable: see `with_fallbacks`.
        Raises ConfigError, also for an unknown fallback.
        """
        first = await self.search_provider()
        settings, source = self.using(), describe(first.adapter).info.source
        if not settings.use_fallback or self.cassette is not None or source is None:
            return [first], []
        return await with_fallbacks(settings, first, self.http_client)

    async def guard(self, adapter: object) -> ProviderGuard | None:
        """Return the limits of this adapter's provider; None where it has none."""
        if not self.fetches():
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
        if isinstance(given, str):  # first, since a look for the methods of a port takes longer
            return await adapter_of(self.using(), "models", given, self.http_client)  # type: ignore[no-any-return]
        if given is None or isinstance(given, QueryModel):
            return given
        if not callable(getattr(given, "ainvoke", None)):
            raise _no_model(given)
        wrap = await offload(registry.load_adapter, "models", "langchain")
        return wrap(given, timeout_s=self.using().model_timeout_s)  # type: ignore[no-any-return]

    async def embedder(self) -> Embedder | None:
        """Return the embedder, or None for similarity by words alone."""
        if (cassette := self._cassette()) is None or self.embeddings == "lexical":
            return await self._embedder()
        given = self.embeddings if cassette.replays else await self._embedder()
        return await offload(cassette.embedder, given)

    async def embedders(self) -> list[Embedder]:
        """Return the embedders that rank pages: that of collections, then those of the ensemble.

        None for similarity by words alone. Raises ConfigError, also for more than three.
        """
        first, cassette = await self.embedder(), self._cassette()
        if first is None:
            refuse_ensemble_alone(self)
            return []
        if cassette is not None and cassette.replays:
            further = await offload(cassette.ensemble, first, self.ensemble)
            return [first, *further]
        found = {first.fingerprint: first}
        for name in ensemble_of(self):
            if (each := await self._embedder_of(name)) is not None:
                found.setdefault(each.fingerprint, each)
        further = list(found.values())[1:]
        if cassette is not None and further:
            further = await offload(cassette.ensemble, first, further)
        return [first, *further]

    async def _embedder(self) -> Embedder | None:
        given = self.using().embeddings if self.embeddings is None else self.embeddings
        return await self._embedder_of(given)

    async def _embedder_of(self, given: Any) -> Embedder | None:
        """Return the embedder of a name or object; None for `lexical`."""
        if given == "lexical":
            return None
        if isinstance(given, str):
            return await adapter_of(self.using(), "embeddings", given, self.http_client)  # type: ignore[no-any-return]
        if isinstance(given, Embedder):
            name: object = given.fingerprint
            if isinstance(name, str) and name.strip():
                return given
            raise ConfigError(
                f"The embedder {type(given).__name__} has the fingerprint {name!r}: it"
                " needs a name that changes whenever its vectors do, such as my-model:256."
            )
        if callable(getattr(given, "embed_documents", None)):
            wrap = await offload(registry.load_adapter, "embeddings", "langchain")
            return wrap(given, timeout_s=self.using().model_timeout_s)  # type: ignore[no-any-return]
        raise ConfigError("embeddings needs a name, LangChain embeddings, or an `Embedder`.")

    def reranker_choice(self) -> Any:
        """Return who judges pages: `model`, `none`, the name of a reranker, or a live one."""
        recorded = self.cassette and self.cassette.recorded_judge
        return (recorded or self.using().reranker) if self.reranker is None else self.reranker

    async def named_reranker(self) -> Reranker | None:
        """Return the chosen reranker; None where the chat model or nobody judges.

        Raises ConfigError.
        """
        given, cassette = self.reranker_choice(), self._cassette()
        if isinstance(given, str) and given not in ("model", "none") and self.fetches():
            given = await adapter_of(self.using(), "rerankers", given)
        if not isinstance(given, str | Reranker):
            raise ConfigError("reranker needs a name, or a live `Reranker`.")
        if cassette is not None:
            given = await offload(cassette.reranker, given)
        return None if isinstance(given, str) else given

    def _cassette(self) -> Cassette | None:
        """Return the cassette, after it was given the secrets to redact."""
        if self.cassette is not None:
            self.cassette.hide(self.using())
        return self.cassette

    def searched_purpose(self, purpose: str) -> str:
        """Return the purpose as queries may use it: empty where its words are not searched for."""
        given = self.search_purpose
        is_searched = self.using().search_purpose if given is None else given
        return purpose if is_searched else ""

    def profile(self) -> RankingProfile:
        """Return the ranking profile."""
        return self.ranking_profile or self.using().ranking_profile

    async def storage(self) -> Storage:
        """Return the store: staging, ledger and collections. Raises ConfigError, StoreError."""
        if self.store is not None:
            return self.store
        settings = self.using()
        return await adapter_of(settings, "stores", settings.engine)  # type: ignore[no-any-return]

    async def usage(self) -> UsageStore | None:
        """Return the store of spending and answers; None for a replay and where it is unusable."""
        if not self.fetches():
            return None
        if self.usage_store is not None:
            return self.usage_store
        settings = self.using()
        try:
            return await adapter_of(settings, "usage", settings.engine)  # type: ignore[no-any-return]
        except (ConfigError, StoreError) as error:
            _LOGGER.warning("costs are not kept and no answer is used again: %s", error)
        return None

    def answer_cache_s(self) -> float:
        """Return the greatest age of a cached answer, in seconds; 0: none is used."""
        is_anew = self.asks_anew or self.cassette is not None
        return 0.0 if is_anew else self.using().answer_cache_s

    def cost_limit(self) -> float | None:
        """Return the ceiling of the run's cost in US dollars, None for none."""
        given = self.max_cost_usd
        return self.using().max_cost_usd if given is None else given

    async def ingestion_trigger(self) -> IngestionTrigger:
        """Return the trigger of an ingestion by a graph. Raises ConfigError, StoreError."""
        if self.trigger is not None:
            return self.trigger
        build = await offload(registry.load_adapter, "triggers", "graph")
        return build(self)  # type: ignore[no-any-return]

    async def ledger_trigger(self) -> IngestionTrigger:
        """Return the host's trigger, else that of the ledger. Raises ConfigError, StoreError."""
        if self.trigger is not None:
            return self.trigger
        build = await offload(registry.load_adapter, "triggers", "ledger")
        return await build.of(self, wake=self.ingests)  # type: ignore[no-any-return]

    async def page_reader(self, rules: PageRules | None = None) -> PageReader:
        """Return the reader of web pages, for a page with these rules. Raises ConfigError."""
        if self.reader is not None:
            return self.reader
        return await adapter_of(under_rules(self.using(), rules), "readers", "web")  # type: ignore[no-any-return]

    def fetches(self) -> bool:
        """Return whether the run may use the network; a replay may not."""
        return self.cassette is None or not self.cassette.replays

    async def sink(self) -> SpanSink:
        """Return the sink of observations."""
        if self.spans is not None:
            return log_steps(GuardedSink(self.spans))
        settings = self.using()
        if not is_traced(settings):
            return log_steps(NULL_SINK)
        return log_steps(await adapter_of(settings, "tracing", "langfuse"))

    async def metrics(self) -> SearchMetrics:
        """Return where searches and costs are counted; a replay counts nothing.

        Raises MissingExtraError.
        """
        if not self.fetches():
            return NULL_METRICS
        if self.search_metrics is not None:
            return guarded(self.search_metrics)
        settings = self.using()
        if not is_counted(settings):
            return NULL_METRICS
        return await adapter_of(settings, "metrics", "prometheus")  # type: ignore[no-any-return]


def _no_model(given: Any) -> ConfigError:
    """Return the error for an object that is no model."""
    if callable(getattr(given, "plan", None)):
        return ConfigError(
            f"The model {type(given).__name__} has `plan` but no `model_name`: give it one."
        )
    return ConfigError("model needs a name, a chat model or an object with `plan`.")
