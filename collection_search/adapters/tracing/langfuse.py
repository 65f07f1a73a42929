"""Observations for Langfuse, in the cloud or self-hosted (server 4.59 or newer).

Every span is an observation of its own; LangChain's callback handler is not used, since it costs
five times as much and does not nest in coroutines.
"""

from __future__ import annotations

import json
import logging
import threading
from contextlib import ExitStack
from contextvars import ContextVar
from typing import TYPE_CHECKING, Any, Final, Self

from langfuse import Langfuse, LangfuseOtelSpanAttributes, LangfuseSpan, propagate_attributes
from opentelemetry.trace import get_current_span

from ...ports import FullQuery
from ...runtime.concurrency import offload
from ...runtime.spans import NULL_SINK, GuardedSink
from ...text.clean import to_unicode
from ...text.redaction import mask, mask_text, redact
from .health_check import check_langfuse_health
from .langfuse_project import open_project
from .run_roots import below, root_ids, with_ids

if TYPE_CHECKING:
    from collections.abc import Mapping
    from types import TracebackType

    from ...contracts.health import Health
    from ...ports import EndedRun, Scalar, SpanKind, SpanSink, TraceRef
    from ...settings import Settings

logger = logging.getLogger(__name__)

CLOUD: Final = "https://cloud.langfuse.com"
MAX_TRACE_VALUE_CHARS: Final = 198
"""Langfuse drops values of a whole trace past 200 characters, quotes of their JSON included."""
MAX_MESSAGE_CHARS: Final = 2000

_trace: ContextVar[TraceRef | None] = ContextVar("langfuse_trace", default=None)


class LangfuseSink:
    """A sink that makes every span an observation in the Langfuse project of its key.

    Building the first one of a project takes about half a second: do it in a thread. After that
    only `flush` blocks; a thread of the SDK sends the observations that have ended.
    """

    def __init__(self, *, public_key: str, secret_key: str, base_url: str = CLOUD) -> None:
        self._project = open_project(public_key, secret_key, base_url.rstrip("/"))

    @classmethod
    def from_settings(cls, settings: Settings) -> SpanSink:
        """Return a sink that never fails; it is off without both keys or when disabled."""
        public_key = settings.langfuse_public_key
        if not (settings.langfuse_tracing and public_key):
            return NULL_SINK
        try:
            if (secret_key := settings.langfuse_key()) is None:
                return NULL_SINK
            sink = cls(
                public_key=public_key,
                secret_key=secret_key.get_secret_value(),
                base_url=settings.langfuse_base_url or CLOUD,
            )
        except Exception as error:  # noqa: BLE001 - a run is worth more than its trace
            logger.warning(
                "Langfuse is off: its client cannot be built (%s).", mask_text(str(error))
            )
            return NULL_SINK
        return GuardedSink(sink)

    @staticmethod
    async def acheck(settings: Settings, *, timeout: float) -> Health:  # noqa: ASYNC109
        """Return whether the server accepts both keys of the settings. Raises ConfigError."""
        secret_key = await offload(settings.langfuse_key)
        return await check_langfuse_health(
            public_key=settings.langfuse_public_key or "",
            secret_key=secret_key.get_secret_value() if secret_key else "",
            base_url=(settings.langfuse_base_url or CLOUD).rstrip("/"),
            timeout_s=timeout,
        )

    def span(
        self, name: str, *, kind: SpanKind = "span", trace: TraceRef | None = None
    ) -> Observation:
        """Open an observation below the active OpenTelemetry span, else in the trace's own.

        A part of a run is below the run's own observation, which is made by `end_run`.
        """
        run = trace.run if trace is not None and self._project.tracer is not None else None
        return Observation(self._project.client, name, kind, trace, run=run)

    def end_run(self, trace: TraceRef, run: EndedRun) -> None:
        """Make the observation of a run: with its ids, its begin, and below the active span."""
        tracer, active = self._project.tracer, get_current_span().get_span_context()
        if tracer is None or trace.run is None:
            return
        wide = propagate_attributes(**_trace_wide(trace, named=not active.is_valid))
        with wide, with_ids(root_ids(trace.run, _trace_id(trace), active)):
            span = tracer.start_span(run.name, start_time=round(run.started_at * 1e9))
            observation = LangfuseSpan(
                otel_span=span,
                langfuse_client=self._project.client,
                input=_shown(run.question),
                output=mask(dict(run.result)) or None,
            )
        if run.failure is not None:
            observation.update(**_failure(*run.failure, is_error=not run.is_stopped))
        observation.end()

    def flush(self, timeout_s: float) -> None:
        """Send what is waiting. After a timeout the rest, and all later spans, are dropped."""
        sender = threading.Thread(target=self._project.client.flush, daemon=True)
        sender.start()
        sender.join(timeout_s)
        if sender.is_alive():
            self._project.exporter.report(f"no answer within {timeout_s:g} s")
            self._project.exporter.shutdown()


class Observation:
    """One observation; its fields are collected and written once, when it ends."""

    def __init__(
        self,
        client: Langfuse,
        name: str,
        kind: SpanKind,
        trace: TraceRef | None,
        *,
        run: str | None = None,
    ) -> None:
        self._client = client
        self._name = name
        self._kind = kind
        self._trace = trace
        self._run = run
        self._open = ExitStack()
        self._cost: float | None = None
        self._fields: dict[str, Scalar] = {}
        self._facts: dict[str, Any] = {}

    def set(self, fields: Mapping[str, Scalar]) -> None:
        """Add scalar metadata; None values are left out."""
        self._fields |= {name: value for name, value in fields.items() if value is not None}

    def usage(
        self,
        *,
        model: str,
        input_tokens: int | None,
        output_tokens: int | None,
        cost_usd: float | None,
    ) -> None:
        """Add the usage of a model call, or the cost of a tool's."""
        self._cost = cost_usd
        tokens = {"input": input_tokens, "output": output_tokens}
        self._facts |= {
            "model": to_unicode(model),
            "usage_details": {name: count for name, count in tokens.items() if count is not None},
            "cost_details": None if cost_usd is None else {"total": cost_usd},
        }

    def fail(self, kind: str, message: str) -> None:
        """Mark the observation as failed."""
        self._facts |= _failure(kind, message)

    def __enter__(self) -> Self:
        active = get_current_span().get_span_context()
        options: dict[str, Any] = {"as_type": self._kind, "name": self._name}
        with ExitStack() as opened:
            if self._trace is not None and self._run is not None:
                opened.enter_context(below(root_ids(self._run, _trace_id(self._trace), active)))
            elif self._trace is not None and not active.is_valid:
                options["trace_context"] = {"trace_id": _trace_id(self._trace)}
            self._observation = opened.enter_context(
                self._client.start_as_current_observation(**options)
            )
            self._span = get_current_span()
            if self._run is not None:
                self._span.set_attribute(LangfuseOtelSpanAttributes.IS_APP_ROOT, False)  # noqa: FBT003
            if self._trace is not None and self._trace != _trace.get():
                # after the observation is open, so that a host's own span is left untouched
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
            if "level" in self._facts:
                pass
            elif isinstance(error, Exception):
                self.fail(type(error).__name__, str(error))
            elif error is not None:  # cancelled or interrupted from outside
                self._facts |= _failure(type(error).__name__, "", is_error=False)
            fields = {name: _shown(value) for name, value in self._fields.items()}
            self._observation.update(metadata=mask(fields, personal=False), **self._facts)
            if self._kind == "tool" and self._cost is not None:  # the SDK leaves it out
                cost = json.dumps({"total": self._cost})
                self._span.set_attribute(LangfuseOtelSpanAttributes.OBSERVATION_COST_DETAILS, cost)


def _trace_id(trace: TraceRef) -> str:
    return Langfuse.create_trace_id(seed=to_unicode(trace.trace_id))


def _shown(value: Scalar) -> Scalar:
    """Return a field without secrets and personal data, in an encoding that loses no batch."""
    if not isinstance(value, str):
        return value
    return str(mask_text(to_unicode(value), personal=not isinstance(value, FullQuery)))


def _failure(kind: str, message: str, *, is_error: bool = True) -> dict[str, Any]:
    status = f"{kind}: {message}" if is_error else kind
    level = "ERROR" if is_error else "WARNING"
    return {"level": level, "status_message": redact(status, most=MAX_MESSAGE_CHARS)}


def _trace_wide(trace: TraceRef, *, named: bool) -> dict[str, Any]:
    """Return the attributes of all observations of a trace; a host's trace keeps its name."""
    return {
        "trace_name": _trace_value(trace.trace_name) if named else None,
        "session_id": _trace_value(trace.session_id) if trace.session_id else None,
        "metadata": {"tenant_id": _trace_value(trace.tenant_id)} if trace.tenant_id else None,
    }


def _trace_value(text: str) -> str:
    ascii_text = mask_text(text).encode("ascii", "xmlcharrefreplace").decode()
    return ascii_text[:MAX_TRACE_VALUE_CHARS]
