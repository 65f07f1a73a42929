"""Defaults of the process: its settings, and the tools' sink of observations."""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING

from ..runtime.spans import NULL_SINK
from . import Settings
from .adapter_factory import is_traced, make_adapter

if TYPE_CHECKING:
    from ..ports import SpanSink


@functools.lru_cache(maxsize=1)
def process_settings() -> Settings:
    """Return the settings of this process, read once."""
    return Settings.load()


def default_sink() -> SpanSink:
    """Return the sink of observations for a tool outside any graph."""
    settings = process_settings()
    return make_adapter(settings, "tracing", "langfuse") if is_traced(settings) else NULL_SINK
