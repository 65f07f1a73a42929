"""The shared statements as PostgreSQL reads them.

They are written in SQLite's dialect. What PostgreSQL lacks of its functions is defined in the
schema (`functions.sql`); the rest is put into other words here.
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Final

_TEXT: Final = re.compile(r"('(?:[^']|'')*')")
_NAMED: Final = re.compile(r"(?<![:\w]):([a-z_]\w*)", re.IGNORECASE)
_UNTYPED: Final = re.compile(r"(?:\?|:[a-z_]\w*) IS (?:NOT )?NULL", re.IGNORECASE)
_HINT: Final = re.compile(r"\s+INDEXED BY \w+")
_ORDERED_JOIN: Final = re.compile(r"CROSS JOIN(?= \w+(?: AS \w+)? ON\b)")


@lru_cache(maxsize=512)
def translate(statement: str) -> str:
    """Return a shared statement for psycopg; what stands in quotes stays as it is.

    >>> translate("SELECT 1 FROM ledger INDEXED BY by_due WHERE due <= :now AND url LIKE 'a:b%'")
    "SELECT 1 FROM ledger WHERE due <= %(now)s AND url LIKE 'a:b%%'"
    >>> translate("SELECT value FROM json_each(?) LIMIT -1")
    'SELECT value FROM json_values(%s) LIMIT ALL'
    """
    parts = _TEXT.split(statement.replace("%", "%%"))
    return "".join(part if place % 2 else _outside(part) for place, part in enumerate(parts))


@lru_cache(maxsize=512)
def has_typed_values(statement: str) -> bool:
    """Return whether the server can tell the type of each value from its place.

    >>> has_typed_values("SELECT 1 FROM ledger WHERE host = :host")
    True
    >>> has_typed_values("SELECT 1 FROM ledger WHERE :host IS NULL OR host = :host")
    False
    """
    return _UNTYPED.search(statement) is None


def _outside(part: str) -> str:
    """Translate what stands between quoted texts."""
    part = _ORDERED_JOIN.sub("JOIN", _HINT.sub("", part))
    part = part.replace("?", "%s").replace("LIMIT -1", "LIMIT ALL")
    part = part.replace("json_each(", "json_values(").replace("json_each.", "json_values.")
    return _NAMED.sub(r"%(\1)s", part)
