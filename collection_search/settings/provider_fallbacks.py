"""The providers that are asked one after the other when the first one fails."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..errors import ConfigError
from ..ports.description import describe
from ..runtime.concurrency import offload
from .adapter_factory import adapter_of, class_of
from .ensemble import split_names
from .provider_choice import SearchProvider
from .provider_needs import join_names, missing_variables

if TYPE_CHECKING:
    from httpx import AsyncClient

    from ..ports import BaseSearchAdapter
    from ..ports.provider_info import ProviderInfo
    from . import Settings

_REASON = "the fallback_provider of the settings"


async def with_fallbacks(
    settings: Settings, first: SearchProvider, http_client: AsyncClient | None
) -> tuple[list[SearchProvider], list[str]]:
    """Return the provider and its fallbacks in the order of the settings, with notices.

    An unusable fallback is left out, and a notice says what it lacks. Another notice names one that
    searches the index of a provider before it. Raises ConfigError for an unknown fallback.
    """
    providers, notices = [first], []
    infos = [describe(first.adapter).info]
    for name in dict.fromkeys(split_names(settings.fallback_provider)):
        if name == infos[0].name:
            continue
        adapter, problem = await _made(settings, name, http_client)
        if adapter is None or problem:
            notices.append(f"The fallback provider {name} cannot be used. {problem}")
            continue
        info = describe(adapter).info
        notices += _same_index(name, info, infos)
        infos.append(info)
        providers.append(SearchProvider(adapter, _REASON))
    return providers, notices


async def _made(
    settings: Settings, name: str, http_client: AsyncClient | None
) -> tuple[BaseSearchAdapter | None, str]:
    """Return the adapter, and what is wrong with it; blank for nothing."""
    vendor = name.partition(":")[0]
    try:
        adapter: BaseSearchAdapter = await adapter_of(settings, "search", name, http_client)
    except ConfigError as error:
        await offload(class_of, settings, "search", vendor)  # is it known?
        return None, str(error)
    missing = missing_variables(settings, vendor, describe(adapter).info)
    # Without its key, one that works without is a trial only.
    return adapter, f"Set {join_names(missing)}." if missing else ""


def _same_index(name: str, info: ProviderInfo, before: list[ProviderInfo]) -> list[str]:
    """Return a notice if a provider before it searches the same index."""
    alike = [other.name for other in before if info.index and other.index == info.index]
    if not alike:
        return []
    same = f"searches the same index as {join_names(alike)} ({info.index})"
    return [f"The fallback provider {name} {same}: it finds the same pages."]
