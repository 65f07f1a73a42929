"""A span sink that records every observation, for tests of code that opens spans."""

from __future__ import annotations

from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from ..ports import EndedRun, Scalar, SpanKind, TraceRef


@dataclass(eq=False)
class RecordedSpan:
    """One observation as it was made."""

    name: str
    kind: SpanKind
    trace: TraceRef | None
    parent: RecordedSpan | None
    """The span that was open around it in its own context: task or thread."""
    fields: dict[str, Scalar] = field(default_factory=dict)
    tokens: dict[str, str | int | float | None] = field(default_factory=dict)
    """The arguments of `usage`, by parameter."""
    failure: tuple[str, str] | None = None
    """Kind and message."""
    ended: bool = False

    def set(self, fields: Mapping[str, Scalar]) -> None:
        """Record the fields that have a value."""
        self.fields |= {name: value for name, value in fields.items() if value is not None}

    def usage(
        self,
        *,
        model: str,
        input_tokens: int | None,
        output_tokens: int | None,
        cost_usd: float | None,
    ) -> None:
        """Record the usage."""
        counts = {"input_tokens": input_tokens, "output_tokens": output_tokens}
        self.tokens = {"model": model, **counts, "cost_usd": cost_usd}

    def fail(self, kind: str, message: str) -> None:
        """Record the failure."""
        self.failure = kind, message


class RecordingSink:
    """A sink that records every span in `spans`, in the order of their opening.

    >>> sink = RecordingSink()
    >>> with sink.span("outer"), sink.span("inner") as span:
    ...     span.set({"count": 3})
    >>> print(sink.outline())
    outer
      inner
    """

    def __init__(self) -> None:
        self.spans: list[RecordedSpan] = []
        self.runs: list[tuple[TraceRef, EndedRun]] = []
        """The runs that have ended."""
        self.flushes: list[float] = []
        """The time limits that `flush` was given."""
        self._open: ContextVar[RecordedSpan | None] = ContextVar("open_span", default=None)

    @contextmanager
    def span(
        self, name: str, *, kind: SpanKind = "span", trace: TraceRef | None = None
    ) -> Iterator[RecordedSpan]:
        """Record one observation; an exception that passes through marks it."""
        span = RecordedSpan(name, kind, trace, self._open.get())
        self.spans.append(span)
        token = self._open.set(span)
        try:
            yield span
        except Exception as error:
            span.failure = span.failure or (type(error).__name__, str(error))
            raise
        finally:
            span.ended = True
            self._open.reset(token)

    def end_run(self, trace: TraceRef, run: EndedRun) -> None:
        """Record the run."""
        self.runs.append((trace, run))

    def flush(self, timeout_s: float) -> None:
        """Record the call."""
        self.flushes.append(timeout_s)

    def named(self, name: str) -> list[RecordedSpan]:
        """Return the spans of that name, in the order of their opening."""
        return [span for span in self.spans if span.name == name]

    def outline(self) -> str:
        """Return the names as a tree, two blanks for each level."""
        return "\n".join(self._lines(None, 0))

    def _lines(self, parent: RecordedSpan | None, depth: int) -> Iterator[str]:
        for span in self.spans:
            if span.parent is parent:
                yield "  " * depth + span.name
                yield from self._lines(span, depth + 1)
