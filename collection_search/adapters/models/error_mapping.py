"""The messages of failing models: what happened, and which setting to check."""

from __future__ import annotations

import errno
import re
import socket
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, Literal, Self

from ...errors import ModelError
from ...text.redaction import redact
from ..refusals import http_status_of

if TYPE_CHECKING:
    from collections.abc import Iterator

ModelErrorKind = Literal[
    "key",
    "model",
    "throttled",
    "quota",
    "timeout",
    "address",
    "elsewhere",
    "down",
    "no_method",
    "declined",
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


class Declined(Exception):  # noqa: N818 - no failure of the program
    """The model declined to answer; the message is its reason."""


@contextmanager
def model_errors(
    subject: str,
    *,
    remedies: Remedies,
    timeout_s: float,
    malformed: ModelErrorKind = "other",
) -> Iterator[None]:
    """Raise a ModelError in place of any other error; `subject` is such as "The model gpt-4o-mini".

    `malformed` is the kind of an error in the form of the answer.
    """
    try:
        yield
    except ModelError:
        raise
    except Exception as error:
        raise _model_error(subject, error, remedies, timeout_s, malformed) from error


def _model_error(
    subject: str, error: Exception, remedies: Remedies, timeout_s: float, malformed: ModelErrorKind
) -> ModelError:
    status = http_status_of(error)
    kind = _kind(error, status) or (malformed if isinstance(error, _OF_FORM) else "other")
    cause = redact(str(error), most=300).rstrip(". \n") or type(error).__name__
    if kind == "address":  # the sentence itself says that it cannot be reached
        cause = cause.rpartition("cannot be reached: ")[2]
    what = _SENTENCES[kind].format(where=remedies, timeout_s=timeout_s, cause=cause)
    answer = f" (HTTP {status})" if status else ""
    return ModelError(
        f"{subject}{answer} {what}",
        may_be_billed=kind not in _UNBILLED,
        unavailable=kind in _UNAVAILABLE,
    )


_SENTENCES: Final[dict[ModelErrorKind, str]] = {
    "key": "refused the key. Check {where.key}.",
    "model": "is not known there. Check {where.model} and {where.address}.",
    "throttled": "is throttled: too many requests. Wait a minute and run again.",
    "quota": "has no quota left. Check plan and billing of the account behind {where.key}.",
    "timeout": "did not answer within {timeout_s:g} s. Raise {where.timeout} or take a faster one.",
    "address": "cannot be reached: {cause}. Check {where.address}.",
    "elsewhere": "is not at this address: {cause}. Check {where.address}.",
    "down": "failed on its own side: {cause}. Run again later.",
    "no_method": "answers neither by JSON schema nor by tool call nor in JSON. Take another one.",
    "declined": "declined to answer: {cause}.",
    "unusable": "gave an answer that holds no list of queries. Take another one if this repeats.",
    "other": "failed: {cause}.",
}

_UNBILLED: Final[frozenset[ModelErrorKind]] = frozenset(
    {"key", "model", "throttled", "quota", "address", "elsewhere", "down"}
)
"""Kinds of failures before any work was done, which vendors do not bill."""
_UNAVAILABLE: Final = _UNBILLED | {"timeout"}
"""Kinds of failures that every other input would have, too."""
_OF_FORM: Final = (ValueError, LookupError, TypeError)
_NO_MONEY: Final = re.compile(
    r"insufficient[_ ](?:quota|balance|funds|credits?)|credit balance|out of credits", re.IGNORECASE
)

_BY_STATUS: Final[dict[int, ModelErrorKind]] = {
    401: "key",
    402: "quota",
    403: "key",
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


def _kind(error: Exception, status: int | None) -> ModelErrorKind | None:
    """Return the kind that the error itself shows, or None."""
    ancestry = " ".join(parent.__name__ for parent in type(error).__mro__)
    known = _BY_FAILURE.get(getattr(error, "kind", ""))
    signs: tuple[tuple[ModelErrorKind | None, object], ...] = (
        ("no_method", isinstance(error, NotImplementedError)),
        ("declined", isinstance(error, Declined)),
        ("quota", _NO_MONEY.search(f"{getattr(error, 'code', '')} {error}")),
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
