"""The metrics file that a command writes at its end."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ...settings import Settings

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
