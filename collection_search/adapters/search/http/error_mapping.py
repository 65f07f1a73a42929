"""The error code of a provider's refusal: by its own code, then by text, then by status."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

from ....contracts.error_codes import code_of_status
from ....errors import (
    ErrorCode,
    SearchProviderBadResponse,
    SearchProviderError,
    SearchProviderTimeout,
    SearchProviderUnavailable,
)

if TYPE_CHECKING:
    from collections.abc import Mapping

    from ...http import FailureKind
    from ...refusals import VendorRefusal


@dataclass(frozen=True, slots=True)
class FailureRules:
    """The meaning of one vendor's refusals where it differs from HTTP's."""

    codes: Mapping[str, ErrorCode] = field(default_factory=dict)
    """By the vendor's code, case ignored; a code that ends in `*` stands for all that begin so."""
    texts: Mapping[str, ErrorCode] = field(default_factory=dict)
    """By a regular expression in its text, case ignored. Texts of web pages do not count: they may
    come from a proxy and repeat the query."""
    statuses: Mapping[int, ErrorCode] = field(default_factory=dict)
    sentences: Mapping[int | str, str] = field(default_factory=dict)
    """Messages by a key of `codes` or `texts` that fits, else by HTTP status, else by error code;
    other error codes have a default one."""
    once_more: frozenset[str] = frozenset()
    """Vendor codes that sometimes come without a reason, so that one retry may help."""
    no_hits: str = ""
    """A regular expression for a code or text that means that nothing was found."""

    def fitting(self, refusal: VendorRefusal) -> tuple[str, ErrorCode] | None:
        """Return the first key of `codes`, else of `texts`, that fits, with its meaning."""
        for pattern, meaning in self.codes.items():
            if any(_matches(code, pattern) for code in refusal.codes):
                return pattern, meaning
        for pattern, meaning in self.texts.items() if refusal.error else ():
            if re.search(pattern, refusal.text, re.IGNORECASE):
                return pattern, meaning
        return None

    def sentence(
        self, meaning: ErrorCode, refusal: VendorRefusal, status: int, *, has_key: bool
    ) -> str:
        """Return the message, with the fields `{name}`, `{key}` and `{address}`."""
        fitting = self.fitting(refusal)
        for known in (fitting and fitting[0], status, meaning):
            if known is not None and known in self.sentences:
                return self.sentences[known]
        if meaning == "authenticationFailed" and not has_key:
            return "{name} asks for a key. Set {key}."
        if meaning == "invalidQuery" and lacks_option(refusal):
            return LACKS_OPTION
        return SENTENCES[meaning]

    def finds_nothing(self, refusal: VendorRefusal) -> bool:
        """Return whether the refusal only means that nothing was found."""
        said = (*refusal.codes, refusal.text) if refusal.error and self.no_hits else ()
        return any(re.search(self.no_hits, each, re.IGNORECASE) for each in said)


def classify(refusal: VendorRefusal, rules: FailureRules) -> ErrorCode:
    """Return the error code of the refusal.

    >>> from collection_search.adapters.refusals import VendorRefusal
    >>> classify(VendorRefusal(400, codes=("API_KEY_INVALID",)),
    ...     FailureRules({"api_key_*": "timeout"}))
    'timeout'
    >>> spent = VendorRefusal(400, text="No credits left", error={"message": "No credits left"})
    >>> classify(spent, FailureRules(texts={"no credits": "quotaExceeded"}))
    'quotaExceeded'
    >>> classify(VendorRefusal(429, codes=("INSUFFICIENT_FUNDS_CREDITS",)), FailureRules())
    'quotaExceeded'
    >>> lacking = "Your plan does not include deep searches."
    >>> classify(VendorRefusal(403, text=lacking, error={"message": lacking}), FailureRules())
    'invalidQuery'
    >>> classify(VendorRefusal(503), FailureRules()), classify(VendorRefusal(204), FailureRules())
    ('serviceUnavailable', 'unknown')
    """
    if fitting := rules.fitting(refusal):
        return fitting[1]
    if lacks_option(refusal):
        return "invalidQuery"
    if refusal.status in _OF_QUOTA and any(map(_USED_UP.search, refusal.codes)):
        return "quotaExceeded"
    return rules.statuses.get(refusal.status) or code_of_status(refusal.status)


def lacks_option(refusal: VendorRefusal) -> bool:
    """Return whether a refusal says that the plan has no such option or feature."""
    said = refusal.text if refusal.error and refusal.status in _OF_PLAN else ""
    return bool(_NOT_IN_PLAN.search(said) or any(map(_PLAN_CODE.search, refusal.codes)))


_OF_PLAN: Final = {400, 402, 403, 422}
_PLAN: Final = r"\b(?:plan|tier|subscription)s?\b"
_NOT_IN_PLAN: Final = re.compile(
    r"\bnot (?:\w+ )?(?:subscribed|included|available|supported|enabled|covered|part)\b"
    rf".{{0,30}}{_PLAN}"
    rf"|{_PLAN} (?:does not|doesn.t) (?:include|support|cover|offer)\b"
    rf"|\b(?:only available|requires?)\b.{{0,40}}{_PLAN}",
    re.IGNORECASE,
)
"""Sentences for an option that only other plans have; not for a plan that is used up."""
_PLAN_CODE: Final = re.compile("not_(?:in|on|included_in)_plan", re.IGNORECASE)
_OF_QUOTA: Final = {400, 403, 429}
_USED_UP: Final = re.compile(
    r"funds|credits|budget|insufficient|per.?day|daily|per.?month|monthly", re.IGNORECASE
)
"""Words in vendors' codes for a quota or balance that is used up."""

LACKS_OPTION: Final = (
    "The plan at {name} lacks an option of this search. Leave the option out, or choose a plan that"
    " has it."
)
SENTENCES: Final[Mapping[ErrorCode, str]] = {
    "authenticationFailed": "{name} refused the key. Check {key}.",
    "rateLimited": "{name} is throttled: too many requests in a short time. Try again later.",
    "quotaExceeded": "The quota at {name} is used up. Raise the plan, or use another provider.",
    "invalidQuery": "{name} refused the query.",
    "serviceUnavailable": "{name} is not available. Try again later, or use another provider.",
    "timeout": "{name} took too long. Try again later.",
    "unknown": "{name} gave an answer that cannot be used. Check {address}.",
}

_UNUSABLE: Final = (
    SearchProviderBadResponse,
    "{name} gave an answer that cannot be used: {reason}. Check {address}.",
)
BY_KIND: Final[Mapping[FailureKind, tuple[type[SearchProviderError], str]]] = {
    "timeout": (
        SearchProviderTimeout,
        "{name} took too long: {reason}. Try again, or raise COLLECTION_SEARCH_SEARCH_TIMEOUT_S.",
    ),
    "unreachable": (
        SearchProviderUnavailable,
        "{name} is out of reach: {reason}. Check the network and {address}.",
    ),
    "too_large": _UNUSABLE,
    "unreadable": _UNUSABLE,
}
"""Error and message of a call without a complete answer."""


def _matches(code: str, pattern: str) -> bool:
    code, pattern = code.casefold(), pattern.casefold()
    return code.startswith(pattern[:-1]) if pattern.endswith("*") else code == pattern
