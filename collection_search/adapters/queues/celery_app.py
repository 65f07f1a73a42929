"""The app of a plain Celery worker, from the settings of the process.

`celery -A collection_search.adapters.queues.celery_app worker --without-mingle --without-gossip`
"""

from __future__ import annotations

from typing import Final

from ...context import SearchContext
from ...settings.process_defaults import process_settings
from .celery_worker import CeleryWorker

_worker: Final = CeleryWorker(SearchContext(settings=process_settings()))
app: Final = _worker.app
