"""What is told of a wrong setting: where it stands, and which name was meant."""

from __future__ import annotations

import logging
import os
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Final

from ..errors import ConfigError
from . import registry
from .sources import CONFIG_VARIABLE, place_of, variables_of, vendor_part
from .table import PREFIX, ProviderAccess, SettingsTable

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from pydantic_core import ErrorDetails

_LOGGER = logging.getLogger(__name__)
_told: Final[set[str]] = set()
"""Variables that this process was warned of."""


def describe_mistake(item: ErrorDetails, given: Mapping[str, Any]) -> str:
    """Return what is wrong with a setting, by the variable, file key or argument that sets it."""
    path = [str(part) for part in item["loc"]]
    if item["type"] == "extra_forbidden":
        is_field = len(path) == 1
        instead = (
            suggest_field(path[0]) if is_field else suggest(path[-1], ProviderAccess.model_fields)
        )
        return f"{place_of(path, given)}: there is no such setting{instead}"
    if path[0].startswith(PREFIX):  # pydantic names the variable wherever the value comes from
        path[0] = path[0].removeprefix(PREFIX).lower()
    return f"{place_of(path, given)}: {item['msg']}"


def refuse_unknown_providers(providers: Mapping[str, object], given: Mapping[str, Any]) -> None:
    """Raise ConfigError for a provider of the settings that no adapter has as its name.

    Vendors' variables may be of anybody's, and arguments may be of live objects: they are let be.
    """
    others = [name for name in providers if name not in registry.BUILTIN["search"]]
    if not others:
        return
    variables = filter(None, map(vendor_part, os.environ))
    let_be = {name for name, _ in variables} | set(given.get("providers", ()))
    written = [name for name in others if name not in let_be]
    known = registry.names("search") if written else []
    for name in written:
        if name not in known:
            place = place_of(("providers", name), given)
            instead = suggest(name, known) or f". Known: {', '.join(known)}"
            raise ConfigError(
                f"Settings are not valid. {place}: there is no such search provider{instead}"
            )


def warn_of_unknown_variables() -> None:
    """Log a warning, once in a process, for each of our variables that this version lacks."""
    ours = [name for name in os.environ if name.startswith(PREFIX) and name not in _told]
    if not ours:
        return
    known = {
        CONFIG_VARIABLE,
        *(name for one in SettingsTable.model_fields for name in variables_of(one)),
    }
    for name in ours:
        if name not in known and os.environ[name]:
            _told.add(name)
            _LOGGER.warning(
                "the variable %s is none of this version and is not used%s",
                name,
                suggest_field(name, is_variable=True),
            )


def suggest_field(name: str, *, is_variable: bool = False) -> str:
    """Return what `suggest` does, of settings: a vendor's key is none of another vendor.

    >>> suggest_field("tavily_api_key"), suggest_field("acme_api_key")
    ('; did you mean providers.tavily.api_key?', '')
    """
    fields = {one: one for one in SettingsTable.model_fields}
    if is_variable:
        fields = {one: PREFIX + one.upper() for one in [*fields, "config"]}
    name = name.upper().replace("-", "_").removeprefix(PREFIX)
    named = vendor_part(name.replace("__", "_").removeprefix("PROVIDERS_"))
    if named is None:
        return suggest(name, fields, fields)
    vendor, part = named
    places = {
        one: f"{one}_{part}".upper() if is_variable else f"providers.{one}.{part}"
        for one in registry.names("search")
    }
    end = f"_{part}"
    places |= {one.removesuffix(end): to for one, to in fields.items() if one.endswith(end)}
    return suggest(vendor, places, places)


def suggest(
    name: str, known: Iterable[str], shown: Mapping[str, str] = MappingProxyType({})
) -> str:
    """Return the nearest known name, as it is to be shown, as the end of a sentence.

    Blank where none is near.

    >>> suggest("Tenannt", ["home", "tenant"]), suggest("colour", ["home", "tenant"])
    ('; did you mean tenant?', '')
    """
    import difflib

    names = {one.lower(): shown.get(one, one) for one in known}
    near = difflib.get_close_matches(name.lower().replace("-", "_"), names, n=1)
    return f"; did you mean {names[near[0]]}?" if near else ""
