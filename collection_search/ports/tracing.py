"""Ports of observations of a run and their sink."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final, Literal, Protocol, TypeAlias, runtime_checkable

if TYPE_CHECKING:
    from collections.abc import Mapping
    from contextlib import AbstractContextManager

Scalar: TypeAlias = str | int | float | bool | None
SpanKind = Literal["span", "tool", "generation", "embedding", "retriever"]


DEFAULT_WORKFLOW: Final = "collection_search"
"""The workflow of calls that are no part of a graph's run, where their caller names none."""


class FullQuery(str):
    """A query that is stored in full: a sink masks the secrets in it, but no personal data."""

    __slots__ = ()


@dataclass(frozen=True, slots=True)
class TraceRef:
    """The trace of an observation that has no open span around it."""

    trace_id: str
    """Seed of the trace: the same text always gives the same trace."""
    trace_name: str = DEFAULT_WORKFLOW
    session_id: str | None = None
    tenant_id: str | None = None
    run: str | None = field(default=None, compare=False)
    """Identity of the run whose own observation is the parent; None: the one that is open."""


@dataclass(frozen=True, slots=True)
class EndedRun:
    """A run of a graph that has ended: the root of its observations."""

    name: str
    """The graph's."""
    started_at: float
    """Seconds since 1970."""
    question: str | None
    """As the settings let it be shown."""
    result: Mapping[str, Scalar] = field(default_factory=dict)
    """Outcome and number of results; empty for a run that did not end by itself."""
    failure: tuple[str, str] | None = None
    """Kind and message of the error that ended the run."""
    is_stopped: bool = False
    """Whether it was cancelled from outside, which is no error."""


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
        """Add what a call of a model or a search provider consumed.

        Only `generation`, `embedding` and `tool` spans store it, a `tool` span the cost alone.
        """
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


@runtime_checkable
class SupportsRuns(Protocol):
    """A sink that makes one observation of a whole run."""

    def end_run(self, trace: TraceRef, run: EndedRun) -> None:
        """Store the run as parent of the observations that were opened with the same `trace.run`.

        Called once, when the run has ended, perhaps in another process than its first stages.
        """
        ...
