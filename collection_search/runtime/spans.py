"""Observations switched off, and the guard between a sink and the work that it observes."""

from __future__ import annotations

import logging
from contextlib import AbstractContextManager
from typing import TYPE_CHECKING, Final

from ..text.redaction import mask_text

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from types import TracebackType

    from ..ports import Scalar, Span, SpanKind, SpanSink, TraceRef

logger = logging.getLogger(__name__)


class NullSpan(AbstractContextManager["NullSpan"]):
    """A span that keeps nothing. It has no state, so one serves everybody at once."""

    __slots__ = ()

    def __exit__(self, *_exception: object) -> None:
        """Let every exception pass."""

    def set(self, fields: Mapping[str, Scalar]) -> None:
        """Forget the fields."""

    def usage(
        self,
        *,
        model: str,
        input_tokens: int | None,
        output_tokens: int | None,
        cost_usd: float | None,
    ) -> None:
        """Forget the usage."""

    def fail(self, kind: str, message: str) -> None:
        """Forget the failure."""


class NullSink:
    """A sink that keeps nothing and creates nothing."""

    __slots__ = ()

    def span(
        self,
        name: str,  # noqa: ARG002 - the port's signature
        *,
        kind: SpanKind = "span",  # noqa: ARG002
        trace: TraceRef | None = None,  # noqa: ARG002
    ) -> NullSpan:
        """Return the span that keeps nothing."""
        return NULL_SPAN

    def flush(self, timeout_s: float) -> None:
        """Send nothing."""


NULL_SPAN: Final = NullSpan()
NULL_SINK: Final = NullSink()


class GuardedSink:
    """A sink whose failures never reach the work: the first is logged, the rest are silent."""

    def __init__(self, sink: SpanSink) -> None:
        self._sink = sink
        self._reported = False

    def span(
        self, name: str, *, kind: SpanKind = "span", trace: TraceRef | None = None
    ) -> AbstractContextManager[Span]:
        """Open an observation that lasts even when the sink fails to make it."""
        return _GuardedSpan(lambda: self._sink.span(name, kind=kind, trace=trace), self._report)

    def flush(self, timeout_s: float) -> None:
        """Send what is waiting, within `timeout_s`."""
        try:
            self._sink.flush(timeout_s)
        except Exception as error:  # noqa: BLE001 - any failure of a sink ends here
            self._report(error)

    def _report(self, error: Exception) -> None:
        if not self._reported:
            self._reported = True
            cause = mask_text(f"{type(error).__name__}: {error}")
            logger.warning("Tracing failed (%s). The run goes on without it.", cause)


class _GuardedSpan:
    __slots__ = ("_manager", "_open", "_report", "_span")

    def __init__(
        self,
        open_span: Callable[[], AbstractContextManager[Span]],
        report: Callable[[Exception], None],
    ) -> None:
        self._open = open_span
        self._report = report
        self._manager: AbstractContextManager[Span] = NULL_SPAN
        self._span: Span = NULL_SPAN

    def __enter__(self) -> Span:
        try:
            manager = self._open()
            self._span = manager.__enter__()
            self._manager = manager
        except Exception as error:  # noqa: BLE001
            self._report(error)
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self._tell(lambda: self._manager.__exit__(kind, error, traceback))

    def set(self, fields: Mapping[str, Scalar]) -> None:
        self._tell(lambda: self._span.set(fields))

    def usage(
        self,
        *,
        model: str,
        input_tokens: int | None,
        output_tokens: int | None,
        cost_usd: float | None,
    ) -> None:
        self._tell(
            lambda: self._span.usage(
                model=model,
                input_tokens=input_tokens,
                output_tokens=output_tokens,
                cost_usd=cost_usd,
            )
        )

    def fail(self, kind: str, message: str) -> None:
        self._tell(lambda: self._span.fail(kind, message))

    def _tell(self, action: Callable[[], object]) -> None:
        try:
            action()
        except Exception as error:  # noqa: BLE001
            self._report(error)
