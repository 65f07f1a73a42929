"""Sources of the settings: file, environment and the vendors' own variables."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from pydantic import AliasChoices
from pydantic_settings import PydanticBaseSettingsSource

from .table import PREFIX, WEB_SEARCH_ENTRY, SettingsTable

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from pydantic.fields import FieldInfo

CONFIG_VARIABLE: Final = PREFIX + "CONFIG"
CONFIG_FILE: Final = "collection-search.yaml"
PROVIDERS_VARIABLE: Final = PREFIX + "PROVIDERS"
JSON_VARIABLES: Final = {
    PROVIDERS_VARIABLE: '{"brave": {"quota": 2000}}',
    PREFIX + "WEB_SEARCH": '{"settings": {"backend": "searxng", "url": "http://searxng:8080"}}',
    PREFIX + "PRICES": '{"search": {"brave": {"per_thousand_requests": 3.0}}}',
    PREFIX + "PARSERS": '{"pdf": "our_ocr:read"}',
    PREFIX + "HEURISTICS": '{"blocked_hosts": ["spam.example"]}',
}
"""Variables that hold a map as JSON, with an example each."""

_SUFFIXES: Final = {"_API_KEY": "api_key", "_BASE_URL": "base_url"}
_PARTS: Final = {
    "SEARXNG_URL": ("searxng", "base_url"),
    "GOOGLE_SEARCH_ENGINE_ID": ("google", "search_engine_id"),
}


def config_path() -> Path:
    """Return the path of the settings file, which may not exist."""
    return Path(os.environ.get(CONFIG_VARIABLE) or CONFIG_FILE)


def variables_of(field: str) -> tuple[str, ...]:
    """Return the variables of a field, ours first.

    >>> variables_of("model"), variables_of("openai_api_key")
    (('COLLECTION_SEARCH_MODEL',), ('COLLECTION_SEARCH_OPENAI_API_KEY', 'OPENAI_API_KEY'))
    """
    alias = SettingsTable.model_fields[field].validation_alias
    others = alias.choices[1:] if isinstance(alias, AliasChoices) else ()
    return PREFIX + field.upper(), *map(str, others)


def place_of(path: Sequence[str], given: Mapping[str, Any]) -> str:
    """Return the source of the value at a path such as ("providers", "brave", "quota"), as text.

    A variable, the file with its key, or the bare key of an argument that is `given`.
    """
    key = ".".join(path)
    if _holds(given, path):
        return key
    if variable := next(_set_variables(path), ""):
        return f"{variable}: {key}" if variable in JSON_VARIABLES and path[1:] else variable
    return f"{config_path()}: {key}"


def _holds(given: Any, path: Sequence[str]) -> bool:
    for part in path:
        if not hasattr(given, "keys"):
            return True  # a live object
        if part not in given:
            return False
        given = given[part]
    return True


def _set_variables(path: Sequence[str]) -> Iterator[str]:
    """Yield the variables that set the value, in order of precedence."""
    present = {name.upper(): name for name, value in os.environ.items() if value.strip()}
    field, *below = path
    if field in SettingsTable.model_fields:
        for name in filter(present.get, variables_of(field)):
            if name != PROVIDERS_VARIABLE or all(one in os.environ[name] for one in below[:1]):
                yield name
    if field == "providers":
        yield from (name for name in present.values() if vendor_part(name) == tuple(below[:2]))


def vendor_part(variable: str) -> tuple[str, str] | None:
    """Return provider and part of a vendor's variable, None for any other variable.

    >>> vendor_part("TAVILY_API_KEY"), vendor_part("PATH")
    (('tavily', 'api_key'), None)
    """
    if variable in _PARTS or variable.startswith(PREFIX):
        return _PARTS.get(variable)
    for suffix, part in _SUFFIXES.items():
        name = variable.removesuffix(suffix).lower()
        if variable.endswith(suffix) and name not in ("", WEB_SEARCH_ENTRY):
            return name, part
    return None


def variable_for(provider: str, part: str) -> str:
    """Return the variable that sets a part of a provider's access; the inverse of `vendor_part`.

    >>> variable_for("tavily", "api_key"), variable_for("searxng", "base_url")
    ('TAVILY_API_KEY', 'SEARXNG_URL')
    """
    for variable, named in _PARTS.items():
        if named == (provider, part):
            return variable
    return f"{provider}_{part}".upper()


class VendorVariables(PydanticBaseSettingsSource):
    """A source of `<PROVIDER>_API_KEY` and the like for every provider, also of third parties."""

    def get_field_value(self, field: FieldInfo, field_name: str) -> tuple[Any, str, bool]:  # noqa: ARG002
        """Return no value: `__call__` makes the whole map at once."""
        return None, field_name, False

    def __call__(self) -> dict[str, Any]:
        """Return the map `providers` from the environment."""
        found: dict[str, dict[str, str]] = {}
        for variable, value in os.environ.items():
            if (named := vendor_part(variable)) and value.strip():
                provider, part = named
                found.setdefault(provider, {})[part] = value.strip()
        return {"providers": found} if found else {}
