"""The messages of failing models: what happened, and which setting to check."""

from __future__ import annotations

import errno
import re
import socket
from contextlib import contextmanager
from dataclasses import dataclass
from http import HTTPStatus
from typing import TYPE_CHECKING, Final, Literal, Self

from ...errors import ModelError
from ...text.redaction import redact
from ..refusals import http_status_of
from .output_methods import UNKNOWN, ModelRequests, Tokens, UnreadableAnswerError
from .stop_reasons import CutOff, Declined, is_filter

if TYPE_CHECKING:
    from collections.abc import Iterator

ModelErrorKind = Literal[
    "key",
    "forbidden",
    "model",
    "throttled",
    "quota",
    "timeout",
    "address",
    "elsewhere",
    "down",
    "no_method",
    "declined",
    "filtered",
    "cut_off",
    "unusable",
    "other",
]


@dataclass(frozen=True, slots=True)
class Remedies:
    """The settings to check after a failure; each completes the sentence "Check ..."."""

    key: str = "the key that the model object was given"
    address: str = "the address that the model object was given"
    model: str = "the name that the model object was given"
    timeout: str = "COLLECTION_SEARCH_MODEL_TIMEOUT_S"

    @classmethod
    def of_vendor(cls, vendor: str, *, model: str) -> Self:
        """Return those of a vendor whose package reads its own variables."""
        return cls(
            key=f"the key of {vendor} in the environment",
            address=f"the address of {vendor} in the environment",
            model=model,
        )


@contextmanager
def model_errors(
    subject: str,
    *,
    remedies: Remedies,
    timeout_s: float,
    malformed: ModelErrorKind = "other",
    requests: ModelRequests | None = None,
) -> Iterator[None]:
    """Raise a ModelError in place of any other error; `subject` is such as "The model gpt-4o-mini".

    `malformed` is the kind of an error in the form of the answer; an error of the same types in the
    call itself is told with its type. `requests` are the requests that
    were made: their cost, and a first refusal of a method, are in the error.
    """
    try:
        yield
    except ModelError:
        raise
    except Exception as error:
        status = http_status_of(error)
        is_of_call = _is_of_call(error, requests)
        is_malformed = isinstance(error, _OF_FORM) and not is_of_call
        kind = _kind(error, status) or (malformed if is_malformed else "other")
        sentence = _SENTENCES[kind].format(
            where=remedies, timeout_s=timeout_s, cause=_cause(error, kind, is_of_call=is_of_call)
        )
        answer = f" (HTTP {status})" if status else ""
        before = _refused_before(error, requests)
        raise _model_error(f"{subject}{answer} {sentence}{before}", kind, requests) from error


def _model_error(message: str, kind: ModelErrorKind, requests: ModelRequests | None) -> ModelError:
    is_unbilled = kind in _UNBILLED
    spent, answers = UNKNOWN, 0
    if requests is not None:
        answers = requests.answers
        unknown = requests.under_way - is_unbilled  # the request that failed is one of them
        spent = UNKNOWN if unknown > 0 else requests.spent
    elif is_unbilled:
        spent = Tokens()
    return ModelError(
        message,
        may_be_billed=answers > 0 or not is_unbilled,
        unavailable=kind in _UNAVAILABLE,
        key_refused=kind in _OF_KEY,
        input_tokens=spent.input,
        output_tokens=spent.output,
    )


def _is_of_call(error: Exception, requests: ModelRequests | None) -> bool:
    """Return whether an error of a type that a wrong answer has comes from the request itself."""
    is_unanswered = requests is not None and requests.under_way > 0
    of_form = isinstance(error, _OF_FORM) and not isinstance(error, UnreadableAnswerError)
    return is_unanswered and of_form


def _cause(error: Exception, kind: ModelErrorKind, *, is_of_call: bool) -> str:
    name, said = type(error).__name__, redact(str(error), most=300).rstrip(". \n")
    if kind == "address":  # the sentence itself says that it cannot be reached
        return (said or name).rpartition("cannot be reached: ")[2]
    return f"{name}: {said}" if said and is_of_call and kind == "other" else said or name


def _refused_before(error: Exception, requests: ModelRequests | None) -> str:
    """Return what refused a method before another one failed, and make it the error's cause."""
    first = requests.refusal if requests else None
    if first is None or first is error:
        return ""
    if error.__cause__ is None:
        error.__cause__ = first
    said = redact(str(first), most=300).rstrip(". \n")
    return "" if said in str(error) else f" Before, it refused a form of answer: {said}."


_SENTENCES: Final[dict[ModelErrorKind, str]] = {
    "key": "refused the key. Check {where.key}.",
    "model": "is not known there. Check {where.model} and {where.address}.",
    "throttled": "is throttled: too many requests. Wait a minute and run again.",
    "quota": "has no quota left. Check plan and billing of the account behind {where.key}.",
    "timeout": "did not answer within {timeout_s:g} s. Raise {where.timeout} or take a faster one.",
    "address": "cannot be reached: {cause}. Check {where.address}.",
    "elsewhere": "is not at this address: {cause}. Check {where.address}.",
    "down": "failed on its own side: {cause}. Run again later.",
    "forbidden": "refuses access: {cause}. Check {where.key} and what it is allowed to use.",
    "no_method": "cannot do what it is asked to: {cause}. Take another one.",
    "declined": "declined to answer: {cause}.",
    "filtered": "gave no answer: its content filter stopped it: {cause}. Use other words.",
    "cut_off": "ran into its limit of tokens before its answer was complete. Take another one.",
    "unusable": "gave an answer that holds no list of queries. Take another one if this repeats.",
    "other": "failed: {cause}.",
}

_UNBILLED: Final[frozenset[ModelErrorKind]] = frozenset(
    {"key", "forbidden", "model", "throttled", "quota", "address", "elsewhere", "down"}
)
"""Kinds of failures before any work was done, which vendors do not bill."""
_OF_KEY: Final = frozenset({"key", "forbidden"})
_UNAVAILABLE: Final = _UNBILLED | {"timeout"}
"""Kinds of failures that every other input would have, too."""
_OF_FORM: Final = (ValueError, LookupError, TypeError)
_NO_MONEY: Final = re.compile(
    r"insufficient[_ ](?:quota|balance|funds|credits?)|credit balance|out of credits", re.IGNORECASE
)

_REFUSED_INPUT: Final = frozenset({400, 403})
_BAD_KEY: Final = re.compile(
    r"(?:invalid|incorrect|wrong|expired)[_ ](?:api[_ ]?)?key|api[_ ]?key[_ ](?:not valid|invalid"
    r"|expired)",
    re.IGNORECASE,
)
"""How Google and xAI word it, whose status is 400."""
_BAD_MODEL: Final = re.compile(r"model_not_found|access to model", re.IGNORECASE)

_BY_STATUS: Final[dict[int, ModelErrorKind]] = {
    401: "key",
    402: "quota",
    403: "forbidden",
    404: "model",
    405: "model",
    408: "timeout",
    429: "throttled",
    500: "down",
    502: "down",
    503: "down",
    504: "timeout",
    529: "down",
}

_UNREACHED: Final = frozenset(
    {
        errno.EHOSTUNREACH,
        errno.ENETUNREACH,
        errno.ENETDOWN,
        errno.ECONNREFUSED,
        errno.ECONNRESET,
        errno.ECONNABORTED,
    }
)

# The kinds of `adapters.http.HttpError`, known here by name: most models need no HTTP of ours.
_BY_FAILURE: Final[dict[str, ModelErrorKind]] = {
    "timeout": "timeout",
    "unreachable": "address",
    "too_large": "other",
    "unreadable": "other",
    "elsewhere": "elsewhere",
}


def is_out_of_money(error: Exception) -> bool:
    """Return whether the account has no money or quota left: no retry helps."""
    return bool(_NO_MONEY.search(f"{getattr(error, 'code', '')} {error}"))


def _kind(error: Exception, status: int | None) -> ModelErrorKind | None:
    """Return the kind that the error itself shows, or None."""
    said = f"{getattr(error, 'code', '')} {error}"
    ancestry = " ".join(parent.__name__ for parent in type(error).__mro__)
    known = _BY_FAILURE.get(getattr(error, "kind", ""))
    signs: tuple[tuple[ModelErrorKind | None, object], ...] = (
        ("no_method", isinstance(error, NotImplementedError)),
        ("declined", isinstance(error, Declined)),
        ("cut_off", isinstance(error, CutOff)),
        ("filtered", is_filter(error)),
        ("quota", is_out_of_money(error)),
        ("key", status in _REFUSED_INPUT and _BAD_KEY.search(said)),
        ("model", status == HTTPStatus.FORBIDDEN and _BAD_MODEL.search(said)),
        (known, known),
        (_BY_STATUS.get(status or 0, "other"), status),
        ("timeout", "Timeout" in ancestry),
        ("address", any(map(_is_unreached, _with_causes(error)))),
    )
    return next((kind for kind, applies in signs if applies), None)


def _with_causes(error: BaseException) -> Iterator[BaseException]:
    """Yield the error and those that led to it: some vendors do not say what failed."""
    seen = set[int]()
    cause: BaseException | None = error
    while cause is not None and id(cause) not in seen:
        seen.add(id(cause))
        yield cause
        cause = cause.__cause__ or cause.__context__


def _is_unreached(error: BaseException) -> bool:
    """Return whether there is no name, no route or no connection."""
    return (
        any("Connect" in parent.__name__ for parent in type(error).__mro__)
        or isinstance(error, socket.gaierror)
        or (isinstance(error, OSError) and error.errno in _UNREACHED)
    )
