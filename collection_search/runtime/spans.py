"""Observations switched off, and the guard between a sink and the work that it observes."""

from __future__ import annotations

import functools
import logging
from contextlib import AbstractContextManager, ExitStack
from typing import TYPE_CHECKING, Any, Final, TypeVar

from ..text.redaction import mask_text

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from types import TracebackType

    from ..ports import EndedRun, Scalar, Span, SpanKind, SpanSink, TraceRef

T = TypeVar("T")

logger = logging.getLogger(__name__)

_failed: Final[set[type]] = set()
"""Classes of sinks whose failure was logged in this process."""


class NullSpan(AbstractContextManager["NullSpan"]):
    """A span that stores nothing. It has no state, so all callers share one."""

    __slots__ = ()

    def __exit__(self, *_exception: object) -> None:
        """Let every exception pass."""

    def set(self, fields: Mapping[str, Scalar]) -> None:
        """Ignore the fields."""

    def usage(self, **_usage: object) -> None:
        """Ignore the usage."""

    def fail(self, kind: str, message: str) -> None:
        """Ignore the failure."""


class NullSink:
    """A sink that stores nothing and creates nothing."""

    __slots__ = ()

    def span(self, name: str, **_options: object) -> NullSpan:  # noqa: ARG002 - the port's signature
        """Return the span that stores nothing."""
        return NULL_SPAN

    def flush(self, timeout_s: float) -> None:
        """Send nothing."""


NULL_SPAN: Final = NullSpan()
NULL_SINK: Final = NullSink()


class GuardedSink:
    """A sink whose failures never reach the work.

    The first failure of a sink's class is logged, all later ones in this process are silent.
    """

    def __init__(self, sink: SpanSink) -> None:
        self._sink = sink

    def span(
        self, name: str, *, kind: SpanKind = "span", trace: TraceRef | None = None
    ) -> AbstractContextManager[Span]:
        """Open an observation that lasts even when the sink fails to make it."""
        opened = functools.partial(self._sink.span, name, kind=kind, trace=trace)
        return _GuardedSpan(opened, self._attempt)

    def end_run(self, trace: TraceRef, run: EndedRun) -> None:
        """Store the run, where the sink can."""
        if (end := getattr(self._sink, "end_run", None)) is not None:
            self._attempt(lambda: end(trace, run))

    def flush(self, timeout_s: float) -> None:
        """Send what is waiting, within `timeout_s`."""
        self._attempt(lambda: self._sink.flush(timeout_s))

    def _attempt(self, action: Callable[[], T]) -> T | None:
        try:
            return action()
        except Exception as error:  # noqa: BLE001 - any failure of a sink ends here
            if type(self._sink) not in _failed:
                _failed.add(type(self._sink))
                cause = mask_text(f"{type(error).__name__}: {error}")
                logger.warning("Tracing failed (%s). The run goes on without it.", cause)
        return None


class _GuardedSpan:
    __slots__ = ("_attempt", "_exits", "_open", "_span")

    def __init__(
        self,
        open_span: Callable[[], AbstractContextManager[Span]],
        attempt: Callable[[Callable[[], Any]], Any],
    ) -> None:
        self._open = open_span
        self._attempt = attempt
        self._exits = ExitStack()
        self._span: Span = NULL_SPAN

    def __enter__(self) -> Span:
        self._span = self._attempt(lambda: self._exits.enter_context(self._open())) or NULL_SPAN
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self._attempt(lambda: self._exits.__exit__(kind, error, traceback))

    def set(self, fields: Mapping[str, Scalar]) -> None:
        self._attempt(lambda: self._span.set(fields))

    def usage(self, **usage: Any) -> None:
        self._attempt(lambda: self._span.usage(**usage))

    def fail(self, kind: str, message: str) -> None:
        self._attempt(lambda: self._span.fail(kind, message))
