"""The app of a plain Celery worker, from the settings of the process.

`celery -A collection_search.adapters.queues.celery_app worker --without-mingle --without-gossip`
"""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING

from ...context import SearchContext
from ...errors import ConfigError
from ...settings.process_defaults import process_settings
from .celery_worker import CeleryWorker

if TYPE_CHECKING:
    from celery import Celery


def __getattr__(name: str) -> Celery:
    """Return `app`, made when Celery asks for it: an import alone needs no broker.

    Raises SystemExit with the message of wrong settings: Celery would print a traceback.
    """
    if name != "app":
        raise AttributeError(name)
    try:
        return _worker().app
    except ConfigError as error:
        raise SystemExit(str(error)) from error


@cache
def _worker() -> CeleryWorker:
    settings = process_settings()
    settings.require_shared_engines()
    return CeleryWorker(SearchContext(settings=settings))
