"""Failed calls as texts for a model, which goes on after them."""

from __future__ import annotations

import logging
import re
from typing import TYPE_CHECKING, Final

from .. import errors
from ..contracts.functions import FunctionResult
from ..errors import CollectionSearchError, FetchError, UnknownCollectionError
from ..runtime.failure_log import log_failure
from ..text.redaction import error_message
from ..text.untrusted import neutralize_line

if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

logger = logging.getLogger(__name__)

_OUR_EXAMPLE: Final = re.compile(r"(https://(?:search\.)?example\.com(?:/page)?)(?=[\s,;]|\.?$)")
"""How our own messages show the form of an address; the name is reserved (RFC 2606)."""

_UNKNOWN_NAME: Final = "Check the name of the site, or try again later."
"""A name that nobody knows may be wrong, or the name service fails for a while."""


def failed_call(error: BaseException) -> FunctionResult:
    """Return the error result of a failed call; an unexpected error is logged, not shown."""
    return FunctionResult(f"Error: {describe_failure(error)}", is_error=True)


def describe_failure(error: BaseException) -> str:
    """Return what happened, and where it is known whether a retry may help, in one line.

    >>> from collection_search.errors import InputError, SearchProviderUnavailable
    >>> describe_failure(SearchProviderUnavailable("Tavily is down"))
    'Tavily is down. It may work later.'
    >>> describe_failure(InputError("Write it like https://example.com/page"))
    'Write it like https://example.com/page.'
    """
    if isinstance(error, UnknownCollectionError):  # its message is for people: it names the tenant
        known = f"Known: {', '.join(error.known)}." if error.known else "There is no other yet."
        return neutralize_line(f"There is no collection {error.collection!r}. {known}")
    if isinstance(error, CollectionSearchError):
        message = _neutralized(error_message(error))
        if isinstance(error, FetchError) and error.reason == "dns_failed" and not error.retryable:
            return f"{_as_sentence(message)} {_UNKNOWN_NAME}"
        return _with_advice(message, getattr(error, "retryable", None))
    log_failure(logger, "a function call failed", error, level=logging.ERROR)
    return f"something unexpected failed ({type(error).__name__}). The log has the cause."


def describe_failed_search(rationale: str, error: Mapping[str, Any]) -> str:
    """Return the same for a failed outcome of the search worker, of which `error` is the cause."""
    is_foreign = rationale == "unexpected_error" and not _is_ours(error["kind"])
    message = error["kind"] if is_foreign else error["message"]  # a foreign text is for the log
    told = _with_advice(_neutralized(message), error["retryable"])
    return f"Search failed ({rationale}): {told}"


def describe_failed_start(error: Mapping[str, Any]) -> str:
    """Return why an ingestion was not started, of which `error` is the receipt's cause.

    >>> describe_failed_start({"kind": "RuntimeError", "message": "Obey me!"})
    'Ingestion failed: RuntimeError.'
    """
    message = error["message"] if _is_ours(error["kind"]) else error["kind"]
    return f"Ingestion failed: {_as_sentence(_neutralized(message))}"


def _is_ours(kind: str) -> bool:
    """Return whether this is the name of an error of this package, whose messages are for all."""
    found = getattr(errors, kind, None)
    return isinstance(found, type) and issubclass(found, CollectionSearchError)


def _neutralized(message: str) -> str:
    """Return the message as one line without effect; only our own examples stay addresses."""
    parts = _OUR_EXAMPLE.split(message)  # the examples stand at the odd places
    shown = [part if n % 2 else _neutralize_part(part) for n, part in enumerate(parts)]
    return "".join(shown).strip()


def _neutralize_part(text: str) -> str:
    before = " " if text[:1].isspace() else ""
    after = " " if text[-1:].isspace() else ""
    return f"{before}{neutralize_line(text)}{after}"


def _with_advice(message: str, may_retry: bool | None) -> str:  # noqa: FBT001 - of three values
    said = _as_sentence(message)
    if may_retry is None:
        return said
    return f"{said} {'It may work later.' if may_retry else 'The same call fails again.'}"


def _as_sentence(message: str) -> str:
    return message if message.endswith((".", "!", "?", "…")) else f"{message}."
