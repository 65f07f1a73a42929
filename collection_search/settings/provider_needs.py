"""What must be given of a search provider, by settings, environment or keyring, before it is used.

Choice, fallback, page, remote callers and diagnosis all go by this one table.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, Literal

from pydantic import SecretStr

from . import registry
from .sources import variable_for

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from ..ports.provider_info import ProviderInfo
    from . import Settings

AccessField = Literal["api_key", "base_url", "search_engine_id"]
"""A field of `ProviderAccess` that tells what a provider is reached with."""

_PARTS: Final[tuple[AccessField, ...]] = ("api_key", "base_url", "search_engine_id")
_KEY: Final[tuple[AccessField, ...]] = ("api_key",)

NEEDS: Final[Mapping[str, tuple[AccessField, ...]]] = {
    "tavily": _KEY,  # without one it is a trial, for those who ask for it by name
    "brave": _KEY,
    "searxng": ("base_url",),
    "serper": _KEY,
    "exa": _KEY,
    "linkup": _KEY,
    "perplexity": _KEY,
    "serpapi": _KEY,
    "kagi": _KEY,
    "mojeek": _KEY,
    "google": ("api_key", "search_engine_id"),
    "openalex": _KEY,  # as Tavily
}
"""The fields that a built-in provider needs, all of them; one that is not listed needs nothing."""


def is_configured(settings: Settings, provider: str) -> bool:
    """Return whether all that the provider needs is given; of one without needs, anything.

    What another package's adapter needs is not known without loading it.
    """
    if needed := _needs_of(settings, provider):
        return all(_is_given(settings, provider, part) for part in needed)
    return any(_is_given(settings, provider, part) for part in _PARTS)


def missing_variables(
    settings: Settings, provider: str, info: ProviderInfo | None = None
) -> list[str]:
    """Return the variables for what the provider still needs; none if it is complete.

    Of another package's adapter of which nothing is given it is what its `info` names.
    """
    if needed := _needs_of(settings, provider):
        missing = [part for part in needed if not _is_given(settings, provider, part)]
        return [variable_for(provider, part) for part in missing]
    if info is None or is_configured(settings, provider):
        return []
    needs_address = info.default_address == ""
    address = info.address_variable if needs_address else None
    key = info.key_variable if info.needs_key or not needs_address else None
    return [variable for variable in (key, address) if variable]


def needed_variables(settings: Settings, provider: str) -> list[str]:
    """Return the variables for all that the provider needs, given or not."""
    return [variable_for(provider, part) for part in _needs_of(settings, provider)]


def has_stored_key(settings: Settings, provider: str) -> bool:
    """Return whether its key is in the keyring, and nowhere before it."""
    access = settings.providers.get(provider)
    is_given = access is not None and access.api_key is not None
    return not is_given and provider in settings.stored_keys


def touched_names(settings: Settings) -> list[str]:
    """Return the names of which something is given, sorted; not all of them need be providers.

    Keys of models and of tracing have names too.
    """
    named = {*settings.providers, *settings.stored_keys} - registry.UNNAMED - registry.OTHER_KEYS
    return sorted(name for name in named if _is_touched(settings, name))


def own_endpoints(settings: Settings) -> list[str]:
    """Return the names of the JSON endpoints of the settings, in their order."""
    return [name for name in settings.providers if settings.described(name)]


def join_names(names: Iterable[str]) -> str:
    """Return the names as a sentence has them.

    >>> join_names(["a"]), join_names(["a", "b", "c"])
    ('a', 'a, b and c')
    """
    *first, last = names
    return f"{', '.join(first)} and {last}" if first else last


def _needs_of(settings: Settings, provider: str) -> tuple[AccessField, ...]:
    return ("base_url",) if settings.described(provider) else NEEDS.get(provider, ())


def _is_touched(settings: Settings, provider: str) -> bool:
    """Return whether a key, an address or an engine is there, enough or not, blank or not."""
    access = settings.providers.get(provider)
    is_named = any(getattr(access, part, None) is not None for part in _PARTS)
    return is_named or provider in settings.stored_keys


def _is_given(settings: Settings, provider: str, part: AccessField) -> bool:
    """Return whether the field has a value; blanks are none."""
    if part == "api_key" and has_stored_key(settings, provider):
        return True
    access = settings.providers.get(provider)
    value = getattr(access, part, None)
    text = value.get_secret_value() if isinstance(value, SecretStr) else value
    return bool(text and text.strip())
