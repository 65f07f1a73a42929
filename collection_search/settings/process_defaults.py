"""Defaults of the process: its settings, and the tools' sink of observations and metrics."""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING

from ..runtime.metering import NULL_METRICS
from ..runtime.spans import NULL_SINK
from . import Settings
from .adapter_factory import is_counted, is_traced, make_adapter

if TYPE_CHECKING:
    from ..ports import SearchMetrics, SpanSink


@functools.lru_cache(maxsize=1)
def process_settings() -> Settings:
    """Return the settings of this process, read once."""
    return Settings.load()


def default_sink() -> SpanSink:
    """Return the sink of observations for a tool outside any graph."""
    settings = process_settings()
    return make_adapter(settings, "tracing", "langfuse") if is_traced(settings) else NULL_SINK


def default_metrics() -> SearchMetrics:
    """Return the metrics of a tool outside any graph. Raises MissingExtraError."""
    settings = process_settings()
    return make_adapter(settings, "metrics", "prometheus") if is_counted(settings) else NULL_METRICS
