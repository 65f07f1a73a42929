"""Metrics of searches for Prometheus: an ASGI endpoint, a text file, and the collectors."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..errors import ConfigError
from ..settings.adapter_factory import is_counted
from ..settings.process_defaults import process_settings
from ..settings.registry import load_adapter
from .public_arguments import validate_arguments

if TYPE_CHECKING:
    from collections.abc import Callable

    from ..settings import Settings


def make_metrics_app(settings: Settings | None = None) -> Callable[..., Any]:
    """Return an ASGI application that serves this process's metrics, to be mounted or run alone.

    `settings` are by default those of the process; their prefix says which metrics. Raises
    ConfigError where they do not switch metrics on, MissingExtraError without the extra `metrics`.
    """
    app: Callable[..., Any] = _metrics_of(settings).app()
    return app


def write_metrics(path: str | Path, settings: Settings | None = None) -> None:
    """Write this process's metrics to a file, in Prometheus' text format; it appears whole.

    Raises what `make_metrics_app` raises, and ConfigError for a file that cannot be written.
    """
    _metrics_of(settings).write(Path(path))


def metrics_collectors(settings: Settings | None = None) -> tuple[Any, ...]:
    """Return the collectors, to be registered in a `prometheus_client` registry of the host's.

    Raises what `make_metrics_app` raises.
    """
    collectors: tuple[Any, ...] = _metrics_of(settings).collectors()
    return collectors


def _metrics_of(settings: Settings | None) -> Any:
    validate_arguments(settings=settings)
    settings = settings or process_settings()
    if not is_counted(settings):
        raise ConfigError(
            "Nothing is counted. Set COLLECTION_SEARCH_METRICS=true, or give settings with"
            " metrics=True."
        )
    return load_adapter("metrics", "prometheus").of_prefix(settings.metrics_prefix)
