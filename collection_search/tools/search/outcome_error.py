"""A failed search's outcome as the error that it stands for."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ...errors import SearchProviderError

if TYPE_CHECKING:
    from ...contracts.search import ToolOutcome


def outcome_error(outcome: ToolOutcome) -> SearchProviderError:
    """Return the error of an outcome whose decision is `error`, with its code and retry."""
    error = outcome.meta["error"]
    return SearchProviderError(
        f"The search failed ({outcome.rationale}). {error['message']}",
        code=error["code"],
        retryable=error["retryable"],
        retry_in_ms=error["retry_in_ms"],
        http_status=error["http_status"],
    )
