"""Observations of a run, and where they go."""

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
    """Which trace an observation belongs to when no span is open around it."""

    trace_id: str
    """Seed of the trace: the same text always gives the same trace."""
    trace_name: str = "collection_search"
    session_id: str | None = None
    tenant_id: str | None = None


class Span(Protocol):
    """One observation that is being made."""

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
        """Say what a model call consumed; kept by `generation` and `embedding` spans."""
        ...

    def fail(self, kind: str, message: str) -> None:
        """Mark the observation as failed."""
        ...


@runtime_checkable
class SpanSink(Protocol):
    """Where observations go."""

    def span(
        self, name: str, *, kind: SpanKind = "span", trace: TraceRef | None = None
    ) -> AbstractContextManager[Span]:
        """Open one observation, below the one that is open in this context.

        Must never fail the work that it observes; an exception passing through marks the span.
        """
        ...

    def flush(self, timeout_s: float) -> None:
        """Send what is waiting, within `timeout_s`; for the end of a command, never in a run."""
        ...
