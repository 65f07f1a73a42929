"""Validates the arguments of the public functions, and their tenant."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping
from numbers import Integral, Real
from typing import Any, Final

from ..context import SearchContext
from ..errors import InputError
from ..ports import PageReader
from ..settings import Settings

_Check = Callable[[Any], bool]


def _is_number(value: Any) -> bool:
    return not isinstance(value, bool) and isinstance(value, Real) and not math.isnan(value)


def _is_whole(value: Any) -> bool:
    return not isinstance(value, bool) and isinstance(value, Integral)


def _is_positive(value: Any) -> bool:
    return _is_whole(value) and value >= 1


def _is(kind: type) -> _Check:
    return lambda value: isinstance(value, kind)


def _optional(check: _Check) -> _Check:
    return lambda value: value is None or check(value)


_TEXT: Final = (_is(str), "a text")
_FLAG: Final = (_is(bool), "True or False")
_WHOLE: Final = (_is_whole, "a whole number")
_SECONDS: Final = (_is_number, "a number of seconds")
_OPTIONAL_TEXT: Final = (_optional(_is(str)), "a text or None")
_CALLBACK: Final = (_optional(callable), "a function or None")
_EXPECTED: Final[Mapping[str, tuple[_Check, str]]] = {
    "ask": _FLAG,
    "collection": _TEXT,
    "context": (_optional(_is(SearchContext)), "a SearchContext or None"),
    "crawl": _FLAG,
    "depth": _WHOLE,
    "is_pdf": (_optional(_is(bool)), "True, False or None"),
    "k": _WHOLE,
    "max_pages": _WHOLE,
    "metadatas": (_optional(lambda value: isinstance(value, list | tuple)), "a list or None"),
    "on_found": _CALLBACK,
    "on_progress": _CALLBACK,
    "older_than_s": _SECONDS,
    "provider": _OPTIONAL_TEXT,
    "query": _TEXT,
    "question": _TEXT,
    "reader": (_optional(_is(PageReader)), "a PageReader or None"),
    "session": _OPTIONAL_TEXT,
    "settings": (_optional(_is(Settings)), "Settings or None"),
    "tenant": _OPTIONAL_TEXT,
    "timeout_s": _SECONDS,
    "total_tokens": (_optional(_is_positive), "a whole number of 1 or more, or None"),
    "url": _TEXT,
    "work": _FLAG,
}
"""The type of each argument; a name means the same in every public function."""


def validate_arguments(**given: Any) -> None:
    """Raise InputError for the first argument of a wrong type.

    >>> validate_arguments(k=8, tenant=None)
    >>> validate_arguments(k="8")
    Traceback (most recent call last):
        ...
    collection_search.errors.InputError: k must be a whole number, but 'str' was given.
    """
    for name, value in given.items():
        is_valid, expected = _EXPECTED[name]
        if not is_valid(value):
            raise InputError(f"{name} must be {expected}, but {_kind(value)} was given.")


def validate_texts(name: str, given: Any) -> list[str]:
    """Return the texts as a list. Raises InputError for a single text or a wrong type.

    >>> validate_texts("ids", ("a", "b"))
    ['a', 'b']
    """
    if not isinstance(given, Iterable) or isinstance(given, str | bytes | Mapping):
        raise InputError(f"{name} must be a list of texts, but {_kind(given)} was given.")
    texts = list(given)
    for text in texts:
        if not isinstance(text, str):
            raise InputError(f"{name} must be a list of texts, but {_kind(text)} is in it.")
    return texts


def _kind(value: Any) -> str:
    return str(value) if _is_number(value) else repr(type(value).__name__)


def context_for(context: SearchContext | None, tenant: str | None) -> SearchContext:
    """Return the context of a call for the tenant. Raises InputError for two different tenants."""
    validate_arguments(context=context, tenant=tenant)
    context = context or SearchContext()
    if tenant is None:
        return context
    if not tenant.strip():
        raise InputError("tenant is empty. Name one, or leave it out for the settings' tenant.")
    if context.tenant_id not in (None, tenant):
        raise InputError(
            f"tenant is {tenant!r}, but the context is of tenant {context.tenant_id!r}."
            " Give one of them."
        )
    return context.model_copy(update={"tenant_id": tenant})
