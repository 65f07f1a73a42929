"""Factory of adapters: one per name and settings, cached, with its provider's limits."""

from __future__ import annotations

import inspect
import logging
import sys
import threading
import time
from collections import OrderedDict
from typing import TYPE_CHECKING, Any, Final, TypeAlias

from ..errors import ConfigError
from ..ports.description import describe, give_source
from ..resilience import ProviderGuard, Quota, guard_of
from ..resilience.quota import period_name
from ..runtime.concurrency import offload
from ..runtime.unheard import NULL_LISTENER
from ..text.known_secrets import key_id
from ..text.problems import suggest
from . import ProviderAccess, registry
from .rate_file import RateFile

if TYPE_CHECKING:
    from httpx import AsyncClient
    from langchain_core.runnables import RunnableConfig

    from ..ports import Listener
    from . import Settings

MAX_ADAPTERS: Final = 64
"""Cached adapters at a time: of those with open resources, and of all others."""
_ON_CLIENT: Final = "_collection_search_adapters"
_OPEN: Final = frozenset({"readers", "runs", "stores", "usage", "tracing"})
"""Groups whose adapters have open files, processes or unsent observations."""

_WITH_KEYS: Final = frozenset({"embeddings", "models", "search", "tracing"})
"""Groups whose adapters have read a key."""

_LOGGER = logging.getLogger(__name__)
_Key: TypeAlias = "tuple[Settings, registry.Group, str]"
_adapters: OrderedDict[_Key, Any] = OrderedDict()
_lock = threading.Lock()


def is_traced(settings: Settings) -> bool:
    """Return whether observations go anywhere."""
    secret = settings.langfuse_secret_key or "langfuse" in settings.stored_keys
    return bool(settings.langfuse_public_key and secret) and settings.langfuse_tracing


def is_counted(settings: Settings) -> bool:
    """Return whether searches are counted for monitoring."""
    return settings.metrics or settings.metrics_file is not None


def has_callbacks(config: RunnableConfig) -> bool:
    """Return whether anybody is told of the runs below this one."""
    callbacks = config.get("callbacks")
    return bool(getattr(callbacks, "handlers", callbacks))


def listener_of(config: RunnableConfig) -> Listener:
    """Return the callback handlers of a LangChain run as a listener."""
    if not has_callbacks(config):
        return NULL_LISTENER
    return registry.load_adapter("tracing", "callbacks")(config)  # type: ignore[no-any-return]


def surrounding_listener() -> Listener:
    """Return the listener of the LangChain run in which this is called, if there is one."""
    # Not imported here: who runs LangChain has done it, for all others it is slow.
    module = sys.modules.get("langchain_core.runnables.config")
    variable = getattr(module, "var_child_runnable_config", None)
    config = None if variable is None else variable.get()
    return listener_of(config) if config else NULL_LISTENER


async def adapter_of(
    settings: Settings, group: registry.Group, name: str, http_client: AsyncClient | None = None
) -> Any:
    """Return what `make_adapter` returns; the first call reads files, in a thread."""
    known = _known((settings, group, name), _adapters_of(http_client))
    if known is None:
        return await offload(make_adapter, settings, group, name, http_client)
    return known


def make_adapter(
    settings: Settings, group: registry.Group, name: str, http_client: AsyncClient | None = None
) -> Any:
    """Return the process's one adapter for these settings and this client of the caller's.

    `name` may end in `:model`. An adapter that takes no client is the same with and without one.
    Concurrent threads may each make one; all get the cached one. Raises ConfigError.
    """
    key: _Key = (settings, group, name)
    adapters = _adapters_of(http_client)
    if (known := _known(key, adapters)) is not None:
        return known
    if http_client is None:
        adapter = _make(settings, group, name)
    elif _takes_client(settings, group, name):
        adapter = _make(settings, group, name, http_client=http_client)
    else:
        adapter = make_adapter(settings, group, name)
    with _lock:
        cached = adapters.setdefault(key, adapter)
        _make_room(group, adapters)
    return cached


def _adapters_of(http_client: AsyncClient | None) -> OrderedDict[_Key, Any]:
    """Return the adapters that are cached for the client, and released with it.

    They are an attribute of the client: since they refer to it, a weak table would never free it.
    """
    if http_client is None:
        return _adapters
    with _lock:
        return vars(http_client).setdefault(_ON_CLIENT, OrderedDict())  # type: ignore[no-any-return]


def class_of(settings: Settings, group: registry.Group, vendor: str) -> Any:
    """Return the adapter class of a name. Raises ConfigError with the known names."""
    try:
        is_described = group == "search" and settings.described(vendor)
        return registry.load_adapter(group, registry.JSON_API if is_described else vendor)
    except ConfigError as error:
        known = search_providers(settings) if group == "search" else registry.names(group)
        if vendor in known:  # another error of that adapter
            raise
        instead = suggest(vendor, known).replace("; d", " D", 1)
        raise ConfigError(f"{error}{instead}") from error


def search_providers(settings: Settings) -> list[str]:
    """Return the names of all search providers, sorted: built-in, third parties', described."""
    described = filter(settings.described, settings.providers)
    return sorted({*registry.names("search"), *described} - {registry.JSON_API})


def _known(key: _Key, adapters: OrderedDict[_Key, Any]) -> Any:
    with _lock:
        if (known := adapters.get(key)) is not None:
            adapters.move_to_end(key)
        return known


def _make_room(group: registry.Group, adapters: OrderedDict[_Key, Any]) -> None:
    """Drop the least recently used adapter of the same kind, so that users' keys drop no database.

    It is not closed here: its users may go on, and a database closes itself after them.
    """
    alike = [key for key in adapters if (key[1] in _OPEN) == (group in _OPEN)]
    if len(alike) > MAX_ADAPTERS:
        del adapters[alike[0]]


def drop_key_holders() -> None:
    """Drop the cached adapters that have read a key; whoever has one in use goes on with it."""
    with _lock:
        for key in [one for one in _adapters if one[1] in _WITH_KEYS]:
            del _adapters[key]


def provider_guard(settings: Settings, adapter: object) -> ProviderGuard | None:
    """Return the limits of all calls of this process to the adapter's provider with its key.

    None for an adapter without a `source`, such as a live object of the caller's. Raises
    ConfigError, StoreError.
    """
    info = describe(adapter).info
    name, source = info.name, info.source
    if source is None:
        return None
    access = access_of(settings, adapter)
    rate_per_s = access.rate_per_s or info.rate_per_s

    def build(_: str) -> ProviderGuard:
        return ProviderGuard(
            name,
            rate_per_s=rate_per_s,
            quota=_quota(settings, source, access),
            memory=RateFile(settings.home, f"{name} {key_id(source)}"),
        )

    return guard_of(name, f"{source} {rate_per_s} {access.quota} {settings.home}", build)


def access_of(settings: Settings, adapter: object) -> ProviderAccess:
    """Return the settings of the adapter's provider, by its own name or that of its source."""
    known, info = settings.providers, describe(adapter).info
    here = (info.source or "").partition("@")[0].partition(":")[0]
    return known.get(info.name) or known.get(here) or ProviderAccess()


def quota_left(settings: Settings, adapter: object) -> int | None:
    """Return the rest of the quota in the settings; None without one.

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
    store = make_adapter(settings, "usage", settings.engine)
    return Quota(store, key_id(source), access.quota, access.quota_period)


def _give_source(settings: Settings, adapter: Any, name: str) -> None:
    """Set the name, address and key that limits and caching of a third party's adapter need."""
    access = settings.access(name.partition(":")[0])
    key = access.api_key.get_secret_value() if access.api_key else None
    place = " ".join(filter(None, (access.base_url, access.search_engine_id)))
    if not give_source(adapter, f"{name}@{place or '-'}#{key_id(key)}"):
        _LOGGER.warning(
            "The search provider %s has no limits, cache or fallback: its adapter needs a `source`"
            " that names provider, address and key.",
            name,
        )


def _takes_client(settings: Settings, group: registry.Group, name: str) -> bool:
    vendor, _, model = name.partition(":")
    if _is_of_langchain(group, vendor, model):
        return False
    build = registry.builder_of(class_of(settings, group, vendor))
    return build is not None and "http_client" in inspect.signature(build).parameters


def _is_of_langchain(group: registry.Group, vendor: str, model: str) -> bool:
    return bool(model) and group in registry.OF_LANGCHAIN and vendor not in registry.names(group)


def _make(settings: Settings, group: registry.Group, name: str, **given: Any) -> Any:
    adapter = _build(settings, group, name, **given)
    vendor = name.partition(":")[0]
    is_ours = vendor in registry.BUILTIN[group] or settings.described(vendor)
    if group == "search" and not is_ours:
        _give_source(settings, adapter, name)
    return adapter


def _build(settings: Settings, group: registry.Group, name: str, **given: Any) -> Any:
    vendor, _, model = name.partition(":")
    if _is_of_langchain(group, vendor, model):
        langchain = registry.load_adapter(group, "langchain")  # it knows many vendors' packages
        return langchain.from_vendor(settings, vendor=vendor, model=model)
    build = registry.builder_of(class_of(settings, group, vendor))
    if build is None:
        raise ConfigError(f"{vendor!r} cannot be named: give the live object in Python.")
    if not model:
        if group == "search" and settings.described(vendor):
            given["provider"] = vendor
        return build(settings, **given)
    if "model" not in inspect.signature(build).parameters:
        raise ConfigError(f"{vendor!r} takes no model: write {vendor!r} instead of {name!r}.")
    return build(settings, model=model, **given)
