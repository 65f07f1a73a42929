"""Validates what an adapter returned: an answer that reports a failure is a failure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final

from ...contracts.error_codes import code_of_status
from ...contracts.search import SearchAdapterResponse
from ...errors import BY_CODE, SearchProviderBadResponse
from ...text.validation import whole_number

_FORM: Final = (
    "Its search has to return SearchAdapterResponse(results=[...], status_code=200) of"
    " collection_search.contracts.search, each result a dict with url, title and snippet."
)
_PARTS: Final = {"notices": Iterable, "applied": Mapping}
"""Further parts of a response, which are empty by default."""
_SUCCESS: Final = range(200, 300)
_FIRST_FAILURE: Final = 400


def validate_response(answer: Any, *, provider: str) -> SearchAdapterResponse:
    """Return the answer if it is a successful one, else raise a SearchProviderError."""
    if not isinstance(answer, SearchAdapterResponse):
        raise _wrong_form(f"{type(answer).__name__} instead of SearchAdapterResponse", provider)
    rows: Any = answer.results
    status = answer.status_code
    has_rows = isinstance(rows, Sequence) and not isinstance(rows, str | bytes)
    if not has_rows or whole_number(status) is None:
        raise _wrong_form(
            "a response without a list of results and a numeric status_code", provider
        )
    for name, kind in _PARTS.items():
        part: Any = getattr(answer, name)
        if not isinstance(part, kind) or isinstance(part, str | bytes):
            raise _wrong_form(f"a response whose `{name}` are {type(part).__name__}", provider)
    if status in _SUCCESS or (rows and status < _FIRST_FAILURE):
        return answer
    error = BY_CODE[code_of_status(status)]
    raise error(f"{provider} answered with HTTP status {status}.", http_status=status)


def _wrong_form(given: str, provider: str) -> SearchProviderBadResponse:
    """Return the error of an adapter that is wrong itself: no provider gave it a status."""
    error = SearchProviderBadResponse(f"{provider} returned {given}. {_FORM}")
    error.http_status = None
    return error
