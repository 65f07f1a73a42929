"""What a command does before and after its work."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import pytest

from collection_search import SearchContext, Settings
from collection_search.cli.shared.preparation import FLUSH_TIMEOUT_S, flush_on_exit
from collection_search.testing import RecordingSink

if TYPE_CHECKING:
    from pathlib import Path


@pytest.mark.parametrize(
    ("given", "limit_s"), [(None, FLUSH_TIMEOUT_S), ("30", 30.0), ("soon", FLUSH_TIMEOUT_S)]
)
def test_langfuse_has_the_time_that_its_variable_gives(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, given: str | None, limit_s: float
) -> None:
    """At the end of a command too; without the variable its requests have the command's limit."""
    monkeypatch.setenv("LANGFUSE_TIMEOUT", given or "")
    if given is None:
        monkeypatch.delenv("LANGFUSE_TIMEOUT")
    sink = RecordingSink()
    with flush_on_exit(SearchContext(settings=Settings(home=tmp_path), spans=sink)):
        pass
    assert sink.flushes == [limit_s]
    assert os.environ["LANGFUSE_TIMEOUT"] == (given or str(FLUSH_TIMEOUT_S))
