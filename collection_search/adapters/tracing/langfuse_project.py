"""The client of a Langfuse project, with its way out."""

from __future__ import annotations

import os
import threading
from typing import TYPE_CHECKING, Final, NamedTuple
from urllib.parse import urlsplit

from langfuse import Langfuse
from opentelemetry.exporter.otlp.proto.http import Compression
from opentelemetry.sdk.trace.sampling import TraceIdRatioBased

from .health_check import basic_login
from .quiet_exporter import QuietExporter
from .run_roots import RunTracerProvider

if TYPE_CHECKING:
    from opentelemetry.trace import Tracer

TIMEOUT_S: Final = 5.0
"""Time limit of one export, where the variable `LANGFUSE_TIMEOUT` does not say otherwise."""

_SCOPE: Final = "langfuse-sdk"
"""Instrumentation scope of the SDK's spans; the SDK sends only those that name the public key."""


class LangfuseProject(NamedTuple):
    """What one process has for one Langfuse project."""

    client: Langfuse
    exporter: QuietExporter
    tracer: Tracer | None
    """Makes spans of runs; None where the host's client sends the spans, whose ids are random."""


_lock = threading.Lock()
_projects: dict[str, LangfuseProject] = {}


def open_project(public_key: str, secret_key: str, base_url: str) -> LangfuseProject:
    """Return the client of a project, one per key and process as the SDK requires.

    Where the host has built a client for this key, the SDK returns that one, exporter included.
    The tracer provider is our own: with a global one our spans would reach the host's other
    backends. OpenTelemetry's context is shared, so our spans still nest below the host's.
    """
    with _lock:
        if public_key not in _projects:
            rate = float(os.environ.get("LANGFUSE_SAMPLE_RATE") or 1)
            provider = RunTracerProvider(
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
            tracer = provider.get_tracer(_SCOPE, attributes={"public_key": public_key})
            _projects[public_key] = LangfuseProject(
                client, exporter, tracer if provider.is_used else None
            )
        return _projects[public_key]


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
