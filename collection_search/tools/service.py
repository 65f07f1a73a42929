"""Web search for applications: one provider with a fallback, plain results, one error."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final

from pydantic import SecretStr, ValidationError

from ..context import SearchContext
from ..contracts.search import WebSearchInput, WebSearchResponse
from ..contracts.service import SearchRequest, SearchResponse
from ..errors import ConfigError, SearchProviderError, StoreError, WebSearchError
from ..ports.description import describe, read_info
from ..ports.http_client import validate_http_client
from ..runtime.concurrency import offload, run_blocking
from ..settings import ProviderAccess, Settings
from ..settings.adapter_factory import adapter_of, class_of
from ..settings.keyring import variable_of
from ..settings.provider_choice import SERVICE_ORDER, choose_provider, refuse_unknown_choices
from ..text.problems import describe_problems
from .public_arguments import context_for, validate_arguments
from .search.service_response import service_response
from .search.single_search import search_once

if TYPE_CHECKING:
    from httpx import AsyncClient

    from ..contracts.options import SearchOptions
    from ..errors import ErrorCode
    from ..ports import PageReader

_KEY_ORDER: Final = replace(SERVICE_ORDER, configured=(), last="tavily")
"""Credentials without a provider's name are for the settings' provider, else for Tavily."""

Credentials = str | SecretStr | Mapping[str, str] | None
"""A key, or fields of `ProviderAccess` by name; None: the credentials of the settings."""


class WebSearchService:
    """Searches the web with one provider; safe to share between threads and event loops.

    Content that the provider does not deliver is fetched, by `reader` where one is given. Without
    `initialize` it uses environment, settings file and keyring: the setting `provider`, else
    `default_provider`, else the first provider that is configured (Tavily before the others), else
    the documentation on this machine. The fallback providers are asked only when the settings
    switch them on (`use_fallback`) and their own keys are set. `http_client` makes the calls to
    providers in place of the package's own session.
    """

    def __init__(
        self,
        settings: Settings | None = None,
        *,
        tenant: str | None = None,
        reader: PageReader | None = None,
        http_client: AsyncClient | None = None,
    ) -> None:
        validate_arguments(settings=settings, reader=reader)
        self._settings = given = settings or Settings.load()
        self._named: str | None = None
        self._tenant = context_for(SearchContext(settings=given), tenant).tenant()
        self._reader = reader
        self._http_client = validate_http_client(http_client)

    @property
    def settings(self) -> Settings:
        """Return the settings in use, with the credentials that `initialize` accepted."""
        return self._settings

    async def ainitialize(
        self, credentials: Credentials = None, provider: str | None = None
    ) -> bool:
        """Return False for credentials that cannot be used, else use the provider from now on.

        Their form is checked, and the provider itself is asked where that is free; a provider that
        cannot be reached has not refused them. False changes nothing. Raises ConfigError for an
        unknown provider. A key without a name is Tavily's where the chosen provider needs none.
        """
        validate_arguments(provider=provider)
        order = SERVICE_ORDER if credentials is None else _KEY_ORDER
        name, _ = await choose_provider(self._settings, provider, order=order)
        chosen = await offload(class_of, self._settings, "search", name.partition(":")[0])
        is_bare_key = provider is None and isinstance(credentials, str | SecretStr)
        if is_bare_key and not read_info(chosen).needs_key:
            name = _KEY_ORDER.last
        try:
            settings = _with(self._settings, name, credentials)
            adapter = await adapter_of(settings, "search", name, self._http_client)
        except ConfigError:
            return False
        if not await _is_accepted(adapter, timeout_s=settings.search_timeout_s):
            return False
        self._settings, self._named = settings, name
        return True

    def initialize(self, credentials: Credentials = None, provider: str | None = None) -> bool:
        """Return what `ainitialize` returns. Blocks."""
        return run_blocking(self.ainitialize(credentials, provider))

    def get_provider(self) -> str:
        """Return the name of the provider that is asked first. Blocks where a key is looked up."""
        choice = choose_provider(self._settings, self._named, order=SERVICE_ORDER)
        return run_blocking(choice).name

    async def asearch(self, request: SearchRequest | Mapping[str, Any] | str) -> SearchResponse:
        """Return what was found, best first. Raises WebSearchError after all retries.

        `search` blocks, inside a running event loop too; `asearch` is its coroutine.
        """
        started = time.monotonic()
        asked = validate_request(request)
        options = self._completed(asked.options)
        settings = self._settings  # another thread may change it meanwhile
        provider, _ = await choose_provider(settings, self._named, order=SERVICE_ORDER)
        context = SearchContext(
            tenant_id=self._tenant,
            workflow_id="web_search_service",
            provider=provider,
            settings=settings,
            reader=self._reader,
            http_client=self._http_client,
        )
        try:
            await refuse_unknown_choices(settings, "default_provider", "fallback_provider")
            max_results = options.max_results or 1
            found = await search_once(
                context, asked.query, max_results=max_results, options=options
            )
        except ConfigError as error:
            is_about_key = variable_of(provider) in str(error) or "keyring" in str(error)
            code: ErrorCode = "authenticationFailed" if is_about_key else "unknown"
            raise WebSearchError(str(error), code=code) from error
        except StoreError as error:
            raise WebSearchError(f"The quota cannot be counted. {error}") from error
        response = found.response
        if response.outcome.decision == "error":
            raise _error(response)
        took_ms = round((time.monotonic() - started) * 1000)
        return service_response(response, asked.query, options, response_time_ms=took_ms)

    def search(self, request: SearchRequest | Mapping[str, Any] | str) -> SearchResponse:
        """Return what `asearch` returns. Blocks, inside a running event loop too."""
        return run_blocking(self.asearch(request))

    def _completed(self, options: SearchOptions) -> SearchOptions:
        """Return the options with the defaults of the settings."""
        usual: dict[str, Any] = {
            "max_results": self._settings.default_max_results,
            "search_depth": self._settings.default_search_depth,
            "include_content": True,
        }
        unsaid = {name: value for name, value in usual.items() if getattr(options, name) is None}
        return options.model_copy(update=unsaid)


def _with(settings: Settings, provider: str, credentials: Credentials) -> Settings:
    """Return the settings with the credentials in them. Raises ConfigError for wrong ones."""
    if credentials is None:
        return settings
    given = credentials if isinstance(credentials, Mapping) else {"api_key": credentials}
    known = settings.providers.get(provider, ProviderAccess())
    try:
        access = ProviderAccess.model_validate({**dict(known), **given})
    except ValidationError as error:
        raise ConfigError(
            f"The credentials for {provider} can have api_key, base_url and search_engine_id."
        ) from error
    return settings.model_copy(update={"providers": {**settings.providers, provider: access}})


async def _is_accepted(adapter: object, *, timeout_s: float) -> bool:
    """Return False if the provider refuses the key in a check that is free."""
    checked = describe(adapter).health_check
    if checked is None:
        return True
    try:
        health = await checked.acheck(timeout=timeout_s)
    except SearchProviderError as error:
        return error.code != "authenticationFailed"
    return health.key_valid is not False


def validate_request(request: SearchRequest | Mapping[str, Any] | str) -> SearchRequest:
    """Return the validated request. Raises WebSearchError, as for a query without words."""
    try:
        given = {"query": request} if isinstance(request, str) else request
        asked = SearchRequest.model_validate(given)
        WebSearchInput(query=asked.query)
    except ValidationError as error:
        raise WebSearchError(
            f"The search request cannot be used. {describe_problems(error)}", code="invalidQuery"
        ) from error
    return asked


def _error(response: WebSearchResponse) -> WebSearchError:
    meta = response.outcome.meta
    error = meta["error"]
    return WebSearchError(
        " ".join([error["message"], *meta["notices"]]),
        code=error["code"],
        retryable=error["retryable"],
        retry_after_ms=error["retry_in_ms"],
    )
