"""Which keys there are and where each comes from: environment, settings file or keyring."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Final, Literal, NamedTuple

from ..ports.description import read_info
from . import PREFIX, registry
from .keyring import variable_of

if TYPE_CHECKING:
    from pydantic import SecretStr

    from . import Settings

KeyOrigin = Literal["environment", "file", "keyring"]

_FIELDS: Final = {
    "embeddings": "embeddings_api_key",
    "langfuse": "langfuse_secret_key",
    "openai": "openai_api_key",
}
"""Keys that are no search provider's, and the settings that hold them."""
_ENDING: Final = 4
_LONG: Final = 16
"""Characters of a key of which the last ones tell it from others but do not give it away."""


class FoundKey(NamedTuple):
    """A key that a run would take."""

    name: str
    source: KeyOrigin
    variable: str
    """The variable that gives it, or would."""

    @property
    def where(self) -> str:
        """Where it comes from, in words."""
        named = {"environment": self.variable, "file": "the settings", "keyring": "the keyring"}
        return named[self.source]


def key_names() -> list[str]:
    """Return the names that a key can be kept for, sorted: search providers, models, tracing."""
    return sorted({*_FIELDS, *filter(_takes_key, registry.names("search"))})


def find_key(settings: Settings, name: str) -> FoundKey | None:
    """Return where the key of that name comes from, None where there is none."""
    variable = next(filter(os.environ.get, _variables(name)), "")
    if given_key(settings, name) is not None:
        return FoundKey(name, "environment" if variable else "file", variable or variable_of(name))
    if name in settings.stored_keys:
        return FoundKey(name, "keyring", variable_of(name))
    return None


def given_key(settings: Settings, name: str) -> SecretStr | None:
    """Return the key that environment or file give."""
    if field := _FIELDS.get(name):
        given: SecretStr | None = getattr(settings, field)
        return given
    access = settings.providers.get(name)
    return access.api_key if access else None


def ending(key: str) -> str:
    """Return the last characters of a long key, none of a short one.

    >>> ending("tvly-0123456789-wxyz"), ending("open-sesame")
    ('wxyz', '')
    """
    return key[-_ENDING:] if len(key) >= _LONG else ""


def _takes_key(name: str) -> bool:
    """Return whether a provider takes a key; third parties' may."""
    if name not in registry.BUILTIN["search"]:
        return True
    return bool(read_info(registry.load_adapter("search", name)).key_variable)


def _variables(name: str) -> tuple[str, ...]:
    ours = f"{PREFIX}{_FIELDS[name].upper()}" if name in _FIELDS else ""
    return (ours, variable_of(name)) if ours else (variable_of(name),)
