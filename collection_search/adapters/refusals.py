"""A vendor's refusal, read from the many forms of an error body."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from http import HTTPStatus
from typing import TYPE_CHECKING, Any, Final

from ..text.clean import clean_snippet
from ..text.validation import whole_number
from .retry_after import parse_seconds, retry_after_s

if TYPE_CHECKING:
    from .http import HttpResponse

MAX_TEXT_CHARS: Final = 300
"""Limit of a provider's text in an error's message."""
_PAGE_BYTES: Final = 4000


@dataclass(frozen=True, slots=True)
class VendorRefusal:
    """A provider's answer without results."""

    status: int
    """HTTP status; for an error inside a 200 the status that the body names, if it names one."""
    codes: tuple[str, ...] = ()
    """The vendor's own codes, as sent."""
    text: str = ""
    """Its sentence for people; may repeat the key."""
    error: Mapping[str, Any] = field(default_factory=dict)
    """The object that describes the error, else the one around it; empty where there is none."""
    wait_s: float | None = None
    """The waiting time above 0 that it asks for; a time that is over counts as none."""


def read_refusal(response: HttpResponse, answer: Any) -> VendorRefusal:
    """Return the refusal in a response; `answer` is its JSON value, None without one."""
    refusal = refusal_in(answer, status=response.status)
    wait_s = retry_after_s(response.headers.get("retry-after")) or None
    return replace(
        refusal,
        text=refusal.text or _text_around(response, answer),
        wait_s=refusal.wait_s if wait_s is None else wait_s,
    )


def refusal_in(answer: Any, *, status: int) -> VendorRefusal:
    """Return the refusal in the JSON value of an answer.

    >>> refusal_in({"error": {"message": "Too warm", "param": "temperature"}}, status=400).text
    'Too warm (temperature)'
    """
    error = _error_of(answer)
    described = next((each for each in (error, answer) if isinstance(each, Mapping)), {})
    return VendorRefusal(
        status=_status_of(status, described),
        codes=tuple(_codes_of(described)),
        text=_text_of(error),
        error=described,
        wait_s=parse_seconds(described.get("retry_after_seconds")) or None,
    )


def describe_refusal(refusal: VendorRefusal, status: int) -> str:
    """Return status, code and text of a refusal in one line.

    >>> describe_refusal(VendorRefusal(429, codes=("RATE_LIMITED",), text="<b>Slow</b> down"), 429)
    'HTTP 429, RATE_LIMITED: Slow down'
    """
    parts = [f"HTTP {status}", *refusal.codes[:1]]
    text = clean_snippet(refusal.text[: 4 * MAX_TEXT_CHARS])
    return clean_snippet(", ".join(parts) + (f": {text}" if text else ""))


def reports_error(answer: Mapping[str, Any]) -> bool:
    """Return whether an answer with a status of success reports an error.

    >>> reports_error({"error": {"code": 429}}), reports_error({"error": None, "results": []})
    (True, False)
    """
    error = _first(answer.get("error"))
    return isinstance(error, str | Mapping) and bool(error)


def http_status_of(error: Exception) -> int | None:
    """Return the HTTP status of a vendor's error, which may be in one of several attributes."""
    response = getattr(error, "response", None)
    for holder, name in ((error, "status_code"), (response, "status_code"), (error, "code")):
        status = whole_number(getattr(holder, name, None), least=HTTPStatus.MULTIPLE_CHOICES)
        if status is not None:
            return status
    return None


def _error_of(answer: Any) -> Any:
    """Return the description of the error: `error`, `detail`, `detail.error`, else the whole."""
    answer = _first(answer)
    while isinstance(answer, Mapping):
        inner = _first(answer.get("error")) or (
            answer.get("detail") if "code" not in answer else None
        )
        if not inner:
            break
        answer = inner
    return answer


def _first(value: Any) -> Any:
    """Return the first object of a list, in which some wrap an error; all else as it is."""
    is_list = isinstance(value, list) and value and isinstance(value[0], Mapping)
    return value[0] if is_list else value


def _status_of(status: int, error: Mapping[str, Any]) -> int:
    if status >= HTTPStatus.MULTIPLE_CHOICES:
        return status
    for named in (error.get("code"), error.get("status")):
        if own := whole_number(named, least=HTTPStatus.BAD_REQUEST):
            return own
    return status


def _codes_of(error: Mapping[str, Any]) -> Iterator[str]:
    """Yield the vendor's codes, those of its more specific details first."""
    for name in ("details", "errors"):
        details = error.get(name)
        for detail in details if isinstance(details, list) else ():
            if isinstance(detail, Mapping) and isinstance(reason := detail.get("reason"), str):
                yield reason
    names = ("code", "status", "type", "tag")
    yield from (code for name in names if isinstance(code := error.get(name), str))


def _text_of(error: Any) -> str:
    if isinstance(error, str):
        return error
    if isinstance(error, list):  # a refused parameter each
        return "; ".join(filter(None, map(_text_of, error)))
    if not isinstance(error, Mapping):
        return ""
    names = ("message", "detail", "info", "msg", "error")
    text = next((text for name in names if (text := _text_of(error.get(name)))), "")
    where = error.get("loc")
    if text and isinstance(where, list):
        return f"{'.'.join(map(str, where))}: {text}"
    param = error.get("param")
    return f"{text} ({param})" if text and isinstance(param, str) else text


def _text_around(response: HttpResponse, answer: Any) -> str:
    """Return the text of a response without JSON: its redirect, or the text of a page."""
    if response.status < HTTPStatus.BAD_REQUEST:
        target = response.headers.get("location")
        return f"it redirects to {target}" if target else ""
    if answer is not None:
        return ""
    page = response.body[:_PAGE_BYTES].decode("utf-8", "replace")
    if len(response.body) > _PAGE_BYTES:  # half a key would not be known as one
        page = page.rpartition(" ")[0]
    page = re.sub(r"<(style|script)\b.*?(?:</\1>|\Z)", " ", page, flags=re.DOTALL | re.IGNORECASE)
    return re.sub(r"<[^>]*(?:>|\Z)", " ", page)
