"""The steps of a run as log records: each observation with its time and its facts.

The message is for people. For machines a record has `step`, `latency_ms`, `facts`, and where they
are known `trace_id` and `failure` as attributes. Secrets are masked in both.
"""

from __future__ import annotations

import logging
import time
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Final

from ..text.redaction import mask_text

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from ..ports import EndedRun, Scalar, Span, SpanKind, SpanSink, TraceRef

logger = logging.getLogger(__name__)

_LEFT_OUT: Final = frozenset(
    {
        *("case_id", "run_id", "tenant_id", "trace_id", "worker_call_id", "workflow_id"),
        *("http.status", "latency_ms", "node_name", "quota.remaining"),
    }
)
"""Facts that tell nothing to a person who watches one run."""


def log_steps(sink: SpanSink) -> SpanSink:
    """Return a sink that also logs each observation at its end, at DEBUG.

    Where nobody listens at that level it is the same sink.
    """
    return _LoggedSink(sink) if logger.isEnabledFor(logging.DEBUG) else sink


class _LoggedSink:
    __slots__ = ("_sink",)

    def __init__(self, sink: SpanSink) -> None:
        self._sink = sink

    @contextmanager
    def span(
        self, name: str, *, kind: SpanKind = "span", trace: TraceRef | None = None
    ) -> Iterator[Span]:
        started = time.perf_counter()
        with self._sink.span(name, kind=kind, trace=trace) as span:
            logged = _LoggedSpan(span)
            try:
                yield logged
            except BaseException as error:
                logged.failure = logged.failure or type(error).__name__
                raise
            finally:
                ms = (time.perf_counter() - started) * 1000
                _log(name, ms, logged, trace)

    def end_run(self, trace: TraceRef, run: EndedRun) -> None:
        if (end := getattr(self._sink, "end_run", None)) is not None:
            end(trace, run)

    def flush(self, timeout_s: float) -> None:
        self._sink.flush(timeout_s)


class _LoggedSpan:
    __slots__ = ("_span", "facts", "failure")

    def __init__(self, span: Span) -> None:
        self._span = span
        self.facts: dict[str, Scalar] = {}
        self.failure = ""

    def set(self, fields: Mapping[str, Scalar]) -> None:
        self.facts |= fields
        self._span.set(fields)

    def usage(self, **usage: Any) -> None:
        self.facts |= usage
        self._span.usage(**usage)

    def fail(self, kind: str, message: str) -> None:
        self.failure = f"{kind}: {message}"
        self._span.fail(kind, message)


def _log(step: str, ms: float, span: _LoggedSpan, trace: TraceRef | None) -> None:
    """Write the record of a span that has ended."""
    facts = {name: _masked(fact) for name, fact in span.facts.items() if fact not in {None, ""}}
    failure = mask_text(span.failure, personal=False)
    fields: dict[str, Any] = {"step": step, "latency_ms": round(ms, 3), "facts": facts}
    if trace_id := trace.trace_id if trace else facts.get("trace_id"):
        fields["trace_id"] = trace_id
    if failure:
        fields["failure"] = failure
    logger.debug("%s: %s", step, _told(ms, facts, failure), extra=fields)


def _masked(fact: Scalar) -> Scalar:
    return mask_text(fact, personal=False) if isinstance(fact, str) else fact


def _told(ms: float, facts: Mapping[str, Scalar], failure: str) -> str:
    """Return time, facts and failure as one line."""
    told = [
        f"{name}={fact!r}" if isinstance(fact, str) else f"{name}={fact}"
        for name, fact in facts.items()
        if name not in _LEFT_OUT
    ]
    failed = [f"failed: {failure}"] if failure else []
    return ", ".join([f"{ms:.0f} ms", *told, *failed])
