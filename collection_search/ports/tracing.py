"""Ports of observations of a run and their sink."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, Protocol, TypeAlias, runtime_checkable

if TYPE_CHECKING:
    from collections.abc import Mapping
    from contextlib import AbstractContextManager

Scalar: TypeAlias = str | int | float | bool | None
SpanKind = Literal["span", "tool", "generation", "embedding", "retriever"]


@dataclass(frozen=True, slots=True)
class TraceRef:
    """The trace of an observation that has no open span around it."""

    trace_id: str
    """Seed of the trace: the same text always gives the same trace."""
    trace_name: str = "collection_search"
    session_id: str | None = None
    tenant_id: str | None = None


class Span(Protocol):
    """An open observation."""

    def set(self, fields: Mapping[str, Scalar]) -> None:
        """Add scalar metadata; None values are left out."""
        ...

    def usage(
        self,
        *,
        model: str,
        input_tokens: int | None,
        output_tokens: int | None,
        cost_usd: float | None,
    ) -> None:
        """Add what a model call consumed; only `generation` and `embedding` spans store it."""
        ...

    def fail(self, kind: str, message: str) -> None:
        """Mark the observation as failed."""
        ...


@runtime_checkable
class SpanSink(Protocol):
    """A sink of observations."""

    def span(
        self, name: str, *, kind: SpanKind = "span", trace: TraceRef | None = None
    ) -> AbstractContextManager[Span]:
        """Open an observation, below the one that is open in this context.

        Must never fail the observed work; an exception marks the span and passes through.
        """
        ...

    def flush(self, timeout_s: float) -> None:
        """Send waiting observations within `timeout_s`; for the end of a command, not in a run."""
        ...
