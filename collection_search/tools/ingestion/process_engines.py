"""The ingestion engines of this process, one for each store."""

from __future__ import annotations

import threading
import weakref
from typing import TYPE_CHECKING

from ...settings.registry import load_adapter
from .engine import IngestionEngine
from .queued_engine import QueuedEngine

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
    """Return the process's one engine for this store, so that its work stays bounded.

    With `ingest_engine` other than local it leaves the work to the workers of a queue. Raises
    ConfigError.
    """
    with _engines_lock:
        engine = _engines.get(id(store)) or _new_engine(store, settings)
        _engines[id(store)] = engine
    engine.add_embedder(embedder, payer)
    engine.equip(reader=reader, settings=settings, sink=sink)
    return engine


def _new_engine(store: Storage, settings: Settings) -> IngestionEngine:
    if settings.ingest_engine == "local":
        return IngestionEngine(store, settings)
    settings.require_shared_engines()
    queue = load_adapter("queues", settings.ingest_engine).from_settings(settings)
    return QueuedEngine(store, settings, queue)


# A working engine is referenced by its thread.
_engines: weakref.WeakValueDictionary[int, IngestionEngine] = weakref.WeakValueDictionary()
_engines_lock = threading.Lock()
