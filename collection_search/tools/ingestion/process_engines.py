"""The ingestion engines of this process, one for each store."""

from __future__ import annotations

import threading
import weakref
from typing import TYPE_CHECKING

from .engine import IngestionEngine

if TYPE_CHECKING:
    from ...context import SearchContext
    from ...ports import Embedder, SpanSink, Storage
    from ...settings import Settings
    from .engine import ReaderSource


def engine_of(
    store: Storage,
    settings: Settings,
    embedder: Embedder | None = None,
    *,
    reader: ReaderSource | None = None,
    sink: SpanSink | None = None,
    payer: SearchContext | None = None,
) -> IngestionEngine:
    """Return the process's one engine for this store, so that its work stays bounded."""
    with _engines_lock:
        engine = _engines.get(id(store)) or IngestionEngine(store, settings)
        _engines[id(store)] = engine
    engine.add_embedder(embedder, payer)
    engine.equip(reader=reader, settings=settings, sink=sink)
    return engine


# A working engine is referenced by its thread.
_engines: weakref.WeakValueDictionary[int, IngestionEngine] = weakref.WeakValueDictionary()
_engines_lock = threading.Lock()
