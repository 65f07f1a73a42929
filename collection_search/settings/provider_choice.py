"""Choice of the search provider: by name, by the settings, or the first configured one."""

from __future__ import annotations

import logging
import os
from dataclasses import dataclass
from itertools import chain
from typing import TYPE_CHECKING, Final, Literal, NamedTuple

from ..contracts.options import utc_today
from ..errors import ConfigError
from ..ports.description import read_info
from ..runtime.concurrency import offload
from . import registry
from .adapter_factory import adapter_of, class_of, search_providers
from .ensemble import split_names
from .provider_needs import (
    has_stored_key,
    is_configured,
    join_names,
    missing_variables,
    needed_variables,
    own_endpoints,
    touched_names,
)
from .sources import variable_for

if TYPE_CHECKING:
    from collections.abc import Sequence
    from datetime import date

    from ..ports import BaseSearchAdapter
    from . import Settings

_ORDER: Final = (
    *("tavily", "brave", "searxng", "serper", "exa"),
    *("linkup", "perplexity"),
    *("serpapi", "kagi", "mojeek"),  # their prices are not listed: no ceiling can count them
    "google",  # the last search of the whole web: its API ends
    "openalex",  # scholarly works alone
    registry.JSON_API,
)
"""The order of `auto`. `json_api` stands for the endpoints of the settings, in their order."""

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

    configured: tuple[str, ...] = _ORDER
    """The first one with all that it needs is chosen."""
    last: str = "offline"
    """The choice when none of them is configured."""
    skips_default: bool = True
    """Whether an unusable `default_provider` is skipped; else it is chosen, and its call fails."""


AUTO_ORDER: Final = ProviderOrder()
"""The order of graph, command and diagnosis."""
SERVICE_ORDER: Final = ProviderOrder(skips_default=False)
"""The order of `WebSearchService`."""


async def choose_provider(
    settings: Settings,
    asked: str | None = None,
    *,
    order: ProviderOrder = AUTO_ORDER,
    today: date | None = None,
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
    return await _first_configured(settings, order, skipped, today or utc_today())


async def refuse_unknown_choices(
    settings: Settings, *fields: Literal["default_provider", "fallback_provider"]
) -> None:
    """Raise ConfigError for an unknown provider in these settings."""
    for field in fields:
        given = getattr(settings, field)
        for name in split_names(given) if field == "fallback_provider" else filter(None, [given]):
            vendor = name.partition(":")[0]
            if vendor in registry.BUILTIN["search"]:
                continue
            try:
                # third parties' names are in files
                await offload(class_of, settings, "search", vendor)
            except ConfigError as error:
                raise ConfigError(f"The setting {field} cannot be used. {error}") from error


async def _first_configured(
    settings: Settings, order: ProviderOrder, skipped: str, today: date
) -> ProviderChoice:
    first, names = "the first that is configured", _expanded(settings, order)
    for name in names:
        if not is_configured(settings, name):
            continue
        if problem := await _problem(settings, name, today):
            skipped += f"{name} was passed over ({problem}); "
        else:
            return ProviderChoice(name, f"{skipped}{first}: {_where(settings, name)}")
    skipped += await _left_out(settings, names)
    searched = "the documentation on this machine" if order.last == "offline" else order.last
    none = "no other provider" if skipped else "no provider"
    return ProviderChoice(order.last, f"{skipped}{none} is configured: {searched} is searched")


async def _problem(settings: Settings, name: str, today: date) -> str:
    """Return why a configured provider is not usable, blank where nothing is known against it."""
    info = read_info(await offload(class_of, settings, "search", name))
    if info.ends_on and today >= info.ends_on:
        return f"its API was to end on {info.ends_on}"
    if has_stored_key(settings, name):
        try:
            await adapter_of(settings, "search", name)
        except ConfigError as error:
            _LOGGER.warning("The search provider %s is passed over: %s", name, error)
            return str(error)
    return ""


def _expanded(settings: Settings, order: ProviderOrder) -> list[str]:
    """Return the names of the order, with those of the settings' endpoints in their place."""
    endpoints = own_endpoints(settings)
    each = (endpoints if name == registry.JSON_API else [name] for name in order.configured)
    return list(chain.from_iterable(each))


def _where(settings: Settings, name: str) -> str:
    """Return the source of what a chosen provider needs, in words."""
    variables = needed_variables(settings, name)
    if has_stored_key(settings, name) and variable_for(name, "api_key") in variables:
        return "its key is in the keyring"
    if not all(map(os.environ.get, variables)):
        return "by the settings"
    return f"{join_names(variables)} {'are' if variables[1:] else 'is'} set"


async def _left_out(settings: Settings, names: Sequence[str]) -> str:
    """Return what else is given and why it is not chosen; blank for nothing."""
    touched = touched_names(settings)
    told = [
        f"{name} lacks {join_names(missing)}"
        for name in touched
        if name in names and (missing := missing_variables(settings, name))
    ]
    others = [name for name in touched if name not in names]
    if not registry.BUILTIN["search"].keys() >= set(others):
        known = await offload(search_providers, settings)  # third parties' names are in files
        others = [name for name in others if name in known]
    if others:
        told.append(f"{join_names(others)} {'are' if others[1:] else 'is'} taken by name only")
    return "".join(f"{each}; " for each in told)
