"""From a name to a live adapter: what `auto` stands for, and one adapter per name and settings."""

from __future__ import annotations

import inspect
import logging
import os
import threading
import time
from collections import OrderedDict
from typing import TYPE_CHECKING, Any, Final, Literal

from pydantic import SecretStr

from ..errors import ConfigError
from ..ports.description import describe, give_source
from ..resilience import ProviderGuard, Quota, guard_of, key_id
from ..resilience.periods import period_name
from ..runtime.concurrency import offload
from . import ProviderAccess, registry
from .mistakes import meant

if TYPE_CHECKING:
    from ..ports import Embedder
    from . import Settings

AUTO_PROVIDERS: Final = (
    ("tavily", "api_key", "TAVILY_API_KEY"),
    ("brave", "api_key", "BRAVE_API_KEY"),
    ("searxng", "base_url", "SEARXNG_URL"),
    ("serper", "api_key", "SERPER_API_KEY"),
    ("exa", "api_key", "EXA_API_KEY"),
)
"""What `auto` tries in this order: provider, what it needs, and the variable that gives it."""
MAX_ADAPTERS: Final = 64
"""Adapters that are kept at a time: of those that hold something open, and of all others."""
_OPEN: Final = frozenset({"readers", "stores", "usage", "tracing"})
"""Groups that hold files, processes or unsent observations."""

_LOGGER = logging.getLogger(__name__)
_adapters: OrderedDict[tuple[Settings, registry.Group, str], Any] = OrderedDict()
_lock = threading.Lock()


async def refuse_unknown_choices(
    settings: Settings, *fields: Literal["default_provider", "fallback_provider"]
) -> None:
    """Raise ConfigError for a provider that these settings name and that there is not."""
    for field in fields:
        vendor = (getattr(settings, field) or "").partition(":")[0]
        if vendor and vendor not in registry.BUILTIN["search"]:
            try:
                await offload(class_of, "search", vendor)  # third parties' names stand in files
            except ConfigError as error:
                raise ConfigError(f"The setting {field} cannot be used. {error}") from error


async def auto_provider(settings: Settings) -> tuple[str, str]:
    """Return the search provider that `auto` stands for, and why.

    Raises ConfigError for a `default_provider` that there is not; one that only lacks something,
    such as its key, is passed over.
    """
    await refuse_unknown_choices(settings, "default_provider")
    preferred, reason = settings.default_provider, ""
    if preferred:
        try:
            await adapter_of(settings, "search", preferred)
        except ConfigError as error:
            reason = f"the default_provider {preferred} cannot be used ({error}); "
        else:
            return preferred, "the default_provider of the settings"
    for name, part, variable in AUTO_PROVIDERS:
        known = settings.providers.get(name)
        given = getattr(known, part) if known else None
        text = given.get_secret_value() if isinstance(given, SecretStr) else given or ""
        if text.strip():
            where = f"{variable} is set" if variable in os.environ else "by the settings"
            return name, f"{reason}the first that is configured: {where}"
        if given is None and part == "api_key" and name in settings.stored_keys:
            try:
                await adapter_of(settings, "search", name)
            except ConfigError as error:
                _LOGGER.warning("The search provider %s is passed over: %s", name, error)
                reason += f"{name} was passed over ({error}); "
            else:
                return name, f"{reason}the first that is configured: its key is in the keyring"
    return "offline", (
        f"{reason}no provider is configured: the documentation on this machine is searched"
    )


def traced(settings: Settings) -> bool:
    """Return whether observations go anywhere."""
    secret = settings.langfuse_secret_key or "langfuse" in settings.stored_keys
    return bool(settings.langfuse_public_key and secret) and settings.langfuse_tracing


async def adapter_of(settings: Settings, group: registry.Group, name: str) -> Any:
    """Return what `made` returns; only the first time, which may read files, takes a thread."""
    known = _known((settings, group, name))
    return await offload(made, settings, group, name) if known is None else known


def made(settings: Settings, group: registry.Group, name: str) -> Any:
    """Return the process's one adapter of these settings; `name` may end in `:model`.

    Threads that come at once may each make one; all get the one that is kept. Raises ConfigError.
    """
    key = (settings, group, name)
    if (known := _known(key)) is not None:
        return known
    adapter = _make(settings, group, name)
    with _lock:
        kept = _adapters.setdefault(key, adapter)
        _make_room(group)
    return kept


def class_of(group: registry.Group, vendor: str) -> Any:
    """Return what has the name. Raises ConfigError with all that there are, and the nearest."""
    try:
        return registry.load(group, vendor)
    except ConfigError as error:
        known = registry.names(group)
        if vendor in known:  # it is there, and something else is wrong with it
            raise
        instead = meant(vendor, known).removeprefix("; d")
        told = f" D{instead}" if instead else ""
        raise ConfigError(f"{error}{told}") from error


def _known(key: tuple[Settings, registry.Group, str]) -> Any:
    with _lock:
        if (known := _adapters.get(key)) is not None:
            _adapters.move_to_end(key)
        return known


def _make_room(group: registry.Group) -> None:
    """Forget what was asked for longest ago: keys that users bring push out no database.

    It is not closed here: who still uses it may go on, and a database closes itself after that.
    """
    alike = [key for key in _adapters if (key[1] in _OPEN) == (group in _OPEN)]
    if len(alike) > MAX_ADAPTERS:
        del _adapters[alike[0]]


def remembered_embedder(settings: Settings, fingerprint: str) -> Embedder | None:
    """Return the embedder that a collection remembers; None where its name does not lead to it.

    Raises ConfigError where it does but something is missing, such as a key.
    """
    if fingerprint.partition(":")[0] not in registry.names("embeddings"):
        return None
    embedder: Embedder = made(settings, "embeddings", fingerprint)
    return embedder if embedder.fingerprint == fingerprint else None


def is_configured(settings: Settings, provider: str) -> bool:
    """Return whether the settings, the environment or the keyring say how to reach a provider."""
    access = settings.providers.get(provider)
    given = access and (access.api_key or access.base_url or access.search_engine_id)
    return bool(given) or provider in settings.stored_keys


def provider_guard(settings: Settings, adapter: object) -> ProviderGuard | None:
    """Return what limits all of this process's calls to the adapter's provider with its key.

    None for an adapter without a `source`, such as a live object of the caller's. Raises
    ConfigError, StoreError.
    """
    info = describe(adapter).info
    name, source = info.name, info.source
    if source is None:
        return None
    access = access_of(settings, adapter)

    def build(_: str) -> ProviderGuard:
        return ProviderGuard(
            name,
            rate_per_s=access.rate_per_s,
            quota=_quota(settings, source, access),
            quota_period=access.quota_period,
        )

    return guard_of(name, f"{source} {access.rate_per_s} {access.quota} {settings.home}", build)


def access_of(settings: Settings, adapter: object) -> ProviderAccess:
    """Return what the settings say of the adapter's provider, by its own name or its source's."""
    known, info = settings.providers, describe(adapter).info
    here = (info.source or "").partition("@")[0].partition(":")[0]
    return known.get(info.name) or known.get(here) or ProviderAccess()


def quota_left(settings: Settings, adapter: object) -> int | None:
    """Return how many requests the quota of the settings still allows; None without one.

    Blocks. Raises ConfigError, StoreError.
    """
    access, info = access_of(settings, adapter), describe(adapter).info
    quota = None if info.source is None else _quota(settings, info.source, access)
    if quota is None:
        return None
    period = period_name(time.time(), quota.period)
    return max(0, quota.limit - quota.store.used(info.name, quota.key_id, period=period))


def _quota(settings: Settings, source: str, access: ProviderAccess) -> Quota | None:
    if access.quota is None:
        return None
    store = made(settings, "usage", "sqlite")
    return Quota(store, key_id(source), access.quota, access.quota_period)


def _make(settings: Settings, group: registry.Group, name: str) -> Any:
    adapter = _built(settings, group, name)
    is_known = group != "search" or name.partition(":")[0] in registry.BUILTIN[group]
    if not is_known:
        _give_source(settings, adapter, name)
    return adapter


def _give_source(settings: Settings, adapter: Any, name: str) -> None:
    """Tell a third party's adapter apart by name, address and key, as limits and caching need."""
    access = settings.access(name.partition(":")[0])
    key = access.api_key.get_secret_value() if access.api_key else None
    place = " ".join(filter(None, (access.base_url, access.search_engine_id)))
    if not give_source(adapter, f"{name}@{place or '-'}#{key_id(key)}"):
        _LOGGER.warning(
            "The search provider %s has no limits, cache or fallback: its adapter needs a `source`"
            " that names provider, address and key.",
            name,
        )


def _built(settings: Settings, group: registry.Group, name: str) -> Any:
    vendor, _, model = name.partition(":")
    if model and group in ("models", "embeddings") and vendor not in registry.names(group):
        langchain = registry.load(group, "langchain")  # it knows many vendors' packages
        return langchain.from_vendor(settings, vendor=vendor, model=model)
    build = registry.builder_of(class_of(group, vendor))
    if build is None:
        raise ConfigError(f"{vendor!r} cannot be named: give the live object in Python.")
    if not model:
        return build(settings)
    if "model" not in inspect.signature(build).parameters:
        raise ConfigError(f"{vendor!r} takes no model: write {vendor!r} instead of {name!r}.")
    return build(settings, model=model)
