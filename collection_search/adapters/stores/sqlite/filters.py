"""Filters of a search: an allow-list of keys, each with its condition in SQL."""

from __future__ import annotations

import json
from datetime import date
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from ....contracts.collection import FILTER_KEYS
from ....errors import InputError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from ....contracts.collection import Filters

_ONE_OF: Final = ("host", "provider", "source", "url_key")
_TYPED: Final[dict[str, tuple[type, str, str]]] = {
    "is_pdf": (bool, "true or false", "is_pdf = :is_pdf"),
    "url_prefix": (str, "a text", "substr(url, 1, length(:url_prefix)) = :url_prefix"),
}


class DocumentFilter(NamedTuple):
    """A query for the ids of the documents that fit, with its bound values."""

    query: str
    values: dict[str, Any]


def build_filter(collection: int, filters: Filters | None) -> DocumentFilter | None:
    """Return the filter as a query, None when every document fits.

    Raises InputError for a key that is unknown or has a value of another kind.
    """
    if not filters:
        return None
    unknown = [key for key in filters if key not in FILTER_KEYS]
    if unknown:
        raise InputError(
            f"There is no filter {unknown[0]!r}. Known filters: {', '.join(FILTER_KEYS)}."
        )
    conditions, values = ["collection_id = :collection"], {"collection": collection}
    for key, value in filters.items():
        condition, more = _condition(key, value)
        conditions.append(condition)
        values |= more
    # The index holds all of these but the key, so that no document need be read.
    index = "" if "url_key" in filters else " INDEXED BY documents_by_facts"
    return DocumentFilter(
        f"SELECT id FROM documents{index} WHERE {' AND '.join(conditions)}", values
    )


def _condition(key: str, value: Any) -> tuple[str, Mapping[str, Any]]:
    if key in _ONE_OF:
        return f"{key} IN (SELECT value FROM json_each(:{key}))", {key: _texts(key, value)}
    if key in _TYPED:
        kind, name, condition = _TYPED[key]
        if not isinstance(value, kind):
            raise _refused(key, value, name)
        return condition, {key: value}
    compare = ">=" if key == "published_after" else "<="
    return f"published {compare} :{key}", {key: _day(key, value)}


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
