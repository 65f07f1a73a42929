"""Observations as plain records: a run opens and ends them, a thread writes and sends them.

OpenTelemetry's context carries the ids, so that spans of the host nest above and below them.
"""

from __future__ import annotations

import hashlib
import random
import time
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final, Self, cast

from opentelemetry.context import attach, create_key, detach, get_value, set_value
from opentelemetry.sdk.trace.sampling import Decision
from opentelemetry.trace import (
    INVALID_SPAN_CONTEXT,
    NonRecordingSpan,
    SpanContext,
    TraceFlags,
    get_current_span,
    set_span_in_context,
)

from ...text.clean import to_unicode
from .told_facts import ToldFacts, told_failure

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from types import TracebackType

    from opentelemetry.sdk.trace.sampling import Sampler

    from ...ports import EndedRun, Scalar, SpanKind, TraceRef

_OPEN: Final = create_key("collection-search-observation")
_SAMPLED: Final = TraceFlags(TraceFlags.SAMPLED)
_IS_REMOTE: Final = True

TracePart = tuple["TraceRef", bool]
"""A trace whose values its observations carry, and whether its name is among them."""


@dataclass(frozen=True, slots=True)
class ObservationRecord:
    """One observation that has ended."""

    name: str
    kind: SpanKind
    ids: SpanContext
    parent: SpanContext | None
    started_ns: int
    ended_ns: int
    traces: tuple[TracePart, ...]
    """Outermost first: the later ones' values win."""
    is_app_root: bool | None
    fields: Mapping[str, Scalar] = field(default_factory=dict)
    facts: Mapping[str, Any] = field(default_factory=dict)
    question: str | None = None
    result: Mapping[str, Scalar] = field(default_factory=dict)


class RecordedObservation(ToldFacts):
    """An open observation; at its end its record goes to `keep`."""

    __slots__ = (
        "_is_app_root",
        "_keep",
        "_name",
        "_parent",
        "_run",
        "_sampler",
        "_started_ns",
        "_token",
        "ids",
        "trace",
        "traces",
    )
    traces: tuple[TracePart, ...]

    def __init__(
        self,
        name: str,
        kind: SpanKind,
        trace: TraceRef | None,
        *,
        keep: Callable[[ObservationRecord], None],
        sampler: Sampler | None = None,
    ) -> None:
        super().__init__(kind)
        self.trace = trace
        self._name = name
        self._keep = keep
        self._sampler = sampler

    def __enter__(self) -> Self:
        active, outer = get_current_span().get_span_context(), _outer()
        run = self.trace.run if self.trace else None
        if self.trace is not None and run is not None:
            self._parent: SpanContext | None = root_ids(run, trace_id_of(self.trace), active)
        else:
            self._parent = active if active.is_valid else None
        self._is_app_root = False if run is not None else _app_root(outer, active)
        self.ids = self._new_ids()
        self.traces = outer.traces if outer else ()
        if self.trace is None:
            self.trace = outer.trace if outer else None
        elif outer is None or outer.trace != self.trace:
            self.traces = (*self.traces, (self.trace, not active.is_valid))
        self._started_ns = time.time_ns()
        context = set_value(_OPEN, self, set_span_in_context(NonRecordingSpan(self.ids)))
        self._token = attach(context)
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        detach(self._token)
        if not self.ids.trace_flags.sampled:
            return
        self.note_exception(error)
        self._keep(
            ObservationRecord(
                self._name,
                self.kind,
                self.ids,
                self._parent,
                self._started_ns,
                time.time_ns(),
                self.traces,
                self._is_app_root,
                self.fields,
                self.facts,
            )
        )

    def _new_ids(self) -> SpanContext:
        if self._parent is not None:
            trace_id, flags = self._parent.trace_id, self._parent.trace_flags
        else:
            trace_id = trace_id_of(self.trace) if self.trace else random.getrandbits(128) or 1
            flags = _SAMPLED
        flags = _sampled(trace_id, self._name, flags, self._sampler)
        return SpanContext(trace_id, random.getrandbits(64) or 1, not _IS_REMOTE, flags)


def record_of_run(
    trace: TraceRef, run: EndedRun, *, sampler: Sampler | None
) -> ObservationRecord | None:
    """Return the record of a run that has just ended: its ids follow from its name, its begin too.

    None where the trace is not sampled, or the run has no name.
    """
    active, outer = get_current_span().get_span_context(), _outer()
    if trace.run is None:
        return None
    ids = root_ids(trace.run, trace_id_of(trace), active)
    if not _sampled(ids.trace_id, run.name, ids.trace_flags, sampler).sampled:
        return None
    ended = {} if run.failure is None else told_failure(*run.failure, is_error=not run.is_stopped)
    return ObservationRecord(
        run.name,
        "span",
        ids,
        active if active.is_valid else None,
        round(run.started_at * 1e9),
        time.time_ns(),
        (*(outer.traces if outer else ()), (trace, not active.is_valid)),
        _app_root(outer, active),
        facts=ended,
        question=run.question,
        result=run.result,
    )


def root_ids(run: str, trace_id: int, active: SpanContext = INVALID_SPAN_CONTEXT) -> SpanContext:
    """Return the ids of a run's root, in the trace of the active span if there is one."""
    span_id = int.from_bytes(hashlib.sha256(run.encode(errors="replace")).digest()[:8]) or 1
    if active.is_valid:
        return SpanContext(active.trace_id, span_id, _IS_REMOTE, active.trace_flags)
    return SpanContext(trace_id, span_id, _IS_REMOTE, _SAMPLED)


def trace_id_of(trace: TraceRef) -> int:
    """Return the id that follows from the trace's seed, as Langfuse's own clients derive it."""
    return int.from_bytes(hashlib.sha256(to_unicode(trace.trace_id).encode()).digest()[:16]) or 1


def _outer() -> RecordedObservation | None:
    return cast("RecordedObservation | None", get_value(_OPEN))


def _app_root(outer: RecordedObservation | None, active: SpanContext) -> bool | None:
    """Return True for what Langfuse lists as a run of its own: nothing of ours is around it."""
    is_part = outer is not None and outer.ids.span_id == active.span_id
    return None if is_part else True


def _sampled(trace_id: int, name: str, flags: TraceFlags, sampler: Sampler | None) -> TraceFlags:
    if sampler is None:
        return flags
    is_kept = sampler.should_sample(None, trace_id, name).decision is Decision.RECORD_AND_SAMPLE
    return _SAMPLED if is_kept else TraceFlags(TraceFlags.DEFAULT)
