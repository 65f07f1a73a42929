"""Filters of a search: an allow-list of keys, each with its condition in SQL.

Only the keys of this module stand in a statement. Names and values of a caller are bound.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from datetime import date
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from ....contracts.collection import FILTER_KEYS, OWN_METADATA, OWN_PROVIDER, validate_filters
from ....errors import InputError
from .documents import to_json

if TYPE_CHECKING:
    from ....contracts.collection import Filters

_ONE_OF: Final = ("host", "provider", "source", "url_key")
_COLUMNS: Final = ("title", "content_hash")
"""Facts of a page that are no part of its provenance."""
_MAX_NAMES: Final = 100
"""Of metadata: each is a condition, and engines limit the depth of a statement."""
IS_OWN: Final = f"(coalesce(provider, '') = '{OWN_PROVIDER}')"
"""True for a document that a caller stored with metadata of its own."""


class FilterDialect(NamedTuple):
    """The conditions that engines write in different ways."""

    is_pdf: str
    """Whether a document is a PDF: its caller's word, else its own."""
    day: str
    """The day on which it was published, NULL without one."""
    has_fact: Callable[[str, str], str]
    """Returns the condition that a fact by this name has one of these values, both parameters.

    The facts are the caller's metadata, else the provenance. 1 and 1.0 are equal, 1 and true not.
    Of a list one of its values counts.
    """


class DocumentFilter(NamedTuple):
    """A condition on documents, with its bound values."""

    condition: str = "TRUE"
    values: Mapping[str, Any] = MappingProxyType({})


def build_filter(filters: Filters | None, dialect: FilterDialect) -> DocumentFilter:
    """Return the filter as a condition that every document meets where nothing is asked.

    Raises InputError for what is no mapping, and for a key that is unknown or has a value of
    another kind.
    """
    validate_filters(filters)
    if not filters:
        return DocumentFilter()
    unknown = [key for key in filters if key not in FILTER_KEYS]
    if unknown:
        raise InputError(
            f"There is no filter {unknown[0]!r}. Known filters: {', '.join(FILTER_KEYS)}."
        )
    conditions, values = [], dict[str, Any]()
    for key, value in filters.items():
        condition, more = _condition(key, value, dialect)
        conditions.append(condition)
        values |= more
    return DocumentFilter(" AND ".join(conditions), values)


def _condition(key: str, value: Any, dialect: FilterDialect) -> tuple[str, Mapping[str, Any]]:
    if key in _ONE_OF:
        facts = [key, "url"] if key == "source" else [key]
        choices = [f"{fact} IN (SELECT value FROM json_each(:{key}))" for fact in facts]
        return f"({' OR '.join([*choices, _own_fact(key)])})", {key: _texts(key, value)}
    if key == "is_pdf":
        return f"({dialect.is_pdf}) = :is_pdf", {key: _of_kind(key, value, bool, "true or false")}
    if key == "url_prefix":
        prefix = _of_kind(key, value, str, "a text")
        return "substr(url, 1, length(:url_prefix)) = :url_prefix", {key: prefix}
    if key == OWN_METADATA:
        return _metadata(value, dialect)
    if key == "published_date":
        several = value if isinstance(value, (list, tuple, set, frozenset)) else [value]
        days = json.dumps([_day(key, one) for one in several])
        return f"({dialect.day}) IN (SELECT value FROM json_each(:{key}))", {key: days}
    compare = ">=" if key == "published_after" else "<="
    return f"({dialect.day}) {compare} :{key}", {key: _day(key, value)}


def _of_kind(key: str, value: Any, kind: type, name: str) -> Any:
    if not isinstance(value, kind):
        raise _refused(key, value, name)
    return value


def _own_fact(key: str) -> str:
    """Return the condition that the caller's own metadata has one of the values by this name."""
    own = f"json_extract(provenance, '$.{OWN_METADATA}.{key}')"
    return f"({IS_OWN} AND {own} IN (SELECT value FROM json_each(:{key})))"


def _metadata(wanted: Any, dialect: FilterDialect) -> tuple[str, Mapping[str, Any]]:
    """Return the condition that for every name a fact of the document has one of the values."""
    if not isinstance(wanted, Mapping):
        raise _refused(OWN_METADATA, wanted, "names with their values")
    if len(wanted) > _MAX_NAMES:
        raise InputError(
            f"The filter {OWN_METADATA} takes at most {_MAX_NAMES} names, but {len(wanted)} were"
            " given."
        )
    conditions: list[str] = []
    values: dict[str, str] = {}
    for n, (name, value) in enumerate(wanted.items()):
        if not isinstance(name, str):
            raise _refused(OWN_METADATA, name, "texts as names")
        conditions.append(_has_fact(f":name_{n}", f":values_{n}", dialect))
        values |= {f"name_{n}": name, f"values_{n}": _plain_values(name, value)}
    return " AND ".join(conditions) or "TRUE", values


def _has_fact(name: str, values: str, dialect: FilterDialect) -> str:
    columns = " ".join(f"WHEN '{column}' THEN {column}" for column in _COLUMNS)
    one_of = f"IN (SELECT value FROM json_each({values}))"
    in_column = f"(NOT {IS_OWN} AND CASE {name} {columns} END {one_of})"
    return f"({dialect.has_fact(name, values)} OR {in_column})"


def _plain_values(name: str, value: Any) -> str:
    several = [*value] if isinstance(value, (list, tuple, set, frozenset)) else [value]
    if not all(one is None or isinstance(one, (str, int, float)) for one in several):
        raise _refused(f"{OWN_METADATA}[{name!r}]", value, "a plain value or several")
    return to_json(several)


def _texts(key: str, value: Any) -> str:
    texts = [value] if isinstance(value, str) else value
    if not isinstance(texts, (list, tuple, set, frozenset)) or not all(
        isinstance(text, str) for text in texts
    ):
        raise _refused(key, value, "a text or several")
    return json.dumps([text.lower() if key == "host" else text for text in texts])


def _day(key: str, value: Any) -> str:
    try:
        return date.fromisoformat(str(value)[:10]).isoformat()
    except ValueError as error:
        raise _refused(key, value, "a date, as in 2026-01-31") from error


def _refused(key: str, value: Any, wanted: str) -> InputError:
    return InputError(f"The filter {key} takes {wanted}, not {value!r}.")
