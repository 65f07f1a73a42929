"""What a program without a logging set-up prints when something of this package fails."""

from __future__ import annotations

import logging
import subprocess
import sys
from typing import TYPE_CHECKING

from collection_search.errors import ModelError
from collection_search.runtime.failure_log import log_failure

if TYPE_CHECKING:
    from pathlib import Path

    import pytest

logger = logging.getLogger(__name__)
KEY = "sk-proj-0123456789abcdefghij0123456789"

FAILING = """
from collection_search import CollectionSearchGraph, SearchContext, Settings
from collection_search.errors import ModelError
from collection_search.testing import ScriptedAdapter, ScriptedQueryModel
from collection_search.testing.search_adapter import rows

class Silent(ScriptedQueryModel):
    async def plan(self, *args, **options):
        raise ModelError("The model refused.")

context = SearchContext(
    provider=ScriptedAdapter(rows(6)), model=Silent([]), settings=Settings(home={home!r})
)
given = {{
    "question": "How do I repair a bicycle chain?",
    "collection_scope": "docs",
    "auto_ingest": True,
    "auto_ingest_min_score": 100,
}}
print(CollectionSearchGraph(context).run(given)[1]["outcome"])
"""


def raised(error: Exception) -> Exception:
    """Return the error with a traceback."""
    try:
        raise error
    except type(error) as caught:
        return caught


def test_an_error_of_the_package_is_a_sentence(caplog: pytest.LogCaptureFixture) -> None:
    """With its cause, without a traceback and without a key."""
    log_failure(logger, "planning failed", raised(ModelError(f"100% refused: {KEY}")))
    [record] = caplog.records
    assert record.exc_info is None
    assert record.getMessage().startswith("planning failed: 100% refused: ")
    assert KEY not in caplog.text
    assert record.levelno == logging.WARNING
    assert record.filename == "test_failure_log.py"


def test_any_other_error_has_its_traceback(caplog: pytest.LogCaptureFixture) -> None:
    """It is a mistake that somebody must find; a key in it is masked."""
    error = raised(ZeroDivisionError("100% of nothing"))
    log_failure(logger, "planning failed", error, level=logging.ERROR, extra={"run_id": "r"})
    log_failure(logger, "again", raised(ValueError(KEY)))
    first, second = caplog.records
    assert first.exc_info is not None
    assert first.exc_info[1] is error
    assert (first.levelno, first.__dict__["run_id"]) == (logging.ERROR, "r")
    assert second.exc_info is not None
    assert KEY not in caplog.text


def test_a_program_that_configures_no_logging_sees_no_traceback(tmp_path: Path) -> None:
    """A refused plan and an ingestion without a good page are told in one line each."""
    program = FAILING.format(home=str(tmp_path))
    ended = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=False
    )
    assert ended.stdout.strip() == "auto_ingest_failed_quality_threshold", ended.stderr
    assert "Traceback" not in ended.stderr
    assert "query planning failed: deterministic queries: The model refused." in ended.stderr
    assert (
        "k_auto_ingest ended with auto_ingest_failed_quality_threshold: no result " in ended.stderr
    )
