"""The whole run of a graph as one observation, of which the stages' own are parts."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Self

from langgraph.errors import GraphBubbleUp

from ..ports import EndedRun
from ..text.redaction import error_message, redact_query

if TYPE_CHECKING:
    from collections.abc import Callable

    from ..ports import Scalar, SpanSink, TraceRef
    from ..text.redaction import CaptureMode


@dataclass(frozen=True, slots=True)
class WholeRun:
    """A run of a graph, as each of its stages knows it."""

    graph: str
    """The graph's name; empty for a stage outside a graph of this package."""
    run_id: str
    started_at: float
    """When its first stage began, in seconds since 1970."""
    question: str | None

    @classmethod
    def of(cls, graph: str, run_id: str, state: Any) -> Self:
        """Return the run to which a stage with this state belongs; without a begin it begins."""
        values = state if isinstance(state, Mapping) else vars(state)
        question = values.get("question") or values.get("query") or values.get("asked")
        started_at = values.get("started_at") or time.time()
        return cls(graph, run_id, started_at, question if isinstance(question, str) else None)

    @property
    def identity(self) -> str | None:
        """The run's own name; a caller's run id may be that of several runs."""
        return f"{self.graph}:{self.run_id}:{self.started_at}" if self.graph else None

    def tell_end(
        self, state: Mapping[str, Any], sink: SpanSink, trace: TraceRef, capture: CaptureMode
    ) -> None:
        """Tell the sink that the run has ended with this state."""
        found = next(filter(None, map(state.get, ("results", "candidates", "passages"))), ())
        result = {"outcome": state.get("outcome"), "result_count": len(found)}
        self._tell(sink, trace, capture, result=result)

    def tell_failure(
        self, error: BaseException, sink: SpanSink, trace: TraceRef, capture: CaptureMode
    ) -> None:
        """Tell the sink that an error, or a cancellation, has ended the run."""
        if isinstance(error, GraphBubbleUp):  # an interrupt: the run is resumed
            return
        is_stopped = not isinstance(error, Exception)
        failure = type(error).__name__, "" if is_stopped else error_message(error)
        self._tell(sink, trace, capture, failure=failure, is_stopped=is_stopped)

    def _tell(
        self,
        sink: SpanSink,
        trace: TraceRef,
        capture: CaptureMode,
        *,
        result: Mapping[str, Scalar] | None = None,
        failure: tuple[str, str] | None = None,
        is_stopped: bool = False,
    ) -> None:
        end: Callable[[TraceRef, EndedRun], None] | None = getattr(sink, "end_run", None)
        if end is None or not self.graph:
            return
        question = None if self.question is None else redact_query(self.question, capture)
        end(
            trace,
            EndedRun(
                self.graph, self.started_at, question, result or {}, failure, is_stopped=is_stopped
            ),
        )
