"""From a provider's refusal to the error that fits: its own code first, then text, then status."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from http import HTTPStatus
from typing import TYPE_CHECKING, Any, Final

from ....errors import (
    ErrorCode,
    SearchProviderBadResponse,
    SearchProviderError,
    SearchProviderTimeout,
    SearchProviderUnavailable,
    code_of_status,
)
from ....text.clean import clean_snippet
from ....text.validation import whole_number
from ...retry_after import retry_after_s, seconds

if TYPE_CHECKING:
    from ...http import FailureKind, HttpResponse

MAX_TEXT_CHARS: Final = 300
"""Of what a provider says, as much is repeated in the error's message."""
_PAGE_BYTES: Final = 4000


@dataclass(frozen=True, slots=True)
class Refusal:
    """What a provider said instead of an answer."""

    status: int
    """HTTP status; for an error inside a 200 the status that the body names, if it names one."""
    codes: tuple[str, ...] = ()
    """The vendor's own words for it, as sent."""
    text: str = ""
    """Its sentence for people; may repeat the key."""
    error: Mapping[str, Any] = field(default_factory=dict)
    """The object that describes the error, else the one around it; empty where there is none."""
    wait_s: float | None = None
    """How long it asks to wait."""


@dataclass(frozen=True, slots=True)
class FailureRules:
    """What one vendor's refusals mean, where it is not what HTTP says."""

    codes: Mapping[str, ErrorCode] = field(default_factory=dict)
    """By the vendor's code, case ignored; a code that ends in `*` stands for all that begin so."""
    texts: Mapping[str, ErrorCode] = field(default_factory=dict)
    """By a regular expression that is found in its text, case ignored. Texts of web pages are left
    out: those may be of anybody, and repeat the query."""
    statuses: Mapping[int, ErrorCode] = field(default_factory=dict)
    sentences: Mapping[int | ErrorCode, str] = field(default_factory=dict)
    """What a person is told, by HTTP status, else by code; other codes have a usual sentence."""
    once_more: frozenset[str] = frozenset()
    """Vendor codes that are seen now and then without a reason, so that one retry may help."""
    no_hits: str = ""
    """The same for a code or text that is no refusal but says that nothing was found."""

    def sentence(self, meaning: ErrorCode, status: int, *, has_key: bool) -> str:
        """Return what a person is told, with the places `{name}`, `{key}` and `{address}`."""
        if own := self.sentences.get(status) or self.sentences.get(meaning):
            return own
        if meaning == "authenticationFailed" and not has_key:
            return "{name} asks for a key. Set {key}."
        return SENTENCES[meaning]

    def may_try_once_more(self, refusal: Refusal) -> bool:
        """Return whether a retry may help although the code says that it does not."""
        return not self.once_more.isdisjoint(refusal.codes)

    def finds_nothing(self, refusal: Refusal) -> bool:
        """Return whether the refusal only says that nothing was found."""
        said = (*refusal.codes, refusal.text) if refusal.error and self.no_hits else ()
        return any(re.search(self.no_hits, each, re.IGNORECASE) for each in said)


def refusal_of(response: HttpResponse, answer: Any) -> Refusal:
    """Return what the response says; `answer` is its JSON value, None where it has none."""
    error = _error_of(answer)
    described = next((each for each in (error, answer) if isinstance(each, Mapping)), {})
    wait_s = retry_after_s(response.headers.get("retry-after"))
    if wait_s is None:
        wait_s = seconds(described.get("retry_after_seconds"))
    return Refusal(
        status=_status_of(response.status, described),
        codes=tuple(_codes_of(described)),
        text=_text_of(error) or _text_around(response, answer),
        error=described,
        wait_s=wait_s,
    )


def told_by(refusal: Refusal, status: int) -> str:
    """Return status, code and text of a refusal in one line.

    >>> told_by(Refusal(429, codes=("RATE_LIMITED",), text="<b>Slow</b> down"), 429)
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


def judged(refusal: Refusal, rules: FailureRules) -> ErrorCode:
    """Return what the refusal means.

    >>> judged(Refusal(400, codes=("API_KEY_INVALID",)), FailureRules({"api_key_*": "timeout"}))
    'timeout'
    >>> spent = Refusal(400, text="No credits left", error={"message": "No credits left"})
    >>> judged(spent, FailureRules(texts={"no credits": "quotaExceeded"}))
    'quotaExceeded'
    >>> judged(Refusal(429, codes=("INSUFFICIENT_FUNDS_CREDITS",)), FailureRules())
    'quotaExceeded'
    >>> judged(Refusal(503), FailureRules()), judged(Refusal(204), FailureRules())
    ('serviceUnavailable', 'unknown')
    """
    for pattern, meaning in rules.codes.items():
        if any(_matches(code, pattern) for code in refusal.codes):
            return meaning
    for pattern, meaning in rules.texts.items() if refusal.error else ():
        if re.search(pattern, refusal.text, re.IGNORECASE):
            return meaning
    if refusal.status in _OF_QUOTA and any(map(_USED_UP.search, refusal.codes)):
        return "quotaExceeded"
    return rules.statuses.get(refusal.status) or code_of_status(refusal.status)


_OF_QUOTA: Final = {400, 403, 429}
_USED_UP: Final = re.compile(
    r"funds|credits|budget|insufficient|per.?day|daily|per.?month|monthly", re.IGNORECASE
)
"""What vendors' codes hold when money or a day's share is used up, whatever the status."""

SENTENCES: Final[Mapping[ErrorCode, str]] = {
    "authenticationFailed": "{name} refused the key. Check {key}.",
    "rateLimited": "{name} is throttled: too many requests in a short time. Try again later.",
    "quotaExceeded": "The quota at {name} is used up. Raise the plan, or use another provider.",
    "invalidQuery": "{name} refused the query.",
    "serviceUnavailable": "{name} is not available. Try again later, or use another provider.",
    "timeout": "{name} took too long. Try again later.",
    "unknown": "{name} gave an answer that cannot be used. Check {address}.",
}

BY_KIND: Final[Mapping[FailureKind, tuple[type[SearchProviderError], str]]] = {
    "timeout": (
        SearchProviderTimeout,
        "{name} took too long: {reason}. Try again, or raise COLLECTION_SEARCH_SEARCH_TIMEOUT_S.",
    ),
    "unreachable": (
        SearchProviderUnavailable,
        "{name} is out of reach: {reason}. Check the network and {address}.",
    ),
    "too_large": (
        SearchProviderBadResponse,
        "{name} gave an answer that cannot be used: {reason}. Check {address}.",
    ),
    "unreadable": (
        SearchProviderBadResponse,
        "{name} gave an answer that cannot be used: {reason}. Check {address}.",
    ),
}
"""Error and message where no complete answer came."""


def _matches(code: str, pattern: str) -> bool:
    code, pattern = code.casefold(), pattern.casefold()
    return code.startswith(pattern[:-1]) if pattern.endswith("*") else code == pattern


def _error_of(answer: Any) -> Any:
    """Return what describes the error: `error`, `detail`, `detail.error`, else the whole."""
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
    """Give the vendor's codes: of its details first, where they say more than the whole."""
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
    return text


def _text_around(response: HttpResponse, answer: Any) -> str:
    """Return what a response says outside JSON: where it leads to, or the text of a page."""
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
