"""Turns a provider's rows into valid results without duplicates."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from operator import attrgetter
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from pydantic import ValidationError

from ...contracts.options import utc_today
from ...contracts.search import ProviderSearchResult, SearchResult
from ...errors import InvalidUrlError
from ...text.clean import clean_snippet, excerpt, to_unicode
from ...text.loose_keys import loose_url_key
from ...text.timestamps import read_date
from ...text.urls import is_pdf, normalize_url, url_key
from ...text.validation import number_within

if TYPE_CHECKING:
    from datetime import date

MAX_URL_CHARS: Final = 8_000
"""What every server takes (RFC 9110, section 4.1); a longer one makes the row invalid."""
MAX_TITLE_CHARS: Final = 300
MAX_SNIPPET_CHARS: Final = 2_000
MAX_LABEL_CHARS: Final = 200
"""Of a source, a date, a content type."""
_FINITE: Final = (-sys.float_info.max, sys.float_info.max)


class _Row(NamedTuple):
    """The fields of a row, not yet validated."""

    url: Any
    title: Any
    snippet: Any
    source: Any
    score: Any
    content_type: Any
    content: Any
    published_date: Any


_fields_of: Final = attrgetter(*_Row._fields)
_LOGGED: Final = _Row._fields[: _Row._fields.index("content")]


def valid_results(
    rows: Iterable[Any],
    *,
    provider: str,
    dropped: Callable[[dict[str, Any]], None],
    today: Callable[[], date] = utc_today,
) -> list[SearchResult]:
    """Return the usable rows in their order; `dropped` gets the fields of each other one.

    A row is a mapping or any object with the fields of `ProviderSearchResult`. It needs an http(s)
    URL and a snippet or content; its title falls back to host and path, its source to `provider`.
    Title and snippet are cut to what a list of results can show. Its date becomes ISO 8601 where
    `read_date` can read it; `today` is the day from which "3 days ago" counts.

    >>> valid_results([{"url": "https://a.org/x", "snippet": "y"}], provider="p", dropped=print)
    [SearchResult(url='https://a.org/x', title='a.org/x', snippet='y', source='p', score=None, \
is_pdf=False)]
    """
    return list(_find_valid(rows, provider, dropped, today))


def has_valid_result(rows: Iterable[Any], *, provider: str) -> bool:
    """Return whether one of the rows is usable; it reads no further than the first such row."""
    return any(_find_valid(rows, provider, lambda _: None, utc_today))


def deduplicate(results: Iterable[SearchResult]) -> list[SearchResult]:
    """Return the first result of every page, with the content of a later one if it has none.

    Addresses that differ in scheme, `www.`, final slash or index page alone are one page if title
    and snippet are the same.
    """
    pages: dict[str, SearchResult] = {}
    alike: dict[tuple[str, str], list[str]] = {}
    for result in results:
        key = url_key(result.url)
        if key not in pages:
            others = alike.setdefault((result.title, result.snippet), [])
            if same := _likely_key(result.url, pages, others):
                key = same
            else:
                others.append(key)
        first = pages.setdefault(key, result)
        if first.content is None and result.content is not None:
            pages[key] = first.model_copy(update={"content": result.content})
    return list(pages.values())


def _likely_key(url: str, pages: Mapping[str, SearchResult], others: Sequence[str]) -> str | None:
    """Return which of the other pages the URL most likely leads to, None for none of them."""
    if not others:
        return None
    loose = loose_url_key(url)
    return next((key for key in others if loose_url_key(pages[key].url) == loose), None)


def _find_valid(
    rows: Iterable[Any],
    provider: str,
    dropped: Callable[[dict[str, Any]], None],
    today: Callable[[], date],
) -> Iterator[SearchResult]:
    for row in rows:
        said = _read(row)
        try:
            yield _result(said, provider, today)
        except (InvalidUrlError, ValidationError):
            dropped({name: getattr(said, name) for name in _LOGGED})


def _read(row: Any) -> _Row:
    if type(row) is ProviderSearchResult:
        return _Row._make(_fields_of(row))
    if isinstance(row, Mapping):
        return _Row._make([row.get(name) for name in _Row._fields])
    return _Row._make([getattr(row, name, None) for name in _Row._fields])


def _result(row: _Row, provider: str, today: Callable[[], date]) -> SearchResult:
    address = _text(row.url) or ""
    if len(address) > MAX_URL_CHARS:
        raise InvalidUrlError(f"the URL is longer than {MAX_URL_CHARS} characters")
    url, content = normalize_url(address), _text(row.content) if row.content else None
    content_type, score = _label(row.content_type), number_within(row.score, 0, 1)
    is_own_scale = score is None and row.score is not None
    return SearchResult(
        url=url,
        title=_line(row.title, MAX_TITLE_CHARS)
        or excerpt(url.partition("://")[2].rstrip("/"), MAX_TITLE_CHARS),
        snippet=_line(row.snippet, MAX_SNIPPET_CHARS) or clean_snippet(excerpt(content or "")),
        source=_label(row.source) or provider,
        score=score,
        raw_score=number_within(row.score, *_FINITE) if is_own_scale else None,
        is_pdf=is_pdf(url, content_type),
        content=content,
        content_type=content_type,
        published_date=_date(row.published_date, today),
    )


def _line(value: Any, limit: int) -> str:
    """Return the plain text, cut before it is cleaned: megabytes of markup take seconds."""
    line = clean_snippet((_text(value) or "")[: 10 * limit])
    return line if len(line) <= limit else excerpt(line, limit)


def _label(value: Any) -> str | None:
    text = None if value is None else _text(value)
    return text and excerpt(text, MAX_LABEL_CHARS)


def _date(value: Any, today: Callable[[], date]) -> str | None:
    """Return the date as ISO 8601, a text that cannot be read as it is."""
    if value is None:
        return None
    return read_date(value, today=today()) or _label(value)


def _text(value: Any) -> str | None:
    """Return a text that JSON and every database can store, None for a blank one."""
    if not isinstance(value, str):
        return None
    if value.isprintable() and value.isascii():
        return value.strip() or None
    return to_unicode(value).replace("\0", "").strip() or None
