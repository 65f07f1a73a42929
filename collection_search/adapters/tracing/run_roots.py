"""A tracer provider whose spans can be given an id: a run's root is sent after its parts."""

from __future__ import annotations

import hashlib
import os
from contextlib import contextmanager
from contextvars import ContextVar
from typing import TYPE_CHECKING, Any, Final

from opentelemetry.sdk.resources import SERVICE_NAME, Resource
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.id_generator import IdGenerator, RandomIdGenerator
from opentelemetry.trace import NonRecordingSpan, SpanContext, TraceFlags, use_span

if TYPE_CHECKING:
    from collections.abc import Iterator

    from opentelemetry.sdk.trace import SpanProcessor

SERVICE: Final = "collection-search"
"""Name of the service, where `OTEL_SERVICE_NAME` gives none."""

_given: ContextVar[SpanContext | None] = ContextVar("given_span_ids", default=None)


class RunTracerProvider(TracerProvider):
    """A tracer provider of our own; it knows whether anybody takes its spans."""

    def __init__(self, **options: Any) -> None:
        super().__init__(id_generator=_GivenIds(), resource=service_resource(), **options)
        self.is_used = False

    def add_span_processor(self, span_processor: SpanProcessor) -> None:
        """Send the spans there too."""
        self.is_used = True
        super().add_span_processor(span_processor)


class _GivenIds(IdGenerator):
    """Random ids, but for a span inside `with_ids`."""

    def __init__(self) -> None:
        self._random = RandomIdGenerator()

    def generate_span_id(self) -> int:
        given = _given.get()
        return given.span_id if given else self._random.generate_span_id()

    def generate_trace_id(self) -> int:
        given = _given.get()
        return given.trace_id if given else self._random.generate_trace_id()


@contextmanager
def with_ids(ids: SpanContext) -> Iterator[None]:
    """Let the next span have these ids; the trace's only where no span is open."""
    token = _given.set(ids)
    try:
        yield
    finally:
        _given.reset(token)


@contextmanager
def below(parent: SpanContext) -> Iterator[None]:
    """Let the next span be a child of a span that may be made later."""
    with use_span(NonRecordingSpan(parent)):
        yield


def root_ids(run: str, trace_id: str, active: SpanContext) -> SpanContext:
    """Return the ids of a run's root, in the trace of the active span if there is one."""
    span_id = int.from_bytes(hashlib.sha256(run.encode(errors="replace")).digest()[:8]) or 1
    if active.is_valid:
        return SpanContext(active.trace_id, span_id, True, active.trace_flags)  # noqa: FBT003
    return SpanContext(int(trace_id, 16), span_id, True, TraceFlags(TraceFlags.SAMPLED))  # noqa: FBT003


def service_resource() -> Resource:
    """Return what the environment says of this process, with a name of the service at any rate."""
    found = Resource.create()
    named = os.environ.get("OTEL_SERVICE_NAME") or "service.name=" in os.environ.get(
        "OTEL_RESOURCE_ATTRIBUTES", ""
    )
    return found if named else found.merge(Resource({SERVICE_NAME: SERVICE}))
