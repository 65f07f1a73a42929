"""What one process has for one Langfuse project: the way out of its observations."""

from __future__ import annotations

import os
import sys
import threading
from typing import TYPE_CHECKING, Final, NamedTuple
from urllib.parse import urlsplit

from opentelemetry.sdk.trace.sampling import Sampler, TraceIdRatioBased

from .health_check import basic_login
from .sender import RecordSender
from .written_spans import SpanWriter

if TYPE_CHECKING:
    from langfuse import Langfuse

    from .quiet_exporter import QuietExporter

TIMEOUT_S: Final = 5.0
"""Time limit of one export, where the variable `LANGFUSE_TIMEOUT` does not say otherwise."""


class LangfuseProject(NamedTuple):
    """The way out of a project's observations."""

    sender: RecordSender
    sampler: Sampler | None
    host_client: Langfuse | None
    """The host's client, which takes the place of the other two."""


_lock = threading.Lock()
_projects: dict[tuple[str, str, str], LangfuseProject] = {}


def open_project(public_key: str, secret_key: str, base_url: str) -> LangfuseProject:
    """Return what the process has for these keys at this address.

    Langfuse's SDK is slow to import and is used only where the host has imported it: then it may
    have a client for this key.
    """
    known = public_key, secret_key, base_url
    with _lock:
        if known not in _projects:
            rate = float(os.environ.get("LANGFUSE_SAMPLE_RATE") or 1)
            timeout_s = float(os.environ.get("LANGFUSE_TIMEOUT") or TIMEOUT_S)

            def make_exporter() -> QuietExporter:
                return _exporter(public_key, secret_key, base_url, timeout_s)

            earlier = [project for key, project in _projects.items() if key[0] == public_key]
            client = earlier[0].host_client if earlier else None
            if "langfuse" in sys.modules and not earlier:  # the SDK would return our own client
                from .host_client import find_host_client

                shown = _without_login(base_url)  # the SDK logs it
                client = find_host_client(public_key, secret_key, shown, make_exporter())
            _projects[known] = LangfuseProject(
                RecordSender(SpanWriter(public_key), make_exporter, exit_s=timeout_s),
                TraceIdRatioBased(rate) if rate < 1 else None,
                client,
            )
        return _projects[known]


def _exporter(public_key: str, secret_key: str, base_url: str, timeout_s: float) -> QuietExporter:
    from opentelemetry.exporter.otlp.proto.http import Compression

    from .quiet_exporter import QuietExporter

    return QuietExporter(
        endpoint=f"{base_url}/api/public/otel/v1/traces",
        secret=secret_key,
        headers={
            **basic_login(public_key, secret_key),
            "x-langfuse-public-key": public_key,
            "x-langfuse-sdk-name": "python",
            "x-langfuse-ingestion-version": "4",
        },
        timeout=timeout_s,
        compression=Compression.Gzip,
    )


def _without_login(address: str) -> str:
    parts = urlsplit(address)
    return parts._replace(netloc=parts.netloc.rpartition("@")[2]).geturl()
