"""Filters of a search in SQLite, and the documents that fit."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from ....contracts.collection import OWN_METADATA
from ..sql import filters as shared
from ..sql.filters import IS_OWN, FilterDialect

if TYPE_CHECKING:
    from collections.abc import Iterable

    from ....contracts.collection import Filters
    from .opening import SQLiteConnection

_FACTS: Final = f"provenance, CASE WHEN {IS_OWN} THEN '$.{OWN_METADATA}' ELSE '$' END"
"""The document's facts for json_each: its caller's metadata, else its provenance."""
_OWN_DAY: Final = f"substr(json_extract(provenance, '$.{OWN_METADATA}.published_date'), 1, 10)"
_OWN_IS_PDF: Final = f"json_extract(provenance, '$.{OWN_METADATA}.is_pdf')"
_DIGITS: Final = "[0-9][0-9][0-9][0-9]-[0-9][0-9]-[0-9][0-9]"


def _has_fact(name: str, values: str) -> str:
    several = "json_each(CASE had.type WHEN 'array' THEN had.value ELSE '[]' END) AS one"
    return f"""EXISTS (
        SELECT 1 FROM json_each({_FACTS}) AS had, json_each({values}) AS wanted
        WHERE had.key = {name} AND ({_is_wanted("had")}
            OR EXISTS (SELECT 1 FROM {several} WHERE {_is_wanted("one")})))"""


def _is_wanted(found: str) -> str:
    numbers = "('integer', 'real')"
    return (
        f"({found}.atom IS wanted.atom AND ({found}.type = wanted.type"
        f" OR ({found}.type IN {numbers} AND wanted.type IN {numbers})))"
    )


_DIALECT: Final = FilterDialect(
    is_pdf=f"CASE WHEN {IS_OWN} THEN coalesce({_OWN_IS_PDF}, is_pdf) ELSE is_pdf END",
    day=f"CASE WHEN NOT {IS_OWN} THEN published"
    f" WHEN {_OWN_DAY} GLOB '{_DIGITS}' THEN {_OWN_DAY} END",
    has_fact=_has_fact,
)


class IndexedFilter(NamedTuple):
    """A condition on documents of a collection, with its bound values."""

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


def build_filter(collection: int, filters: Filters | None) -> IndexedFilter | None:
    """Return the filter as a condition, None when every document fits.

    Raises InputError for a key that is unknown or has a value of another kind.
    """
    if not filters:
        return None
    condition, values = shared.build_filter(filters, _DIALECT)
    # The index holds most of these, so that few documents need be read.
    index = "" if "url_key" in filters else " INDEXED BY documents_by_facts"
    condition = f"collection_id = :collection AND {condition}"
    return IndexedFilter(condition, {"collection": collection, **values}, index)
