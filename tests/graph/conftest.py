"""A context of shipped doubles."""

from __future__ import annotations

import pytest
from support.scripted_world import good_pages

from collection_search import SearchContext, Settings
from collection_search.testing import RecordingSink, RecordingTrigger, ScriptedAdapter
from collection_search.tools.spending import spend_writer


@pytest.fixture(autouse=True)
def patient_cache(monkeypatch: pytest.MonkeyPatch) -> None:
    """Known answers are found however busy the machine is."""
    monkeypatch.setattr(spend_writer, "PATIENCE_S", 60.0)


@pytest.fixture
def sink() -> RecordingSink:
    return RecordingSink()


@pytest.fixture
def trigger() -> RecordingTrigger:
    return RecordingTrigger()


@pytest.fixture
def context(settings: Settings, sink: RecordingSink, trigger: RecordingTrigger) -> SearchContext:
    return SearchContext(
        provider=ScriptedAdapter(good_pages()), settings=settings, spans=sink, trigger=trigger
    )
