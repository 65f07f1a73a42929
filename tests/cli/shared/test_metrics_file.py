"""The metrics file of a process that runs for long."""

from __future__ import annotations

from typing import TYPE_CHECKING

from support.waiting import wait_until

from collection_search import Settings
from collection_search.cli.shared.metrics_file import (
    prepare_metrics,
    refresh_metrics_file,
    write_metrics_file,
)

if TYPE_CHECKING:
    from pathlib import Path

    import pytest


def settings_of(folder: Path) -> Settings:
    return Settings(home=folder, metrics_file=folder / "new" / "w.prom", metrics_prefix="worker_")


def test_it_is_written_again_and_again(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    """A folder that is missing at first is told once, and the file is written when it is there."""
    settings = settings_of(tmp_path)
    assert settings.metrics_file is not None
    prepare_metrics(settings)
    with refresh_metrics_file(every_s=0.01):
        wait_until(lambda: "cannot be written" in caplog.text)
        settings.metrics_file.parent.mkdir()
        wait_until(settings.metrics_file.exists)
        settings.metrics_file.unlink()
        wait_until(settings.metrics_file.exists)
    assert caplog.text.count("cannot be written") == 1
    write_metrics_file()


def test_without_the_setting_nothing_is_written(tmp_path: Path) -> None:
    """No thread runs."""
    prepare_metrics(Settings(home=tmp_path))
    with refresh_metrics_file(every_s=0.01):
        assert [*tmp_path.iterdir()] == []
