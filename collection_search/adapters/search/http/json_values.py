"""Values of a provider's JSON; those of a wrong type count as missing."""

from __future__ import annotations

import re
from contextlib import suppress
from datetime import UTC, date, datetime, timedelta
from email.utils import parsedate_to_datetime
from typing import TYPE_CHECKING, Any, Final

from ....text.validation import number_within

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ...http import HttpResponse

_MAX_DIGITS: Final = 9
"""Digits of a list index."""
_AGO: Final = re.compile(r"(\d{1,3}|an?) (minute|hour|day|week|month|year)s? ago", re.IGNORECASE)
_DAYS: Final = {"minute": 0, "hour": 0, "day": 1, "week": 7, "month": 30, "year": 365}


def read_json(response: HttpResponse) -> Any:
    """Return the JSON value of a body, None where it holds none."""
    try:
        return response.json()
    except ValueError:
        return None


def describe_body(response: HttpResponse) -> str:
    """Return a description of a body that is no JSON object."""
    if not response.body.strip():
        return "nothing"
    if response.body.lstrip()[:1] == b"<":
        return "a web page"
    return "something else" if read_json(response) is not None else "broken JSON"


def read_text(value: Any) -> str:
    """Return the text, blank for anything else."""
    return value if isinstance(value, str) else ""


def read_path(value: Any, *path: str) -> Any:
    """Return the value at the path of names, None where it is missing.

    >>> (read_path({"query": {"search": []}}, "query", "search"),
    ...  read_path({"query": 7}, "query", "search"))
    ([], None)
    """
    for name in path:
        value = value.get(name) if isinstance(value, dict) else None
    return value


def has_path(value: Any, *path: str) -> bool:
    """Return whether there is anything at the path of names, null included.

    >>> answer = {"query": {"search": None}, "meta": 7}
    >>> has_path(answer, "query", "search"), has_path(answer, "meta", "page")
    (True, False)
    """
    *above, last = path
    holder = read_path(value, *above)
    return isinstance(holder, dict) and last in holder


def find_value(value: Any, path: Sequence[str]) -> Any:
    """Return the value at the path of names and list indexes, None where it is missing.

    >>> answer = {"hits": [{"url": "https://a.org"}]}
    >>> find_value(answer, ["hits", "0", "url"]), find_value(answer, ["hits", "1", "url"])
    ('https://a.org', None)
    """
    for part in path:
        if isinstance(value, dict):
            value = value.get(part)
        elif isinstance(value, list) and part.isascii() and part.isdecimal():
            value = next(iter(value[int(part[:_MAX_DIGITS]) :][:1]), None)
        else:
            return None
    return value


def read_share(value: Any) -> float | None:
    """Return a score from 0 to 1, None for anything else.

    >>> (read_share(0.93), read_share(1), read_share(17.5), read_share("0.9"),
    ...  read_share(float("nan")))
    (0.93, 1.0, None, None, None)
    """
    return number_within(value, 0, 1)


def read_date(value: Any, *, today: date) -> str | None:
    """Return a date as ISO 8601: a day, or a time with its zone; None where it cannot be read.

    RFC 2822, ISO 8601, English months and "3 days ago" are read. A time without a zone counts as
    UTC, a month as 30 days.

    >>> day = date(2026, 11, 21)
    >>> read_date("Tue, 03 Mar 2026 09:00:00 GMT", today=day), read_date("2026-03-03", today=day)
    ('2026-03-03T09:00:00+00:00', '2026-03-03')
    >>> read_date("2026-03-03T09:00:00", today=day), read_date("3 days ago", today=day)
    ('2026-03-03T09:00:00+00:00', '2026-11-18')
    >>> read_date("March 3, 2026", today=day), read_date("soon", today=day)
    ('2026-03-03', None)
    """
    written = read_text(value).strip()[:40]
    if not written:
        return None
    return _iso(written) or _ago(written, today) or _rfc_2822(written)


def _iso(written: str) -> str | None:
    try:
        if len(written) == len("2026-03-03"):
            return date.fromisoformat(written).isoformat()
        return _with_zone(datetime.fromisoformat(written))
    except ValueError:
        return None


def _ago(written: str, today: date) -> str | None:
    match = _AGO.fullmatch(written)
    if not match:
        return None
    count = int(match[1]) if match[1].isdecimal() else 1
    return (today - timedelta(days=count * _DAYS[match[2].lower()])).isoformat()


def _rfc_2822(written: str) -> str | None:
    """Return the time, or the day of a date without a time."""
    with suppress(ValueError, TypeError, IndexError, OverflowError):
        return _with_zone(parsedate_to_datetime(written))
    with suppress(ValueError, TypeError, IndexError, OverflowError):
        return parsedate_to_datetime(f"{written} 00:00").date().isoformat()
    return None


def _with_zone(time: datetime) -> str:
    return (time if time.tzinfo else time.replace(tzinfo=UTC)).isoformat()
