"""What an adapter returned, judged: an answer that reports a failure is a failure."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from ...contracts.search import SearchAdapterResponse
from ...errors import BY_CODE, SearchProviderBadResponse, SearchProviderError, code_of_status
from ...text.validation import whole_number

_FORM: Final = (
    "Its search has to return SearchAdapterResponse(results=[...], status_code=200) of"
    " collection_search.contracts.search, each result a dict with url, title and snippet."
)
_SUCCESS: Final = range(200, 300)
_FIRST_FAILURE: Final = 400


def validate_response(answer: Any, *, provider: str) -> SearchAdapterResponse:
    """Return the answer if it is a successful one, else raise the SearchProviderError that fits."""
    if not isinstance(answer, SearchAdapterResponse):
        raise _of_no_use(
            f"{provider} returned {type(answer).__name__} instead of SearchAdapterResponse. {_FORM}"
        )
    if not _is_complete(answer):
        raise _of_no_use(
            f"{provider} returned a response without a list of results and a numeric status_code."
            f" {_FORM}"
        )
    if not _is_success(answer):
        raise _failure(answer.status_code, provider)
    return answer


def _is_complete(answer: Any) -> bool:
    has_rows = isinstance(answer.results, Sequence) and not isinstance(answer.results, str | bytes)
    return has_rows and whole_number(answer.status_code) is not None


def _is_success(answer: SearchAdapterResponse) -> bool:
    """Return True for a status of success, and for rows that no status of failure denies."""
    status = answer.status_code
    return status in _SUCCESS or (bool(answer.results) and status < _FIRST_FAILURE)


def _of_no_use(message: str) -> SearchProviderBadResponse:
    """Return the error of an adapter that is wrong itself: no provider gave it a status."""
    error = SearchProviderBadResponse(message)
    error.http_status = None
    return error


def _failure(status: int, provider: str) -> SearchProviderError:
    error = BY_CODE[code_of_status(status)]
    return error(f"{provider} answered with HTTP status {status}.", http_status=status)
