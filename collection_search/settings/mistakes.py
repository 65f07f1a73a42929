"""Messages about a wrong setting: its source, and the nearest known name."""

from __future__ import annotations

import logging
import os
import re
from typing import TYPE_CHECKING, Any, Final

from ..errors import ConfigError
from ..text.problems import suggest
from . import registry
from .endpoint_description import JsonApi, ResultPaths
from .function_settings import FunctionEntry, WebSearchSettings
from .page_parsers import PARSED_KINDS
from .price_settings import price_names
from .provider_access import ProviderAccess
from .sources import CONFIG_VARIABLE, JSON_VARIABLES, place_of, variables_of, vendor_part
from .table import (
    PREFIX,
    WEB_SEARCH_ENTRY,
    SettingsTable,
)
from .tenant_heuristics import heuristic_names

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping, Sequence

    from pydantic_core import ErrorDetails

_LOGGER = logging.getLogger(__name__)
_BELOW: Final = (ProviderAccess, JsonApi, ResultPaths)
"""What stands below a provider's name, below its `json_api`, and below its `fields`."""
_NAME: Final = re.compile(r"[a-z][a-z0-9_]*")
_TAKEN: Final = frozenset({"auto", "embeddings", "langfuse", "openai"})
"""Names with another meaning: a key of that name would be sent to the endpoint."""
_LATER: Final = frozenset({"tenants"})
"""Maps whose shape docs/reference/settings.md shows already."""
_told: Final[set[str]] = set()
"""Variables of which this process has warned."""


def describe_mistake(item: ErrorDetails, given: Mapping[str, Any]) -> str:
    """Return the mistake in a setting, with the variable, file key or argument that sets it."""
    path = [str(part) for part in item["loc"]]
    if path[0] == WEB_SEARCH_ENTRY:
        path = [*_entry_path(given), *path[1:]]
    if item["type"] != "extra_forbidden" and path[0].startswith(PREFIX):
        # pydantic names the variable wherever the value comes from
        path[0] = path[0].removeprefix(PREFIX).lower()
    place = place_of(path, given)
    if place in JSON_VARIABLES:
        return f"{place}: {ask_for_json(place)}"
    return f"{place}: {_describe_value(item, path)}"


def ask_for_json(variable: str) -> str:
    """Return what a variable of `JSON_VARIABLES` should hold."""
    return f"give a map as JSON, such as '{JSON_VARIABLES[variable]}'"


def _describe_value(item: ErrorDetails, path: Sequence[str]) -> str:
    if item["type"] == "extra_forbidden":
        field, *inner = path
        if field in _LATER and not inner:
            return "this version does not have this map yet; leave it out"
        if field == "parsers" and inner:
            return f"there is no such kind of page; take one of {', '.join(PARSED_KINDS)}"
        instead = _suggest_inner(path) if inner else suggest_field(field)
        return f"there is no such setting{instead}"
    if item["type"] == "model_type":
        return f"{item['msg']}; possible names: {', '.join(_fields_beside([*path, '']))}"
    return item["msg"]


def _entry_path(given: Mapping[str, Any]) -> list[str]:
    """Return the place of the entry `web_search`: by its own name, or in the map `providers`."""
    variables = variables_of(WEB_SEARCH_ENTRY)
    is_alone = WEB_SEARCH_ENTRY in given or any(map(os.environ.get, variables))
    return [WEB_SEARCH_ENTRY] if is_alone else ["providers", WEB_SEARCH_ENTRY]


def _suggest_inner(path: Sequence[str]) -> str:
    entry, name = path[-2:]
    if path[0] == "providers" and entry != WEB_SEARCH_ENTRY and name in FunctionEntry.model_fields:
        return suggest(entry, [WEB_SEARCH_ENTRY])  # a vendor has no field of this name
    return suggest(name, _fields_beside(path))


def _fields_beside(path: Sequence[str]) -> Iterable[str]:
    """Return the known names beside the last part of a path below a map of the settings."""
    if path[0] == "heuristics":
        return heuristic_names(path)
    if path[0] == "prices":
        return price_names(path)
    if path[0] == "parsers":
        return PARSED_KINDS
    if WEB_SEARCH_ENTRY not in path:
        return _BELOW[min(len(path) - 1, len(_BELOW) + 1) - 2].model_fields
    is_entry = path[-2] == WEB_SEARCH_ENTRY
    return FunctionEntry.model_fields if is_entry else WebSearchSettings.model_fields


def refuse_unknown_providers(settings: SettingsTable, given: Mapping[str, Any]) -> None:
    """Raise ConfigError for a provider of the settings that is the name of no adapter.

    Vendors' variables may belong to other programs, arguments to live objects: both are ignored.
    A described endpoint needs a name of its own and an address. The backend of `web_search` is a
    provider's name too.
    """
    providers = settings.providers
    described = {name for name, access in providers.items() if access.json_api}
    for name in described:
        if wrong := _mistake_of_endpoint(name, providers[name]):
            place = place_of(("providers", name), given)
            raise ConfigError(f"Settings are not valid. {place}: {wrong}")
    others = described | {*given.get("providers", ())} - {WEB_SEARCH_ENTRY}
    variables = filter(None, map(vendor_part, os.environ))
    ignored = {*registry.BUILTIN["search"], *others, *(name for name, _ in variables)}
    for name in (one for one in providers if one not in ignored):
        _refuse_unknown(name, place_of(("providers", name), given), {WEB_SEARCH_ENTRY})
    if settings.web_search and (backend := settings.web_search.settings.backend):
        place = place_of([*_entry_path(given), "settings", "backend"], given)
        _refuse_unknown(backend.partition(":")[0], place, {"auto", *others})


def _refuse_unknown(name: str, place: str, others: Collection[str]) -> None:
    """Raise ConfigError where neither an adapter nor one of the others has this name."""
    if name in others or name in registry.BUILTIN["search"].keys() - registry.UNNAMED:
        return  # without a look at the installed packages
    known = sorted({*registry.names("search"), *others} - registry.UNNAMED)
    if name not in known:
        shown = ", ".join(one for one in known if one != WEB_SEARCH_ENTRY)
        instead = suggest(name, known) or (
            f"; take one of {shown}, or give an endpoint of your own its base_url and json_api"
        )
        raise ConfigError(
            f"Settings are not valid. {place}: there is no such search provider{instead}"
        )


def _mistake_of_endpoint(name: str, access: ProviderAccess) -> str:
    """Return what is wrong with the name or address of a described endpoint, blank for nothing."""
    if name in _TAKEN or name in registry.BUILTIN["search"]:
        return f"{name} means something else: give the endpoint of json_api another name"
    if not _NAME.fullmatch(name):
        return (
            "the name of an endpoint is small letters, digits and _, so that variables such as"
            " INTRANET_API_KEY can be named for it"
        )
    if not access.base_url:
        return f"json_api needs the address of a server: set base_url, or {name.upper()}_BASE_URL"
    return ""


def warn_of_unknown_variables() -> None:
    """Log a warning, once in a process, for each of our variables that this version lacks."""
    ours = [name for name in os.environ if name.startswith(PREFIX) and name not in _told]
    if not ours:
        return
    known = {name for one in SettingsTable.model_fields for name in variables_of(one)}
    known.add(CONFIG_VARIABLE)
    for name in ours:
        if name not in known and os.environ[name]:
            _told.add(name)
            _LOGGER.warning(
                "the variable %s is none of this version and is not used%s",
                name,
                suggest_field(name, is_variable=True),
            )


def suggest_field(name: str, *, is_variable: bool = False) -> str:
    """Return the nearest setting as `suggest` does; a vendor's key never suggests another vendor.

    >>> suggest_field("tavily_api_key"), suggest_field("acme_api_key")
    ('; did you mean providers.tavily.api_key?', '')
    """
    fields = {one: one for one in SettingsTable.model_fields}
    if is_variable:
        fields = {one: PREFIX + one.upper() for one in [*fields, "config"]}
    name = name.upper().replace("-", "_").removeprefix(PREFIX)
    if name.lower() in _LATER:
        return ""
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
