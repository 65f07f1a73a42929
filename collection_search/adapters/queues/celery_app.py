"""The app of a plain Celery worker, from the settings of the process.

`celery -A collection_search.adapters.queues.celery_app worker --without-mingle --without-gossip`
"""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING

from ...context import SearchContext
from ...settings.process_defaults import process_settings
from .celery_worker import CeleryWorker

if TYPE_CHECKING:
    from celery import Celery


def __getattr__(name: str) -> Celery:
    """Return `app`, made when Celery asks for it: an import alone needs no broker."""
    if name != "app":
        raise AttributeError(name)
    return _worker().app


@cache
def _worker() -> CeleryWorker:
    return CeleryWorker(SearchContext(settings=process_settings()))
