"""The metrics file that a command writes at its end, and a worker while it runs."""

from __future__ import annotations

import logging
import threading
from contextlib import contextmanager
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Iterator

    from ...settings import Settings

WRITE_S: Final = 15.0
"""Interval in which a worker writes the file."""

_LOGGER = logging.getLogger(__name__)

_due: list[Settings] = []
"""The settings of the command that runs, if they name a metrics file."""


def prepare_metrics(settings: Settings) -> None:
    """Have the metrics file of the settings written at the command's end.

    Raises MissingExtraError where metrics are switched on without their extra.
    """
    from ...settings.adapter_factory import is_counted
    from ...settings.registry import load_adapter

    if is_counted(settings):
        load_adapter("metrics", "prometheus")
    if settings.metrics_file is not None:
        _due[:] = [settings]


def write_metrics_file() -> None:
    """Write the file, if one is due; a failure is logged and changes no exit code.

    A command that counted nothing leaves the figures of an earlier one as they are.
    """
    while _due:
        _write(_due.pop())


@contextmanager
def refresh_metrics_file(*, every_s: float = WRITE_S) -> Iterator[None]:
    """Write the file, if one is due, at once and again and again while the block runs.

    It is written by a process that counted nothing yet, too: its age tells whether that one lives.
    """
    if not _due:
        yield
        return
    ended = threading.Event()
    writer = threading.Thread(
        target=_write_often, args=(_due[-1], ended, every_s), name="metrics-file", daemon=True
    )
    writer.start()
    try:
        yield
    finally:
        ended.set()
        writer.join(timeout=1)


def _write_often(settings: Settings, ended: threading.Event, every_s: float) -> None:
    """Write until it has ended; a failure is logged once, until the file is written again."""
    from ...errors import ConfigError
    from ...tools.metrics_export import write_metrics

    is_failing = False
    while settings.metrics_file is not None and not ended.is_set():
        try:
            write_metrics(settings.metrics_file, settings)
            is_failing = False
        except ConfigError as error:
            if not is_failing:
                _LOGGER.warning("%s", error)
            is_failing = True
        ended.wait(every_s)


def _write(settings: Settings) -> None:
    from ...errors import ConfigError
    from ...settings.registry import load_adapter
    from ...tools.metrics_export import write_metrics

    path = settings.metrics_file
    has_counted = (
        load_adapter("metrics", "prometheus").of_prefix(settings.metrics_prefix).has_counted
    )
    if path is None or (path.exists() and not has_counted):
        return
    try:
        write_metrics(path, settings)
    except ConfigError as error:
        _LOGGER.warning("%s", error)
