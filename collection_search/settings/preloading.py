"""Loading of the modules that a question will need, in a thread beside its first steps.

On the event loop their imports would take a tenth of a second or more, and with them all other
questions. A module that several threads want is loaded once; the others wait for it.
"""

from __future__ import annotations

import contextlib
import importlib
import os
import threading
from functools import partial
from typing import TYPE_CHECKING, Any, Final

from ..runtime.import_threads import start_importing
from . import registry
from .adapter_factory import is_counted, is_traced

if TYPE_CHECKING:
    from collections.abc import Iterator

    from . import Settings
    from .run_choices import RunChoices

_EVERY_RUN: Final = (
    "anyio._backends._asyncio",
    "langchain_core.tracers.context",
    "langchain_core.tracers.stdout",
)
"""Modules that anyio and LangChain import within the first run, on the event loop."""

_started: Final[set[tuple[Any, ...]]] = set()
_lock = threading.Lock()

for _name in _EVERY_RUN:  # whoever imports this is about to run a graph
    with contextlib.suppress(ImportError):
        importlib.import_module(_name)


def preload(choices: RunChoices) -> None:
    """Load the adapters' modules that these choices name; returns at once.

    The same names are preloaded once a process, whatever else the settings say. What cannot be
    loaded is left to the run, which says why.
    """
    key = _names(choices)
    with _lock:
        if key in _started:
            return
        _started.add(key)
    start_importing(partial(_load_all, choices))


def _names(choices: RunChoices) -> tuple[object, ...]:
    """Return what decides which modules are needed, without a look at files."""
    settings = choices.settings
    given = [
        getattr(choices, name) or getattr(settings, name, None)
        for name in ("provider", "model", "embeddings")
    ]
    names = [each if isinstance(each, str) else None for each in given]
    flags = () if settings is None else (is_traced(settings), is_counted(settings))
    return (*names, *flags)


def _load_all(choices: RunChoices) -> None:
    with contextlib.suppress(Exception):
        later: list[str] = []
        for group, name in needed_adapters(choices, choices.using()):
            with contextlib.suppress(Exception):  # the run imports it anew and tells the cause
                adapter = registry.load_adapter(group, name.partition(":")[0])
                later += getattr(adapter, "imported_later", ())
        for module in later:
            importlib.import_module(module)


def needed_adapters(
    choices: RunChoices, settings: Settings
) -> Iterator[tuple[registry.Group, str]]:
    """Yield group and name of the adapters of a question, in the order of their use.

    An adapter that the caller gives as a live object is loaded already.
    """
    if choices.spans is None and is_traced(settings):
        yield "tracing", "langfuse"
    model = choices.model or settings.model
    if isinstance(model, str):
        yield "models", model
    if choices.usage_store is None:
        yield "usage", settings.engine
    provider = choices.provider or settings.provider
    if isinstance(provider, str) and provider != "auto":
        is_described = settings.described(provider.partition(":")[0])
        yield "search", registry.JSON_API if is_described else provider
    embeddings = choices.embeddings or settings.embeddings
    if isinstance(embeddings, str) and embeddings != "lexical":
        yield "embeddings", embeddings
    if choices.search_metrics is None and is_counted(settings):
        yield "metrics", "prometheus"


def _begin_anew() -> None:
    """Preload again: a forked child has not loaded what its parent was about to."""
    global _lock  # noqa: PLW0603 - a thread that the child lacks may hold it
    _lock = threading.Lock()
    _started.clear()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_begin_anew)
