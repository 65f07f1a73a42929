"""What is told of a wrong setting: where it stands, and which name was meant."""

from __future__ import annotations

import logging
import os
from typing import TYPE_CHECKING, Any, Final

from .. import registry
from ..errors import ConfigError
from .sources import CONFIG_VARIABLE, place_of, variables_of, vendor_part
from .table import PREFIX, ProviderAccess, SettingsTable

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from pydantic_core import ErrorDetails

_LOGGER = logging.getLogger(__name__)
_told: Final[set[str]] = set()
"""Variables that this process was warned of."""


def problem(item: ErrorDetails, given: Mapping[str, Any]) -> str:
    """Return what is wrong with a setting, by the variable, file key or argument that sets it."""
    path = [str(part) for part in item["loc"]]
    if item["type"] == "extra_forbidden":
        known = ProviderAccess.model_fields if len(path) > 1 else SettingsTable.model_fields
        instead = meant(path[-1].removeprefix(PREFIX), known)
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
            instead = meant(name, known) or f". Known: {', '.join(known)}"
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
                meant(name, [one for one in known if one.startswith(PREFIX)]),
            )


def meant(name: str, known: Iterable[str]) -> str:
    """Return the nearest known name as the end of a sentence; blank where none is near.

    >>> meant("Tenannt", ["home", "tenant"]), meant("colour", ["home", "tenant"])
    ('; did you mean tenant?', '')
    """
    import difflib

    names = {one.lower(): one for one in known}
    near = difflib.get_close_matches(name.lower().replace("-", "_"), names, n=1)
    return f"; did you mean {names[near[0]]}?" if near else ""
