"""One retry of a request that a busy endpoint refused, within the time limit of the call."""

from __future__ import annotations

import asyncio
import random
from typing import TYPE_CHECKING, Any, Final, TypeVar

from ..refusals import http_status_of
from ..retry_after import retry_after_s
from .error_mapping import is_out_of_money

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

Answer = TypeVar("Answer")

_BUSY: Final = frozenset({429, 503, 529})
"""Throttled, unavailable, overloaded: refused before any work was done, and never billed."""
_BACKOFF_S: Final = (0.5, 1.0)
"""Range of the wait where the endpoint names none; requests at the same time spread in it."""
_NONE_NAMED: Final = object()


async def retry_once(call: Callable[[float], Awaitable[Answer]], *, until: float) -> Answer:
    """Return the call's answer; it is made again once where a busy endpoint refused it.

    `call` is given the seconds that are left until the event loop's time `until`. There is no
    retry where the wait that the endpoint asks for does not end before, or where a quota is used
    up: both end with the first error.
    """
    now = asyncio.get_running_loop().time
    try:
        return await call(until - now())
    except Exception as error:
        wait_s = _wait_s(error)
        if wait_s is None or now() + wait_s >= until:
            raise
    await asyncio.sleep(wait_s)
    return await call(until - now())


def retries_itself(model: Any) -> bool:
    """Return whether a LangChain object has retries of its own.

    >>> from types import SimpleNamespace as Model
    >>> [retries_itself(Model(**given)) for given in ({"max_retries": 2}, {"max_retries": 0}, {})]
    [True, False, False]
    """
    if hasattr(model, "max_attempt_number"):  # LangChain's `with_retry`
        return True
    own = getattr(model, "max_retries", _NONE_NAMED)
    if own is _NONE_NAMED:
        inner = getattr(model, "bound", None)
        return inner is not None and retries_itself(inner)
    return own != 0


def _wait_s(error: Exception) -> float | None:
    """Return the seconds to wait before a retry, None where there is none."""
    if http_status_of(error) not in _BUSY or is_out_of_money(error):
        return None
    named = getattr(error, "wait_s", None)
    headers = getattr(getattr(error, "response", None), "headers", None)
    if named is None and headers is not None:
        named = retry_after_s(headers.get("retry-after"))
    return random.uniform(*_BACKOFF_S) if named is None else named
