"""Answers of search adapters as the bytes in which they are cached."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import replace
from operator import attrgetter
from typing import Any, Final

import orjson

from ...cassette.codec import read_search_answer, search_answer
from ...contracts.search import ProviderSearchResult, SearchAdapterResponse
from ...errors import InputError, InvalidUrlError
from ...text.urls import normalize_url

_VERSION: Final = 1
_MAX_RAW: Final = 1_000_000
_HEAD: Final = (
    "status_code", "quota_remaining", "request_count", "credits", "cost_usd", "notices", "applied",
    "complete",
)  # fmt: skip
_ROW: Final = (
    "url", "title", "snippet", "source", "score", "content_type", "content", "published_date"
)  # fmt: skip
_head_of: Final = attrgetter(*_HEAD)
_row_of: Final = attrgetter(*_ROW)


def pack_answer(answer: SearchAdapterResponse) -> bytes:
    """Return the answer without raw rows, and without addresses that may hold a password.

    Of raw rows their number is kept. Rows of any other class than `ProviderSearchResult`, and texts
    with broken surrogates, take the longer way of the cassette's codec.
    """
    rows = [row for row in answer.results if _is_shown(_url_of(row))]
    raw = len(answer.raw_results or answer.results)
    if all(type(row) is ProviderSearchResult for row in rows):
        try:
            return orjson.dumps([_VERSION, raw, _head_of(answer), [_row_of(row) for row in rows]])
        except orjson.JSONEncodeError:
            pass
    told = search_answer(replace(answer, results=rows, raw_results=[{}] * raw, rate=None))
    return json.dumps(told).encode()


def unpack_answer(payload: bytes) -> SearchAdapterResponse | None:
    """Return the answer, None for a damaged one or one of an unknown version."""
    try:
        if not payload.startswith(b"["):
            return read_search_answer(json.loads(payload))
        version, raw, head, rows = orjson.loads(payload)
        if version != _VERSION or raw not in range(_MAX_RAW):
            return None
        told = dict(zip(_HEAD, head, strict=True))
        answer = read_search_answer({**told, "results": [], "raw_results": []})
        answer.results = [ProviderSearchResult(**dict(zip(_ROW, row, strict=True))) for row in rows]
        answer.raw_results = [{}] * raw
    except (InputError, ValueError, TypeError):  # the provider is asked again
        return None
    return answer


def _url_of(row: Any) -> Any:
    return row.get("url") if isinstance(row, Mapping) else getattr(row, "url", None)


def _is_shown(url: Any) -> bool:
    try:
        return bool(normalize_url(url))
    except (InvalidUrlError, TypeError, AttributeError):
        return False
