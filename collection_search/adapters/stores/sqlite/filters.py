"""Filters of a search: an allow-list of keys, each with its condition in SQL.

Only the keys of this module stand in a statement. Names and values of a caller are bound.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from datetime import date
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from ....contracts.collection import FILTER_KEYS, OWN_METADATA, OWN_PROVIDER
from ....errors import InputError
from ..sql.documents import to_json

if TYPE_CHECKING:
    from collections.abc import Iterable

    from ....contracts.collection import Filters
    from .opening import SQLiteConnection

_ONE_OF: Final = ("host", "provider", "source", "url_key")
_COLUMNS: Final = ("title", "content_hash")
"""Facts of a page that are no part of its provenance."""
_IS_OWN: Final = f"provider IS '{OWN_PROVIDER}'"
_FACTS: Final = f"provenance, iif({_IS_OWN}, '$.{OWN_METADATA}', '$')"
"""The document's facts for json_each: its caller's metadata, else its provenance."""
_OWN_DAY: Final = f"substr(json_extract(provenance, '$.{OWN_METADATA}.published_date'), 1, 10)"
_DAY: Final = f"""CASE WHEN {_IS_OWN} THEN iif(
    {_OWN_DAY} GLOB '[0-9][0-9][0-9][0-9]-[0-9][0-9]-[0-9][0-9]', {_OWN_DAY}, NULL)
    ELSE published END"""
_OWN_IS_PDF: Final = f"json_extract(provenance, '$.{OWN_METADATA}.is_pdf')"
_SIMPLE: Final[dict[str, tuple[type, str, str]]] = {
    "is_pdf": (
        bool,
        "true or false",
        f"iif({_IS_OWN}, coalesce({_OWN_IS_PDF}, is_pdf), is_pdf) = :is_pdf",
    ),
    "url_prefix": (str, "a text", "substr(url, 1, length(:url_prefix)) = :url_prefix"),
}


class DocumentFilter(NamedTuple):
    """A condition on documents, with its bound values."""

    condition: str
    values: dict[str, Any]
    by_index: str
    """SQL that names the index to search by; empty where that is best left to SQLite."""

    def documents(self, connection: SQLiteConnection) -> list[int]:
        """Return the ids of the documents that fit."""
        row = connection.execute(  # one row of JSON takes half as long as many
            "SELECT json_group_array(id) FROM"
            f" (SELECT id FROM documents{self.by_index} WHERE {self.condition})",
            self.values,
        )
        return json.loads(row.fetchone()[0])  # type: ignore[no-any-return]

    def only_fitting(self, connection: SQLiteConnection, chunks: Iterable[int]) -> set[int]:
        """Return those of the chunks whose document fits."""
        rows = connection.execute(
            "SELECT chunks.id FROM chunks CROSS JOIN documents ON documents.id = document_id"
            " WHERE chunks.id IN (SELECT value FROM json_each(:asked_chunks))"
            f" AND {self.condition}",
            {**self.values, "asked_chunks": json.dumps([*chunks])},
        )
        return {row[0] for row in rows}


def build_filter(collection: int, filters: Filters | None) -> DocumentFilter | None:
    """Return the filter as a condition, None when every document fits.

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
    # The index holds most of these, so that few documents need be read.
    index = "" if "url_key" in filters else " INDEXED BY documents_by_facts"
    return DocumentFilter(" AND ".join(conditions), values, index)


def _condition(key: str, value: Any) -> tuple[str, Mapping[str, Any]]:
    if key in _ONE_OF:
        facts = [key, "url"] if key == "source" else [key]
        choices = [f"{fact} IN (SELECT value FROM json_each(:{key}))" for fact in facts]
        return f"({' OR '.join([*choices, _own_fact(key)])})", {key: _texts(key, value)}
    if key in _SIMPLE:
        kind, name, condition = _SIMPLE[key]
        if not isinstance(value, kind):
            raise _refused(key, value, name)
        return condition, {key: value}
    if key == OWN_METADATA:
        return _metadata(value)
    if key == "published_date":
        several = value if isinstance(value, (list, tuple, set, frozenset)) else [value]
        days = json.dumps([_day(key, one) for one in several])
        return f"{_DAY} IN (SELECT value FROM json_each(:{key}))", {key: days}
    compare = ">=" if key == "published_after" else "<="
    return f"{_DAY} {compare} :{key}", {key: _day(key, value)}


def _own_fact(key: str) -> str:
    """Return the condition that the caller's own metadata has one of the values by this name."""
    path = f"'$.{OWN_METADATA}.{key}'"
    return (
        f"({_IS_OWN} AND json_extract(provenance, {path}) IN (SELECT value FROM json_each(:{key})))"
    )


def _metadata(wanted: Any) -> tuple[str, Mapping[str, Any]]:
    """Return the condition that for every name a fact of the document has one of the values."""
    if not isinstance(wanted, Mapping):
        raise _refused(OWN_METADATA, wanted, "names with their values")
    conditions: list[str] = []
    values: dict[str, str] = {}
    for n, (name, value) in enumerate(wanted.items()):
        if not isinstance(name, str):
            raise _refused(OWN_METADATA, name, "texts as names")
        conditions.append(_has_fact(f":name_{n}", f":values_{n}"))
        values |= {f"name_{n}": name, f"values_{n}": _plain_values(name, value)}
    return " AND ".join(conditions) or "1", values


def _has_fact(name: str, values: str) -> str:
    """Return the condition; 1 and 1.0 are equal, 1 and true are not."""
    columns = " ".join(f"WHEN '{column}' THEN {column}" for column in _COLUMNS)
    same = (
        "had.atom IS wanted.atom AND (had.type = wanted.type OR"
        " (had.type IN ('integer', 'real') AND wanted.type IN ('integer', 'real')))"
    )
    one_of = f"IN (SELECT value FROM json_each({values}))"
    return f"""(EXISTS (
        SELECT 1 FROM json_each({_FACTS}) AS had, json_each({values}) AS wanted
        WHERE had.key = {name} AND {same}
    ) OR (NOT {_IS_OWN} AND CASE {name} {columns} END {one_of}))"""


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
