"""The steps of a run as log records: each observation with its time and its facts."""

from __future__ import annotations

import logging
import time
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Final

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
                logger.debug("%s: %s", name, logged.told(ms))

    def end_run(self, trace: TraceRef, run: EndedRun) -> None:
        if (end := getattr(self._sink, "end_run", None)) is not None:
            end(trace, run)

    def flush(self, timeout_s: float) -> None:
        self._sink.flush(timeout_s)


class _LoggedSpan:
    __slots__ = ("_facts", "_span", "failure")

    def __init__(self, span: Span) -> None:
        self._span = span
        self._facts: dict[str, Scalar] = {}
        self.failure = ""

    def set(self, fields: Mapping[str, Scalar]) -> None:
        self._facts |= fields
        self._span.set(fields)

    def usage(self, **usage: Any) -> None:
        self._facts |= usage
        self._span.usage(**usage)

    def fail(self, kind: str, message: str) -> None:
        self.failure = f"{kind}: {message}"
        self._span.fail(kind, message)

    def told(self, ms: float) -> str:
        """Return time, facts and failure as one line."""
        facts = [
            f"{name}={fact!r}" if isinstance(fact, str) else f"{name}={fact}"
            for name, fact in self._facts.items()
            if fact not in {None, ""} and name not in _LEFT_OUT
        ]
        failed = [f"failed: {self.failure}"] if self.failure else []
        return ", ".join([f"{ms:.0f} ms", *facts, *failed])
