"""Choice of the search provider: by name, by the settings, or the first configured one."""

from __future__ import annotations

import logging
import os
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, Literal, NamedTuple

from pydantic import SecretStr

from ..errors import ConfigError
from ..runtime.concurrency import offload
from . import registry
from .adapter_factory import adapter_of, class_of

if TYPE_CHECKING:
    from ..ports import BaseSearchAdapter
    from . import Settings

_NEEDS: Final = {
    "tavily": ("api_key", "TAVILY_API_KEY"),
    "brave": ("api_key", "BRAVE_API_KEY"),
    "searxng": ("base_url", "SEARXNG_URL"),
    "serper": ("api_key", "SERPER_API_KEY"),
    "exa": ("api_key", "EXA_API_KEY"),
}
"""What `auto` requires of each provider, and the variable for it."""

_LOGGER = logging.getLogger(__name__)


class SearchProvider(NamedTuple):
    """The chosen search adapter and why it was chosen."""

    adapter: BaseSearchAdapter
    reason: str


class ProviderChoice(NamedTuple):
    """The name of the chosen search provider, and why it was chosen."""

    name: str
    reason: str


@dataclass(frozen=True, slots=True)
class ProviderOrder:
    """The order of providers where neither the caller nor `provider` names one.

    The `default_provider` of the settings comes before all of these.
    """

    configured: tuple[str, ...] = tuple(_NEEDS)
    """The first one with its key or address is chosen."""
    last: str = "offline"
    """The choice when none of them is configured."""
    skips_default: bool = True
    """Whether an unusable `default_provider` is skipped; else it is chosen, and its call fails."""


AUTO_ORDER: Final = ProviderOrder()
"""The order of graph, command and diagnosis."""
SERVICE_ORDER: Final = ProviderOrder(skips_default=False)
"""The order of `WebSearchService`."""


async def choose_provider(
    settings: Settings, asked: str | None = None, *, order: ProviderOrder = AUTO_ORDER
) -> ProviderChoice:
    """Return the search provider of the caller, the settings or `auto`, and the reason.

    Raises ConfigError for an unknown `default_provider`, where the order may skip it.
    """
    name = asked or settings.provider
    if name != "auto":
        return ProviderChoice(name, "asked for" if asked else "set as provider in the settings")
    preferred, skipped = settings.default_provider, ""
    if preferred:
        if order.skips_default:
            await refuse_unknown_choices(settings, "default_provider")
            try:
                await adapter_of(settings, "search", preferred)
            except ConfigError as error:
                skipped = f"the default_provider {preferred} cannot be used ({error}); "
        if not skipped:
            return ProviderChoice(preferred, "the default_provider of the settings")
    return await _first_configured(settings, order, skipped)


async def refuse_unknown_choices(
    settings: Settings, *fields: Literal["default_provider", "fallback_provider"]
) -> None:
    """Raise ConfigError for an unknown provider in these settings."""
    for field in fields:
        vendor = (getattr(settings, field) or "").partition(":")[0]
        if vendor and vendor not in registry.BUILTIN["search"]:
            try:
                # third parties' names are in files
                await offload(class_of, settings, "search", vendor)
            except ConfigError as error:
                raise ConfigError(f"The setting {field} cannot be used. {error}") from error


def is_configured(settings: Settings, provider: str) -> bool:
    """Return whether settings, environment or keyring have a provider's key or address."""
    access = settings.providers.get(provider)
    given = access and (access.api_key or access.base_url or access.search_engine_id)
    return bool(given) or provider in settings.stored_keys


async def _first_configured(
    settings: Settings, order: ProviderOrder, skipped: str
) -> ProviderChoice:
    first = "the first that is configured"
    for name in order.configured:
        part, variable = _NEEDS[name]
        known = settings.providers.get(name)
        given = getattr(known, part) if known else None
        text = given.get_secret_value() if isinstance(given, SecretStr) else given or ""
        if text.strip():
            where = f"{variable} is set" if variable in os.environ else "by the settings"
            return ProviderChoice(name, f"{skipped}{first}: {where}")
        if given is None and part == "api_key" and name in settings.stored_keys:
            try:
                await adapter_of(settings, "search", name)
            except ConfigError as error:
                _LOGGER.warning("The search provider %s is passed over: %s", name, error)
                skipped += f"{name} was passed over ({error}); "
            else:
                return ProviderChoice(name, f"{skipped}{first}: its key is in the keyring")
    searched = "the documentation on this machine" if order.last == "offline" else order.last
    return ProviderChoice(order.last, f"{skipped}no provider is configured: {searched} is searched")
