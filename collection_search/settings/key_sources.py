"""Names and sources of the keys: environment, settings file or keyring."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Final, Literal, NamedTuple

from typing_extensions import TypedDict

from ..errors import ConfigError, InputError
from ..ports.description import read_info
from . import PREFIX, registry
from .adapter_factory import drop_key_holders, search_providers
from .keyring import clear_cache, read_key, variable_of

if TYPE_CHECKING:
    from pydantic import SecretStr

    from . import Settings

KeyOrigin = Literal["environment", "file", "keyring"]

_FIELDS: Final = {
    "embeddings": "embeddings_api_key",
    "langfuse": "langfuse_secret_key",
    "openai": "openai_api_key",
}
"""Settings of the keys that belong to no search provider."""
_ENDING: Final = 4
_LONG: Final = 16
"""Characters of a key whose ending may be shown."""


class FoundKey(NamedTuple):
    """The source of a key that a run would use."""

    name: str
    source: KeyOrigin
    variable: str
    """The variable for this key, set or not."""

    @property
    def where(self) -> str:
        """The source in words."""
        named = {"environment": self.variable, "file": "the settings", "keyring": "the keyring"}
        return named[self.source]


def key_names(settings: Settings) -> list[str]:
    """Return the names that a key can be stored for, sorted: search providers, models, tracing."""
    return sorted({*_FIELDS, *filter(_takes_key, search_providers(settings))})


def find_key(settings: Settings, name: str) -> FoundKey | None:
    """Return the source of the key of that name, None without a key."""
    ours = f"{PREFIX}{_FIELDS.get(name, '').upper()}"
    variable = next(filter(os.environ.get, (ours, variable_of(name))), "")
    if given_key(settings, name) is not None:
        return FoundKey(name, "environment" if variable else "file", variable or variable_of(name))
    if name in settings.stored_keys:
        return FoundKey(name, "keyring", variable_of(name))
    return None


def given_key(settings: Settings, name: str) -> SecretStr | None:
    """Return the key from environment or file."""
    owner = settings if name in _FIELDS else settings.providers.get(name)
    key: SecretStr | None = getattr(owner, _FIELDS.get(name, "api_key"), None)
    return key


class ShownKey(TypedDict):
    """A key as a person may see it."""

    name: str
    source: KeyOrigin
    ending: str | None
    """Its last characters; None for a short one."""
    problem: str | None
    """Why the keyring did not give it."""


def known_key_name(settings: Settings, text: str) -> str:
    """Return the normalized name. Raises InputError without the text, which may be a key."""
    name = text.strip().lower()
    if name not in (known := key_names(settings)):
        raise InputError(f"Nothing of that name takes a key. Known: {', '.join(known)}.")
    return name


def found_keys(settings: Settings) -> list[FoundKey]:
    """Return the sources of all keys, by name."""
    return [key for name in key_names(settings) if (key := find_key(settings, name))]


def shown_key(settings: Settings, key: FoundKey) -> ShownKey:
    """Return the key with its last characters, or the keyring's problem with it. Blocks."""
    last, problem = "", None
    try:
        given = given_key(settings, key.name)
        last = ending(given.get_secret_value().strip() if given else read_key(key.name))
    except ConfigError as error:
        problem = str(error)
    return {
        "name": key.name,
        "source": key.source,
        "ending": last or None,
        "problem": problem,
    }


def renew_keys(settings: Settings) -> None:
    """Make whatever starts with these settings from now on use the keyring's present keys.

    The settings stay the same object, so that stores and their workers go on. Blocks.
    """
    clear_cache()
    settings.renew_stored_keys()
    drop_key_holders()


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
