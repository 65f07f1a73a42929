"""Observations for Langfuse, in the cloud or self-hosted (server 4.59 or newer).

Every span is an observation of its own; LangChain's callback handler is not used, since it costs
five times as much and does not nest in coroutines.
"""

from __future__ import annotations

import logging
import os
import threading
from contextlib import ExitStack
from contextvars import ContextVar
from typing import TYPE_CHECKING, Any, Final, Self
from urllib.parse import urlsplit

from langfuse import Langfuse, propagate_attributes
from opentelemetry.exporter.otlp.proto.http import Compression
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.sampling import TraceIdRatioBased
from opentelemetry.trace import get_current_span

from ...runtime.concurrency import offload
from ...runtime.spans import NULL_SINK, GuardedSink
from ...text.clean import to_unicode
from ...text.redaction import mask, mask_text, redact
from .health_check import basic_login, check_langfuse_health
from .quiet_exporter import QuietExporter

if TYPE_CHECKING:
    from collections.abc import Mapping
    from types import TracebackType

    from ...contracts.health import Health
    from ...ports import Scalar, SpanKind, SpanSink, TraceRef
    from ...settings import Settings

logger = logging.getLogger(__name__)

CLOUD: Final = "https://cloud.langfuse.com"
TIMEOUT_S: Final = 5.0
"""Time limit of one export, where the variable `LANGFUSE_TIMEOUT` does not say otherwise."""
MAX_TRACE_VALUE_CHARS: Final = 198
"""Langfuse drops values of a whole trace past 200 characters, quotes of their JSON included."""
MAX_MESSAGE_CHARS: Final = 2000

_lock = threading.Lock()
_clients: dict[str, tuple[Langfuse, QuietExporter]] = {}
_trace: ContextVar[TraceRef | None] = ContextVar("langfuse_trace", default=None)


class LangfuseSink:
    """A sink that makes every span an observation in the Langfuse project of its key.

    Building the first one of a project takes about half a second: do it in a thread. After that
    only `flush` blocks; a thread of the SDK sends the observations that have ended.
    """

    def __init__(self, *, public_key: str, secret_key: str, base_url: str = CLOUD) -> None:
        self._client, self._exporter = _project(public_key, secret_key, base_url.rstrip("/"))

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
        """Open an observation below the active OpenTelemetry span, else in the trace's own."""
        return Observation(self._client, name, kind, trace)

    def flush(self, timeout_s: float) -> None:
        """Send what is waiting. After a timeout the rest, and all later spans, are dropped."""
        sender = threading.Thread(target=self._client.flush, daemon=True)
        sender.start()
        sender.join(timeout_s)
        if sender.is_alive():
            self._exporter.report(f"no answer within {timeout_s:g} s")
            self._exporter.shutdown()


class Observation:
    """One observation; its fields are collected and written once, when it ends."""

    def __init__(self, client: Langfuse, name: str, kind: SpanKind, trace: TraceRef | None) -> None:
        self._client = client
        self._name = name
        self._kind = kind
        self._trace = trace
        self._open = ExitStack()
        self._fields: dict[str, Scalar] = {}
        self._facts: dict[str, Any] = {}

    def set(self, fields: Mapping[str, Scalar]) -> None:
        """Add scalar metadata; None values are left out."""
        self._fields |= {
            name: to_unicode(value) if isinstance(value, str) else value  # else a batch is lost
            for name, value in fields.items()
            if value is not None
        }

    def usage(
        self,
        *,
        model: str,
        input_tokens: int | None,
        output_tokens: int | None,
        cost_usd: float | None,
    ) -> None:
        """Add the usage of a model call; the SDK stores it for generations and embeddings."""
        tokens = {"input": input_tokens, "output": output_tokens}
        self._facts |= {
            "model": to_unicode(model),
            "usage_details": {name: count for name, count in tokens.items() if count is not None},
            "cost_details": None if cost_usd is None else {"total": cost_usd},
        }

    def fail(self, kind: str, message: str) -> None:
        """Mark the observation as failed."""
        status = redact(f"{kind}: {message}", most=MAX_MESSAGE_CHARS)
        self._facts |= {"level": "ERROR", "status_message": status}

    def __enter__(self) -> Self:
        active = get_current_span().get_span_context().is_valid
        options: dict[str, Any] = {"as_type": self._kind, "name": self._name}
        if self._trace is not None and not active:
            options["trace_context"] = {
                "trace_id": Langfuse.create_trace_id(seed=to_unicode(self._trace.trace_id))
            }
        with ExitStack() as opened:
            self._observation = opened.enter_context(
                self._client.start_as_current_observation(**options)
            )
            if self._trace is not None and self._trace != _trace.get():
                # after the observation is open, so that a host's own span is left untouched
                opened.enter_context(
                    propagate_attributes(**_trace_wide(self._trace, named=not active))
                )
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
                self._facts |= {"level": "WARNING", "status_message": type(error).__name__}
            self._observation.update(metadata=mask(self._fields), **self._facts)


def _project(public_key: str, secret_key: str, base_url: str) -> tuple[Langfuse, QuietExporter]:
    """Return the client of a project, one per key and process as the SDK requires.

    Where the host has built a client for this key, the SDK returns that one, exporter included.
    The tracer provider is our own: with a global one our spans would reach the host's other
    backends. OpenTelemetry's context is shared, so our spans still nest below the host's.
    """
    with _lock:
        if public_key not in _clients:
            rate = float(os.environ.get("LANGFUSE_SAMPLE_RATE") or 1)
            provider = TracerProvider(
                sampler=TraceIdRatioBased(rate) if rate < 1 else None, shutdown_on_exit=False
            )
            exporter = QuietExporter(
                endpoint=f"{base_url}/api/public/otel/v1/traces",
                secret=secret_key,
                headers=_headers(public_key, secret_key),
                timeout=float(os.environ.get("LANGFUSE_TIMEOUT") or TIMEOUT_S),
                compression=Compression.Gzip,
            )
            client = Langfuse(
                public_key=public_key,
                secret_key=secret_key,
                base_url=_without_login(base_url),  # the SDK logs it
                tracer_provider=provider,
                span_exporter=exporter,
            )
            _clients[public_key] = client, exporter
        return _clients[public_key]


def _without_login(address: str) -> str:
    parts = urlsplit(address)
    return parts._replace(netloc=parts.netloc.rpartition("@")[2]).geturl()


def _headers(public_key: str, secret_key: str) -> dict[str, str]:
    return {
        **basic_login(public_key, secret_key),
        "x-langfuse-public-key": public_key,
        "x-langfuse-sdk-name": "python",
        "x-langfuse-ingestion-version": "4",
    }


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
