"""The forms of results of LangChain's search tools and retrievers."""

from __future__ import annotations

import ast
import json
import re
from contextlib import suppress
from dataclasses import fields, is_dataclass
from itertools import zip_longest
from typing import TYPE_CHECKING, Any, Final

from pydantic import BaseModel

from ...contracts.options import utc_today
from ...contracts.search import ProviderSearchResult, RawSearchResult
from ...text.clean import excerpt
from ...text.timestamps import read_date
from .http.json_values import read_share, read_text

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

_URL: Final = ("url", "link", "href", "source", "source_url")
_TITLE: Final = ("title", "name")
_SNIPPET: Final = ("snippet", "content", "description", "body", "text", "summary")
_CONTENT: Final = ("raw_content", "page_content", "full_text")
_DATE: Final = ("published_date", "publishedDate", "date", "published")
_LISTS: Final = ("results", "organic", "organic_results", "web", "items", "data", "documents")
_MAX_DEPTH: Final = 5
_MAX_TEXT_CHARS: Final = 5_000_000
_MAX_LITERAL_CHARS: Final = 500_000
"""Of a value as Python writes it: to read it takes more time than JSON."""
_MAX_SHOWN_CHARS: Final = 200
"""Of a text that is told in an error: some tools report their failures so."""
_NOTHING: Final = re.compile(
    r"no\b[\w\s]*\bresults?\b(?:[\w\s]*|\s+found\s+for\s+['\"].*)", re.IGNORECASE | re.DOTALL
)
"""A sentence that nothing was found. Behind the query in quotes there may be advice."""
_FIELD: Final = re.compile(r"(?:^|, )(snippet|title|link): ")


class UnknownShapeError(ValueError):
    """An answer without recognizable results; the message describes it."""


def extract_rows(
    answer: Any, *, source: str
) -> tuple[list[ProviderSearchResult], list[RawSearchResult]]:
    """Return the results in an answer, and their raw form.

    Raises UnknownShapeError, and an error that the answer holds in place of results.

    >>> rows, _ = extract_rows('[{"link": "https://a.org", "title": "A", "snippet": "b"}]',
    ...     source="x")
    >>> rows[0].url, rows[0].title, rows[0].snippet
    ('https://a.org', 'A', 'b')
    """
    raw = [plain for each in _listed(answer, 0) if not _says_nothing(plain := _plain(each))]
    rows = [row for each in raw if (row := _row(each, source)).url]
    if raw and not rows:
        raise UnknownShapeError("results without addresses")
    return rows, list(raw)


def _listed(answer: Any, depth: int) -> Sequence[Any]:
    """Return the list of results in any of the known forms."""
    if depth > _MAX_DEPTH:
        raise UnknownShapeError("results that are nested too deeply")
    if hasattr(answer, "tool_call_id"):
        return _of_message(answer, depth)
    answer = _untyped(answer)
    if isinstance(answer, str):
        return _of_text(answer, depth)
    if isinstance(answer, dict):
        return _of_object(answer, depth)
    if isinstance(answer, list | tuple):
        return _of_list(answer, depth)
    raise UnknownShapeError(f"{type(answer).__name__} instead of results")


def _untyped(value: Any) -> Any:
    """Return an object of a partner's own class, such as Exa's and Linkup's, with plain fields."""
    if isinstance(value, BaseModel) and not hasattr(value, "page_content"):
        return value.model_dump()
    if is_dataclass(value) and not isinstance(value, type):
        return {one.name: getattr(value, one.name, None) for one in fields(value)}
    return value


def _of_message(message: Any, depth: int) -> Sequence[Any]:
    """Return the results in a tool's message: in its artifact, else in its content."""
    if message.artifact is not None:
        try:
            return _listed(message.artifact, depth + 1)
        except UnknownShapeError:
            pass
    return _listed(message.content, depth + 1)


def _of_object(answer: Mapping[str, Any], depth: int) -> Sequence[Any]:
    for name in _LISTS:
        inner = answer.get(name)
        if isinstance(inner, dict | list | tuple):
            return _listed(inner, depth + 1)
    if _first(answer, _URL):
        return [answer]
    error = answer.get("error")
    if isinstance(error, Exception):  # caught by the tool, as Tavily's does
        raise error
    said = read_text(error)
    raise UnknownShapeError(f"an error: {excerpt(said)}" if said else "an object without results")


def _of_list(answer: Sequence[Any], depth: int) -> Sequence[Any]:
    if answer and all(map(_is_block, answer)):
        return _listed("\n".join(each["text"] for each in answer), depth + 1)
    rows = [_untyped(each) for each in answer]
    if all(isinstance(each, dict) or hasattr(each, "page_content") for each in rows):
        return rows
    raise UnknownShapeError("a list of something else than results")


def _is_block(value: Any) -> bool:
    """Return whether it is a block of a message's text; Linkup's results are of this type too."""
    is_text = isinstance(value, dict) and value.get("type") == "text"
    return is_text and isinstance(value.get("text"), str) and not _first(value, _URL)


def _of_text(answer: str, depth: int) -> Sequence[Any]:
    """Return the results in a text: as JSON, as Python writes values, or as named fields."""
    written = answer.strip()
    if not written or _NOTHING.fullmatch(written.rstrip(".!")):
        return []
    if written[0] in "[{" and (value := _value_of(written)) is not None:
        return _listed(value, depth + 1)
    if entries := _entries(written):
        return entries
    said = excerpt(written, _MAX_SHOWN_CHARS)
    raise UnknownShapeError(f"a text in which no results can be told apart: {said}")


def _value_of(written: str) -> Any:
    """Return the value that a text is, None where it is none.

    Several tools, such as that of Serper, give `str` of their results.

    >>> _value_of('[{"title": "A"}]'), _value_of("[{'title': None}]"), _value_of("[see below]")
    ([{'title': 'A'}], [{'title': None}], None)
    """
    if len(written) > _MAX_TEXT_CHARS:
        return None
    with suppress(ValueError, RecursionError):  # no JSON, or a number of thousands of digits
        return json.loads(written)
    if len(written) > _MAX_LITERAL_CHARS:
        return None
    with suppress(ValueError, SyntaxError, RecursionError, MemoryError):
        return ast.literal_eval(written)
    return None


def _entries(written: str) -> list[dict[str, str]]:
    """Return the results of a text such as DuckDuckGo's tool gives.

    >>> _entries("snippet: b, title: A, link: https://a.org, snippet: d, link: https://c.org")[1]
    {'snippet': 'd', 'link': 'https://c.org'}
    """
    marks = list(_FIELD.finditer(written))
    entries: list[dict[str, str]] = []
    for mark, following in zip_longest(marks, marks[1:]):
        if not entries or mark[1] in entries[-1]:
            entries.append({})
        entries[-1][mark[1]] = written[mark.end() : following and following.start()].strip()
    return [entry for entry in entries if "link" in entry]


def _says_nothing(row: Mapping[str, Any]) -> bool:
    """Return whether a row only says that there is none, such as DuckDuckGo's `{"Result": ...}`."""
    said = [read_text(value).strip() for value in row.values()]
    return len(said) == 1 and bool(_NOTHING.fullmatch(said[0].rstrip(".!")))


def _plain(each: Any) -> dict[str, Any]:
    """Return a result as an object; of a document its metadata with the text."""
    if isinstance(each, dict):
        return each
    metadata = each.metadata if isinstance(getattr(each, "metadata", None), dict) else {}
    return {**metadata, "page_content": each.page_content}


def _row(row: Mapping[str, Any], source: str) -> ProviderSearchResult:
    content = _first(row, _CONTENT)
    return ProviderSearchResult(
        url=next((url for name in _URL if (url := _address(row.get(name)))), ""),
        title=_first(row, _TITLE),
        snippet=_first(row, _SNIPPET) or excerpt(content),
        source=source,
        score=read_share(row.get("score")),
        content=content or None,
        published_date=_published(row),
    )


def _published(row: Mapping[str, Any]) -> str | None:
    """Return the first of its dates that can be read; a document may have one of Python's."""
    dates = (read_date(row.get(name), today=utc_today()) for name in _DATE)
    return next(filter(None, dates), None)


def _address(value: Any) -> str:
    """Return the value if it is an address of the web, blank otherwise."""
    written = read_text(value).strip()
    return written if re.match(r"https?://", written, re.IGNORECASE) else ""


def _first(row: Mapping[str, Any], names: Sequence[str]) -> str:
    return next((found for name in names if (found := read_text(row.get(name)).strip())), "")
