"""The settings' entry of the function `web_search`: whether, by which backend, how many results."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pydantic import ValidationError

from ...contracts.functions import DEFAULT_TOOL_RESULTS, WEB_SEARCH
from ...errors import ConfigError, InputError
from ...settings import ProviderAccess
from ...settings.function_settings import FunctionEntry, WebSearchSettings
from ...text.problems import describe_problems

if TYPE_CHECKING:
    from collections.abc import Mapping

    from ...context import SearchContext
    from ...contracts.functions import WebSearchArguments
    from ...settings import Settings


def apply_entry(context: SearchContext, arguments: WebSearchArguments) -> tuple[SearchContext, int]:
    """Return the context with the entry's backend, and the number of results.

    A provider of the context goes before the backend. The entry's number is the default and the
    most. Without an entry nothing changes. Raises InputError where the entry is not enabled.
    """
    settings = context.using()
    count = limit_results(settings, arguments.max_results) or DEFAULT_TOOL_RESULTS
    return apply_backend(context), count


def apply_backend(context: SearchContext) -> SearchContext:
    """Return the context with the entry's backend; a provider of the context goes before it."""
    settings = context.using()
    given = settings.web_search.settings if settings.web_search else WebSearchSettings()
    if given.backend is None or context.provider is not None:
        return context
    if given.url is not None:
        vendor = given.backend.partition(":")[0]
        access = settings.providers.get(vendor, ProviderAccess())
        access = access.model_copy(update={"base_url": given.url})
        providers = {**settings.providers, vendor: access}
        settings = settings.model_copy(update={"providers": providers})
    return context.model_copy(update={"settings": settings, "provider": given.backend})


def is_enabled(settings: Settings, name: str) -> bool:
    """Return whether models get the function of this name: all but a `web_search` switched off."""
    entry = settings.web_search
    return name != WEB_SEARCH.name or entry is None or entry.enabled


def limit_results(settings: Settings, told: int | None) -> int | None:
    """Return how many results a model gets that asks for `told`; None: the caller's default.

    Raises InputError where the entry is not enabled.
    """
    if not is_enabled(settings, WEB_SEARCH.name):
        raise InputError("web_search is switched off in the settings.")
    if (entry := settings.web_search) is None:
        return told
    most = entry.settings.max_results
    return min(told or most, most)


async def refuse_unusable_backend(context: SearchContext) -> None:
    """Raise ConfigError where models get `web_search` and its backend lacks a key or an address.

    Nobody is contacted. A backend is not looked at where the context has a provider of its own.
    """
    entry, chosen = context.using().web_search, apply_backend(context)
    if entry is None or not entry.enabled or chosen is context:
        return
    try:
        await chosen.search_provider()
    except ConfigError as error:
        address = "" if entry.settings.url is None else " Its address is the url of the entry."
        raise ConfigError(
            f"The backend {entry.settings.backend} of web_search cannot be used: {error}{address}"
        ) from error


def with_entry(context: SearchContext, given: WebSearchSettings) -> SearchContext:
    """Return the context with these settings as its entry."""
    settings = context.using().model_copy(update={"web_search": FunctionEntry(settings=given)})
    return context.model_copy(update={"settings": settings})


def read_entry(given: Mapping[str, Any] | WebSearchSettings | None) -> WebSearchSettings:
    """Return the validated settings map of `web_search`. Raises ConfigError."""
    try:
        return WebSearchSettings.model_validate(given or {})
    except ValidationError as error:
        raise ConfigError(
            f"The settings of web_search are not valid. {describe_problems(error)}. There are"
            f" {', '.join(WebSearchSettings.model_fields)}."
        ) from error
