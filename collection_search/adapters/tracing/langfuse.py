"""Observations for Langfuse, in the cloud or self-hosted (server 4.59 or newer).

They go there by OpenTelemetry's protocol, which Langfuse documents. Its SDK and its handler of
LangChain's callbacks are not used: they cost five times as much, and the latter does not nest in
coroutines.
"""

from __future__ import annotations

import logging
import threading
from typing import TYPE_CHECKING, ClassVar, Final

from ...runtime.concurrency import offload
from ...runtime.spans import NULL_SINK, GuardedSink
from ...text.redaction import mask_text
from .health_check import check_langfuse_health
from .langfuse_project import open_project
from .observations import RecordedObservation, record_of_run

if TYPE_CHECKING:
    from contextlib import AbstractContextManager

    from ...contracts.health import Health
    from ...ports import EndedRun, Span, SpanKind, SpanSink, TraceRef
    from ...settings import Settings

logger = logging.getLogger(__name__)

CLOUD: Final = "https://cloud.langfuse.com"


class LangfuseSink:
    """A sink that makes every span an observation in the Langfuse project of its key.

    A run only notes what it did; a thread writes and sends it. Build the first sink of a project
    in a thread: it reads the environment. After that only `flush` blocks.
    """

    imported_later: ClassVar = (f"{__package__}.quiet_exporter",)
    """Modules of the first observation that is sent."""

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
    ) -> AbstractContextManager[Span]:
        """Open an observation below the active OpenTelemetry span, else in the trace's own.

        A part of a run is below the run's own observation, which is made by `end_run`.
        """
        project = self._project
        if project.host_client is not None:
            from .host_client import HostObservation

            return HostObservation(project.host_client, name, kind, trace)
        return RecordedObservation(
            name, kind, trace, keep=project.sender.add, sampler=project.sampler
        )

    def end_run(self, trace: TraceRef, run: EndedRun) -> None:
        """Make the observation of a run: with its ids, its begin, and below the active span."""
        if self._project.host_client is not None:
            return
        record = record_of_run(trace, run, sampler=self._project.sampler)
        if record is not None:
            self._project.sender.add(record)

    def flush(self, timeout_s: float) -> None:
        """Send what is waiting. After a timeout the rest, and all later spans, are dropped."""
        if (client := self._project.host_client) is None:
            self._project.sender.flush(timeout_s)
            return
        sender = threading.Thread(target=client.flush, daemon=True)
        sender.start()
        sender.join(timeout_s)
