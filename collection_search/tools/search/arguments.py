"""Validates the arguments of the search worker: context, query, numbers."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from pydantic import ValidationError

from ...contracts.options import NO_OPTIONS, SearchOptions
from ...contracts.search import ToolContext, WebSearchInput
from ...errors import InputError, InvalidQueryError
from ...text.problems import describe_problems
from ...text.validation import number_within, whole_number

if TYPE_CHECKING:
    from collections.abc import Mapping

_DAY_S: Final = 86_400.0


def validate_context(context: ToolContext | Mapping[str, Any]) -> ToolContext:
    """Return the context. Raises InputError naming what is missing."""
    try:
        return ToolContext.model_validate(context)
    except ValidationError as error:
        raise InputError(
            f"The tool context cannot be used ({describe_problems(error)}). It needs"
            " scope.tenant_id, scope.trace_id, scope.invocation_id and scope.run_id or"
            " scope.ingestion_run_id."
        ) from error


def wanted(options: SearchOptions | None) -> SearchOptions:
    """Return the options, the default ones for None. Raises InputError for another type."""
    if not isinstance(options, SearchOptions | None):
        raise InputError(f"options must be SearchOptions or None, got {type(options).__name__!r}.")
    return options or NO_OPTIONS


def validate_query(query: str) -> str:
    """Return the query in one line. Raises InvalidQueryError: no word, or too many characters."""
    try:
        return WebSearchInput(query=query).query
    except ValidationError as error:
        raise InvalidQueryError(describe_problems(error)) from error


def validate_count(name: str, value: Any, *, most: int) -> int:
    """Return the whole number from 1 to `most`. Raises InputError."""
    number = whole_number(value, least=1, most=most)
    if number is None:
        raise InputError(f"{name} must be a whole number from 1 to {most}, got {value!r}.")
    return number


def validate_seconds(name: str, value: Any, *, least: float = 0.001) -> float:
    """Return the seconds from `least` to a day. Raises InputError."""
    number = number_within(value, least, _DAY_S)
    if number is None:
        raise InputError(f"{name} must be {least:g} to {_DAY_S:g} seconds, got {value!r}.")
    return number
