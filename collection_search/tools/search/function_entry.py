"""The settings' entry of the function `web_search`: whether, by which backend, how many results."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pydantic import ValidationError

from ...errors import ConfigError, InputError
from ...settings import ProviderAccess
from ...settings.table import FunctionEntry, WebSearchSettings
from ...text.problems import describe_problems

if TYPE_CHECKING:
    from collections.abc import Mapping

    from ...context import SearchContext
    from ...contracts.functions import WebSearchArguments


def apply_entry(context: SearchContext, arguments: WebSearchArguments) -> tuple[SearchContext, int]:
    """Return the context with the entry's backend, and the number of results.

    A provider of the context goes before the backend. The entry's number is the default and the
    most. Without an entry nothing changes. Raises InputError where the entry is not enabled.
    """
    entry = context.using().web_search
    if entry is None:
        return context, arguments.max_results
    if not entry.enabled:
        raise InputError("web_search is switched off in the settings.")
    most = entry.settings.max_results
    is_told = "max_results" in arguments.model_fields_set
    count = min(arguments.max_results, most) if is_told else most
    return _with_backend(context, entry.settings), count


def with_entry(context: SearchContext, given: WebSearchSettings) -> SearchContext:
    """Return the context with these settings as its entry. Raises ConfigError."""
    if given.url is not None and given.backend is None:
        raise ConfigError("The settings of web_search have a url but no backend. Name one.")
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


def _with_backend(context: SearchContext, given: WebSearchSettings) -> SearchContext:
    if given.backend is None or context.provider is not None:
        return context
    settings = context.using()
    if given.url is not None:
        access = settings.providers.get(given.backend, ProviderAccess())
        access = access.model_copy(update={"base_url": given.url})
        providers = {**settings.providers, given.backend: access}
        settings = settings.model_copy(update={"providers": providers})
    return context.model_copy(update={"settings": settings, "provider": given.backend})
