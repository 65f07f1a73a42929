"""Observations through the host's own Langfuse client, with its exporter and its masking.

The SDK keeps one client per public key and process. Its ids are random, so a run has no root.
"""

from __future__ import annotations

import json
from contextlib import ExitStack
from contextvars import ContextVar
from typing import TYPE_CHECKING, Any, Self

from langfuse import Langfuse, LangfuseOtelSpanAttributes, propagate_attributes
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.trace import format_trace_id, get_current_span

from ...text.clean import to_unicode
from ...text.redaction import mask_text
from .observations import trace_id_of
from .told_facts import ToldFacts
from .written_spans import shown_fields, trace_value

if TYPE_CHECKING:
    from types import TracebackType

    from opentelemetry.sdk.trace import SpanProcessor
    from opentelemetry.sdk.trace.export import SpanExporter

    from ...ports import SpanKind, TraceRef

_trace: ContextVar[TraceRef | None] = ContextVar("langfuse_trace", default=None)


def find_host_client(
    public_key: str, secret_key: str, base_url: str, exporter: SpanExporter
) -> Langfuse | None:
    """Return the client that the host has built for this key; None where there is none.

    The SDK tells by one way only: it leaves the tracer provider of a second client unused. So a
    client of the host's that is built later is ours, and sends by the `exporter`.
    """
    provider = _NoticingProvider(shutdown_on_exit=False)
    client = Langfuse(
        public_key=public_key,
        secret_key=secret_key,
        base_url=base_url,
        tracer_provider=provider,
        span_exporter=exporter,
    )
    return None if provider.is_used else client


class _NoticingProvider(TracerProvider):
    """A tracer provider that knows whether anybody takes its spans."""

    is_used = False

    def add_span_processor(self, span_processor: SpanProcessor) -> None:
        self.is_used = True
        super().add_span_processor(span_processor)


class HostObservation(ToldFacts):
    """One observation of the host's client; its fields are written once, when it ends."""

    def __init__(self, client: Langfuse, name: str, kind: SpanKind, trace: TraceRef | None) -> None:
        super().__init__(kind)
        self._client = client
        self._name = name
        self._trace = trace
        self._open = ExitStack()

    def __enter__(self) -> Self:
        active = get_current_span().get_span_context()
        options: dict[str, Any] = {"as_type": self.kind, "name": self._name}
        if self._trace is not None and not active.is_valid:
            options["trace_context"] = {"trace_id": format_trace_id(trace_id_of(self._trace))}
        with ExitStack() as opened:
            self._observation = opened.enter_context(
                self._client.start_as_current_observation(**options)
            )
            self._span = get_current_span()
            if self._trace is not None and self._trace != _trace.get():
                # after the observation is open, so that the host's own span is left untouched
                named = not active.is_valid
                opened.enter_context(propagate_attributes(**_trace_wide(self._trace, named=named)))
                opened.callback(_trace.reset, _trace.set(self._trace))
            self._open = opened.pop_all()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        # The SDK does not see the exception: it would send message and traceback unmasked.
        with self._open:
            self.note_exception(error)
            fields = shown_fields(self.fields, _masked)
            self._observation.update(metadata=fields, **self.facts)
            if self.kind == "tool" and self.facts.get("cost_details"):  # the SDK leaves it out
                cost = json.dumps(self.facts["cost_details"])
                self._span.set_attribute(LangfuseOtelSpanAttributes.OBSERVATION_COST_DETAILS, cost)


def _masked(text: str, personal: bool) -> str:  # noqa: FBT001 - as `shown_fields` calls it
    return mask_text(to_unicode(text), personal=personal)


def _trace_wide(trace: TraceRef, *, named: bool) -> dict[str, Any]:
    return {
        "trace_name": trace_value(trace.trace_name) if named else None,
        "session_id": trace_value(trace.session_id) if trace.session_id else None,
        "metadata": {"tenant_id": trace_value(trace.tenant_id)} if trace.tenant_id else None,
    }
