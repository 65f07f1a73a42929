"""The function tool `web_search` for a registry of functions, and the registry.

A gateway in front of a model asks the registry for the tools of a request, and has it execute the
model's calls. The provider reads its own settings map:

```yaml
providers:
  web_search:
    enabled: true
    settings: {backend: searxng, url: "http://searxng:8080", max_results: 5}
```
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Final

from ..context import SearchContext
from ..contracts.functions import WEB_SEARCH, WebSearchOutput, find_function
from ..contracts.search import SearchAdapterResponse
from ..contracts.service import MAX_SERVICE_RESULTS
from ..errors import (
    ConfigError,
    InputError,
    SearchProviderTimeout,
)
from ..runtime.cancellation import ends_caller
from ..runtime.concurrency import run_blocking
from ..settings.adapter_factory import class_of, is_counted
from ..settings.table import WEB_SEARCH_ENTRY
from .failed_calls import failed_call
from .function_calls import call_web_search
from .function_specs import format_tool
from .metrics_export import metrics_collectors
from .search.function_entry import read_entry, with_entry
from .search.outcome_error import outcome_error

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from ..contracts.functions import FunctionDefinition, FunctionResult
    from ..contracts.service import ServiceSearchResult
    from ..ports.functions import CallContext, FunctionProvider, SearchBackend
    from ..settings import Settings
    from ..settings.function_settings import WebSearchSettings
    from .function_specs import ToolFormat

NO_TIME_LEFT: Final = "The caller's deadline has passed."


class WebSearchProvider:
    """Provides the function `web_search`, answered by one search backend.

    `settings` is the map of the registry: `backend` (a search provider's name), `url`,
    `max_results` (1-10, default 5). A live `backend` replaces the named one. Raises ConfigError.
    """

    name = WEB_SEARCH_ENTRY

    def __init__(
        self,
        settings: Mapping[str, Any] | WebSearchSettings | None = None,
        *,
        context: SearchContext | None = None,
        backend: SearchBackend | None = None,
    ) -> None:
        given = read_entry(settings)
        self._context = with_entry(context or SearchContext(), given)
        self._backend = backend
        if given.backend not in (None, "auto") and backend is None:
            class_of(self._context.using(), "search", given.backend.partition(":")[0])

    def tools(self) -> Sequence[FunctionDefinition[Any]]:
        """Return the definition of `web_search`."""
        return (WEB_SEARCH,)

    def routes(self) -> None:
        """Return None: there is nothing to manage."""

    def collectors(self) -> Sequence[Any]:
        """Return the Prometheus collectors of the searches; none where metrics are off.

        Raises MissingExtraError without the extra `metrics`.
        """
        settings = self._context.using()
        return metrics_collectors(settings) if is_counted(settings) else ()

    async def search(
        self, ctx: CallContext, query: str, max_results: int | None = None
    ) -> list[ServiceSearchResult]:
        """Return the results, best first, within the context's deadline.

        There are never more than the settings allow. Cancelling it cancels the request. Raises
        SearchProviderError, InputError for a query without words, ConfigError.
        """
        count = max_results and min(max_results, MAX_SERVICE_RESULTS)
        arguments = {"query": query, "max_results": count}
        output = (await self._call(ctx, arguments)).output
        assert isinstance(output, WebSearchOutput)  # noqa: S101 - the function's own output
        if output.outcome.decision == "error":
            raise outcome_error(output.outcome)
        return output.results

    async def execute(
        self, ctx: CallContext, name: str, arguments: Mapping[str, Any]
    ) -> FunctionResult:
        """Return title, URL and snippet of each result; a failure is an error result."""
        try:
            find_function(name, {one.name: one for one in self.tools()})
            return await self._call(ctx, arguments)
        except BaseException as error:
            if ends_caller(error):
                raise
            return failed_call(error)

    async def _call(self, ctx: CallContext, arguments: Mapping[str, Any]) -> FunctionResult:
        """Return the call's result. Raises InputError, SearchProviderTimeout at the deadline."""
        if not isinstance(arguments, Mapping):
            raise InputError("The arguments of the call are no JSON object.")
        if not str(arguments.get("query") or "").strip():
            raise InputError("empty query: write what to search for.")
        given = WEB_SEARCH.validate_arguments(arguments)
        if (left_s := ctx.left_s()) == 0:
            raise SearchProviderTimeout(NO_TIME_LEFT)
        try:
            async with asyncio.timeout(left_s) as limit:
                result = await call_web_search(given, self._context_of(ctx))
        except TimeoutError as error:
            raise SearchProviderTimeout(NO_TIME_LEFT) from error
        if limit.expired():  # the backend did not let itself be cancelled
            raise SearchProviderTimeout(NO_TIME_LEFT)
        return result

    def _context_of(self, ctx: CallContext) -> SearchContext:
        ids: dict[str, Any] = _ids(ctx)
        if self._backend is not None:
            ids["provider"] = _BackendAdapter(self._backend, ctx)
        return self._context.model_copy(update=ids)


class FunctionRegistry:
    """The functions of several providers, by name."""

    def __init__(self, providers: Iterable[FunctionProvider] = ()) -> None:
        self._providers: dict[str, FunctionProvider] = {}
        self._by_function: dict[str, FunctionProvider] = {}
        for provider in providers:
            self.register(provider)

    @classmethod
    def from_settings(cls, settings: Settings | None = None) -> FunctionRegistry:
        """Return the registry of the settings' map `providers`; without an entry it is empty.

        A function whose entry is not enabled is absent. Raises ConfigError.
        """
        context = SearchContext(settings=settings)
        entry = context.using().web_search
        if entry is None or not entry.enabled:
            return cls()
        return cls([WebSearchProvider(entry.settings, context=context)])

    def register(self, provider: FunctionProvider) -> None:
        """Add a provider. Raises ConfigError for a name or function that is taken."""
        names = [definition.name for definition in provider.tools()]
        taken = [name for name in names if name in self._by_function]
        if provider.name in self._providers or taken:
            raise ConfigError(f"{provider.name} is registered already, or one of {names} is.")
        self._providers[provider.name] = provider
        self._by_function |= dict.fromkeys(names, provider)

    def tools(self, form: ToolFormat = "openai") -> list[dict[str, Any]]:
        """Return the definitions for a model's request."""
        return [
            format_tool(definition, form)
            for provider in self._providers.values()
            for definition in provider.tools()
        ]

    async def execute(
        self, ctx: CallContext, name: str, arguments: Mapping[str, Any]
    ) -> FunctionResult:
        """Return the result of a model's call; a failure is an error result."""
        try:
            return await find_function(name, self._by_function).execute(ctx, name, arguments)
        except BaseException as error:  # a provider of somebody else's
            if ends_caller(error):
                raise
            return failed_call(error)

    def routes(self) -> list[Any]:
        """Return the HTTP routes of all providers."""
        return [route for provider in self._providers.values() for route in provider.routes() or ()]

    def collectors(self) -> list[Any]:
        """Return the Prometheus collectors of all providers."""
        return [each for provider in self._providers.values() for each in provider.collectors()]


class _BackendAdapter:
    """A search backend as an adapter of the worker, for the call of one context."""

    def __init__(self, backend: SearchBackend, ctx: CallContext) -> None:
        self.provider_name = backend.name
        self._backend = backend
        self._ctx = ctx

    async def asearch(self, query: str, *, max_results: int) -> SearchAdapterResponse:
        rows = list(await self._backend.search(self._ctx, query, max_results))
        return SearchAdapterResponse(results=rows, status_code=200)

    def search(self, query: str, *, max_results: int) -> SearchAdapterResponse:
        return run_blocking(self.asearch(query, max_results=max_results))


def _ids(ctx: CallContext) -> dict[str, str | None]:
    scope, business = ctx.tool.scope, ctx.tool.business
    return {
        "tenant_id": scope.tenant_id,
        "trace_id": scope.trace_id,
        "invocation_id": scope.invocation_id,
        "run_id": scope.run_id or scope.ingestion_run_id,
        "case_id": business.case_id,
        "workflow_id": business.workflow_id or WEB_SEARCH_ENTRY,
    }
