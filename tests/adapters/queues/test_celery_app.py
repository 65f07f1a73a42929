"""The app of a plain Celery worker with wrong settings."""

from __future__ import annotations

import os
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from pathlib import Path

pytest.importorskip("celery")

BROKER = "amqp://guest@127.0.0.1:1//"


@pytest.mark.slow
@pytest.mark.parametrize(
    ("variables", "told"),
    [
        ({}, "No message broker is set. Set COLLECTION_SEARCH_BROKER_URL"),
        ({"BROKER_URL": BROKER}, "Set COLLECTION_SEARCH_DATABASE_URL"),
        (
            {"BROKER_URL": BROKER, "INGEST_WORKERS": "many"},
            "COLLECTION_SEARCH_INGEST_WORKERS: give a whole number",
        ),
    ],
)
def test_wrong_settings_end_it_with_one_sentence(
    tmp_path: Path, variables: dict[str, str], told: str
) -> None:
    """No traceback, and no worker that cannot work."""
    own = {f"COLLECTION_SEARCH_{name}": value for name, value in variables.items()}
    command = ["-m", "celery", "-A", "collection_search.adapters.queues.celery_app", "worker"]
    ended = subprocess.run(
        [sys.executable, *command],
        env={**os.environ, "COLLECTION_SEARCH_HOME": str(tmp_path), **own},
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert ended.returncode == 1
    assert told in ended.stderr
    assert "Traceback" not in ended.stderr
