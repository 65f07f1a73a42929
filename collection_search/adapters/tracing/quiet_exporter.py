"""An exporter of spans to an OTLP server that logs one failure and can be stopped."""

from __future__ import annotations

import logging
from contextvars import ContextVar
from typing import TYPE_CHECKING, Any

from opentelemetry.exporter.otlp.proto.http import trace_exporter
from opentelemetry.sdk.trace.export import SpanExportResult

from ...text.known_secrets import KnownSecrets
from ...text.redaction import mask_text

if TYPE_CHECKING:
    from collections.abc import Sequence

    from opentelemetry.sdk.trace import ReadableSpan

logger = logging.getLogger(__name__)

_complaints: ContextVar[list[str] | None] = ContextVar("complaints", default=None)


def _keep_back(record: logging.LogRecord) -> bool:
    """Collect the library's log lines during our exports; all others pass."""
    complaints = _complaints.get()
    if complaints is not None:
        complaints.append(record.getMessage())
    return complaints is None


logging.getLogger(trace_exporter.__name__).addFilter(_keep_back)


class QuietExporter(trace_exporter.OTLPSpanExporter):
    """An OTLP exporter that logs its first failure only and can be stopped for good.

    `secret` is what the server is sent and may repeat; it is never logged.
    """

    def __init__(self, endpoint: str, *, secret: str = "", **options: Any) -> None:
        super().__init__(endpoint, **options)
        self._secrets = KnownSecrets([secret])
        self._address = mask_text(endpoint)  # it may hold a password
        self._stopped = False
        self._reported = False

    def export(self, spans: Sequence[ReadableSpan]) -> SpanExportResult:
        """Send the spans; what cannot be sent in time is dropped."""
        if self._stopped:
            return SpanExportResult.FAILURE
        complaints: list[str] = []
        token = _complaints.set(complaints)
        try:
            result = super().export(spans)
        finally:
            _complaints.reset(token)
        if result is SpanExportResult.FAILURE:
            self.report(complaints[0] if complaints else "no cause given")
        return result

    def shutdown(self) -> None:
        """Send nothing from now on, and end the wait between two attempts."""
        if not self._stopped:
            self._stopped = True
            super().shutdown()  # type: ignore[no-untyped-call]

    def report(self, cause: str) -> None:
        """Log the first failure only."""
        if not self._reported:
            self._reported = True
            logger.warning(
                "%s takes no spans (%s). They are dropped; the work goes on.",
                self._address,
                mask_text(self._secrets.redact(cause)),
            )
