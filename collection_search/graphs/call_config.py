"""The config and the context of a call, as LangGraph reads them."""

from __future__ import annotations

import functools
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from langchain_core.runnables.config import CONFIG_KEYS, ensure_config

from ..context import SearchContext
from ..errors import ConfigError
from ..settings.preloading import preload

if TYPE_CHECKING:
    from langchain_core.runnables import RunnableConfig

_PLACE: Final = ("thread_id", "checkpoint_ns", "checkpoint_id", "checkpoint_map")
"""Keys of `configurable` that name a place in a thread."""

_READ_AS_OURS: Final = (Mapping, str, bytes, int, float, list, tuple, set)
"""What is no context of a host: a map of our fields, or a mistake."""


class CallConfig(NamedTuple):
    """What a call is told by its config."""

    told: Mapping[str, Any]
    """The keys of `configurable` that the graph and the call have themselves."""
    configurable: Mapping[str, Any]
    """Those that LangGraph reads: a node around adds its own, unless the call names a place."""
    is_inside: bool
    """Whether it runs inside a node of another graph, with that graph's checkpoints."""

    @property
    def is_node(self) -> bool:
        """Whether it is the call that LangGraph makes for a graph that is a node."""
        return self.is_inside and bool(self.told.get("checkpoint_ns"))

    @property
    def place(self) -> RunnableConfig | None:
        """The checkpoint from which a call outside of a node goes on: a namespace hides its id.

        None without a thread, and for the thread 0: LangGraph reads the state of "0" in its place.
        """
        if not (thread_id := self.configurable.get("thread_id")):
            return None
        named = {"thread_id": thread_id}
        if not self.configurable.get("checkpoint_ns"):
            named["checkpoint_id"] = self.configurable.get("checkpoint_id")
        return {"configurable": named}

    @classmethod
    def read(cls, bound: RunnableConfig | None, given: RunnableConfig | None) -> CallConfig:
        """Return what a graph's own config and that of the call say; the second counts more."""
        around = ensure_config().get("configurable", {})
        told = {**_configurable(bound), **_configurable(given)}
        names_place = any(
            (config or {}).get("configurable", {}).get(name) not in (None, {})  # "" is a place
            for config in (bound, given)
            for name in _PLACE
        )
        read = told if names_place else {**around, **told}
        inside = around.get("checkpoint_ns")  # outside of a node LangGraph ignores a namespace
        return cls(told, read, bool(inside) and read.get("checkpoint_ns") == inside)


def _configurable(config: RunnableConfig | None) -> dict[str, Any]:
    """Return the keys of `configurable`; LangGraph takes unknown keys beside it for such, too."""
    given: Mapping[str, Any] = config or {}
    beside = {key: value for key, value in given.items() if key not in CONFIG_KEYS}
    return {**(given.get("configurable") or {}), **beside}


def with_configurable(given: Any, configurable: Mapping[str, Any]) -> Any:
    """Return the context with the fields that `configurable` has; its other keys are the host's.

    Raises ConfigError where the two differ, for a host's own context object, and for a tenant where
    the context names none.
    """
    _refuse_tenant(given, configurable)
    fields = remote_fields()
    asked = {key: value for key, value in configurable.items() if key in fields and value != ""}
    if not asked:
        return given
    known: Mapping[str, Any] = given if isinstance(given, Mapping) else {}
    if isinstance(given, SearchContext):
        known = {key: getattr(given, key) for key in given.model_fields_set}
    elif given is not None and not isinstance(given, Mapping):
        raise ConfigError(f"The context is not valid. Give {', '.join(asked)} in the context.")
    if wrong := [key for key in asked if key in known and known[key] != asked[key]]:
        said = "; ".join(f"{key}: configurable and context differ" for key in wrong)
        raise ConfigError(f"The context is not valid. {said}. Give it in the context alone.")
    added = {key: value for key, value in asked.items() if key not in known}
    if isinstance(given, SearchContext):
        return given.model_copy(update=_validated(added))
    return {**known, **added}


def _refuse_tenant(given: Any, configurable: Mapping[str, Any]) -> None:
    """Raise ConfigError for a `tenant_id` that nobody obeys; beside a tenant it is the host's."""
    if given is not None and not isinstance(given, Mapping | SearchContext):
        return
    asked = configurable.get("tenant_id")
    known = given.get("tenant_id") if isinstance(given, Mapping) else given and given.tenant_id
    if not asked or known:
        return
    if isinstance(given, SearchContext) and given.settings and given.settings.tenant == asked:
        return
    raise ConfigError(
        "The context is not valid. tenant_id: `configurable` does not choose the tenant. Give"
        " it in the context: SearchContext(tenant_id=...)."
    )


def _validated(fields: Mapping[str, Any]) -> dict[str, Any]:
    """Return the fields as a context has them. Raises ConfigError."""
    read = SearchContext.from_map(fields)
    return {key: getattr(read, key) for key in read.model_fields_set}


@functools.cache
def remote_fields() -> frozenset[str]:
    """Return the names of the fields that JSON may give."""
    return frozenset(SearchContext.model_json_schema()["properties"])


def read_context(given: Any) -> Any:
    """Return the context of a run for LangGraph; a map becomes ours. Raises ConfigError.

    What the context names is loaded meanwhile.
    """
    read = SearchContext.from_map(given) if isinstance(given, _READ_AS_OURS) else given
    if isinstance(read, SearchContext):
        preload(read)
    return read
