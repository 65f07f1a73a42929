"""The form of a run's context, as a server shows it: choices and defaults of its operator."""

from __future__ import annotations

import re
from copy import deepcopy
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Final

from .remote_caller import remote_choices

if TYPE_CHECKING:
    from collections.abc import Mapping

    from . import Settings

ADDRESS_OR_PATH: Final = re.compile(r"://|(^|:)([/\\~.]|[A-Za-z]:[/\\])")
"""In the name of a model or of a judge: the operator's own matter."""

_EXAMPLES: Final[Mapping[str, Any]] = MappingProxyType({"max_cost_usd": 0.05})
_NAMES: Final = frozenset(("provider", "model", "embeddings", "ensemble", "reranker"))


def context_form(schema: Mapping[str, Any], settings: Settings) -> dict[str, Any]:
    """Return the context's JSON schema with what the settings allow, and their values as defaults.

    The choices stand in this schema only: Python callers may give live objects. No key, address or
    path is among them; a model or judge of such a name is used where the form leaves it open.
    """
    form = deepcopy(dict(schema))
    choices = remote_choices(settings)
    for name, field in form["properties"].items():
        value = getattr(settings, name, None)
        shown = [one for one in choices.get(name, ()) if not ADDRESS_OR_PATH.search(one)]
        if name == "ensemble":
            shown = [" ".join(one for one in shown if one != "lexical")]  # that is no embedder
            value = None if value is None or ADDRESS_OR_PATH.search(value) else value
        is_shown = name not in choices or name == "ensemble" or value in shown
        _fill(field, value if is_shown else None)
        _offer(field, name, [one for one in shown if one])
    if settings.max_cost_usd is not None:
        form["properties"]["max_cost_usd"]["maximum"] = settings.max_cost_usd
    return form


def _fill(field: dict[str, Any], default: Any) -> None:
    if default is not None:
        field["default"] = default
    plain_type(field)


def _offer(field: dict[str, Any], name: str, shown: list[str]) -> None:
    """Add the choices, or for a field that is no choice an example."""
    if shown:
        field["examples" if name == "ensemble" else "enum"] = shown
    elif name in _EXAMPLES:
        field.setdefault("examples", [_EXAMPLES[name]])
    elif name in _NAMES:
        field["description"] += " This server has none to choose."
        field.setdefault("default", "")


def input_form(schema: Mapping[str, Any], defaults: Mapping[str, Any]) -> dict[str, Any]:
    """Return the JSON schema of an input for a form: required fields first, one type a field.

    `defaults` are values of the settings by the name of the field.
    """
    form = deepcopy(dict(schema))
    fields, required = form.get("properties", {}), form.get("required", [])
    for name, field in fields.items():
        _fill(field, defaults.get(name))
    order = sorted(fields, key=lambda name: name not in required)  # stable
    form["properties"] = {name: fields[name] for name in order}
    return form


def plain_type(field: dict[str, Any]) -> None:
    """Replace "a text or null" by "a text", and drop the default null, which a form cannot show.

    A yes or no without another default keeps its null: there it is the third choice.
    """
    kinds = [one for one in field.get("anyOf", ()) if one != {"type": "null"}]
    is_third = bool(kinds) and kinds[0].get("type") == "boolean" and field.get("default") is None
    if len(kinds) != 1 or is_third:
        return
    del field["anyOf"]
    field.update(kinds[0])
    if field.get("default", ...) is None:
        del field["default"]
