"""What a caller of the search worker gives, checked: context, query, numbers."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from pydantic import ValidationError

from ...contracts.options import NO_OPTIONS, SearchOptions
from ...contracts.search import ToolContext, WebSearchInput
from ...errors import InputError, InvalidQueryError

if TYPE_CHECKING:
    from collections.abc import Mapping

_DAY_S: Final = 86_400.0


def complete(context: ToolContext | Mapping[str, Any]) -> ToolContext:
    """Return the context. Raises InputError naming what is missing."""
    try:
        return ToolContext.model_validate(context)
    except ValidationError as error:
        raise InputError(
            f"The tool context cannot be used ({_problems(error)}). It needs scope.tenant_id, "
            "scope.trace_id, scope.invocation_id and scope.run_id or scope.ingestion_run_id."
        ) from error


def wanted(options: SearchOptions | None) -> SearchOptions:
    """Return the options, the usual ones for none. Raises InputError for what is no options."""
    if not isinstance(options, SearchOptions | None):
        raise InputError(f"options must be SearchOptions or None, got {type(options).__name__!r}.")
    return options or NO_OPTIONS


def clean(query: str) -> str:
    """Return the query in one line. Raises InvalidQueryError for one without a word."""
    try:
        return WebSearchInput(query=query).query
    except ValidationError as error:
        raise InvalidQueryError(_problems(error)) from error


def _problems(error: ValidationError) -> str:
    """Return what is wrong, without the values: they may be private.

    >>> try:
    ...     ToolContext.model_validate({})
    ... except ValidationError as error:
    ...     _problems(error)
    'scope: Field required'
    """
    return "; ".join(
        f"{'.'.join(map(str, item['loc']))}: {item['msg'].removeprefix('Value error, ')}"
        for item in error.errors(include_url=False)
    )


def whole(name: str, value: Any, *, most: int) -> int:
    """Return the whole number from 1 to `most`. Raises InputError."""
    if not isinstance(value, int) or isinstance(value, bool) or not 1 <= value <= most:
        raise InputError(f"{name} must be a whole number from 1 to {most}, got {value!r}.")
    return int(value)


def seconds(name: str, value: Any, *, least: float = 0.001) -> float:
    """Return the seconds from `least` to a day. Raises InputError."""
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    if not is_number or not least <= value <= _DAY_S:
        raise InputError(f"{name} must be {least:g} to {_DAY_S:g} seconds, got {value!r}.")
    return float(value)
