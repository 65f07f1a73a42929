"""Filters of a search in PostgreSQL."""

from __future__ import annotations

from functools import partial
from typing import Final

from ....contracts.collection import OWN_METADATA
from ..sql import filters as shared
from ..sql.filters import IS_OWN, DocumentFilter, FilterDialect

__all__ = ["DocumentFilter", "build_filter"]

_OWN_DAY: Final = f"json_extract(provenance, '$.{OWN_METADATA}.published_date')"
_OWN_IS_PDF: Final = f"json_extract(provenance, '$.{OWN_METADATA}.is_pdf')"


def _has_fact(name: str, values: str) -> str:
    facts = f"provenance::jsonb #> CASE WHEN {IS_OWN} THEN ARRAY['{OWN_METADATA}'] ELSE '{{}}' END"
    return f"""EXISTS (
        SELECT 1 FROM jsonb_each({facts}) AS had,
            jsonb_array_elements(({values})::text::jsonb) AS wanted
        WHERE had.key = {name} AND (had.value = wanted.value
            OR (jsonb_typeof(had.value) = 'array' AND had.value @> wanted.value)))"""


_DIALECT: Final = FilterDialect(
    is_pdf=f"CASE WHEN {IS_OWN} AND {_OWN_IS_PDF} IS NOT NULL"
    f" THEN {_OWN_IS_PDF} IN ('true', '1') ELSE is_pdf END",
    day=f"CASE WHEN {IS_OWN} THEN substring({_OWN_DAY} FROM '^[0-9]{{4}}-[0-9]{{2}}-[0-9]{{2}}')"
    " ELSE published END",
    has_fact=_has_fact,
)

build_filter = partial(shared.build_filter, dialect=_DIALECT)
"""Returns the condition of a filter: `sql.filters.build_filter`."""
