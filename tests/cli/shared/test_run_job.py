"""One run on the command line, when its store fails."""

from __future__ import annotations

from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

from support.scripted_world import INPUT, good_pages

from collection_search import SearchContext
from collection_search.cli.shared.run_job import Job
from collection_search.cli.shared.terminal import Screen
from collection_search.errors import IngestError, StoreError
from collection_search.testing import RecordingTrigger, ScriptedAdapter

if TYPE_CHECKING:
    import pytest


class Unreadable:
    """Any part of a store on a disk that has gone."""

    def prune(self, older_than_s: float) -> int:
        raise StoreError("The disk has gone.")

    def status(self, tenant_id: str, ticket_id: str) -> Any:
        raise StoreError("The disk has gone.")


def job(trigger: RecordingTrigger) -> Job:
    gone = Unreadable()
    parts = dict.fromkeys(("staging", "ledger", "collections", "gates", "comparisons"), gone)
    store = SimpleNamespace(**parts, close=list)
    context = SearchContext(provider=ScriptedAdapter(good_pages()), store=store, trigger=trigger)
    return Job({**INPUT, "auto_ingest": True}, context, Screen(as_json=True))


def test_an_outcome_stands_when_the_waiting_fails(capsys: pytest.CaptureFixture[str]) -> None:
    """The pages were accepted: the output says so, and the failure comes beside it with 5."""
    work = job(RecordingTrigger())
    work.run()
    assert work.output["outcome"] == "auto_ingest_triggered"
    assert work.output["ingestion"]["status"] is None
    assert work.output["ingestion"]["error"]["kind"] == "StoreError"
    assert work.print_summary() == 5
    assert "'collection-search worker' goes on. The disk has gone." in capsys.readouterr().err


def test_a_trigger_that_fails_is_an_outcome(capsys: pytest.CaptureFixture[str]) -> None:
    """Nothing is waited for, and the exit code is 5."""
    work = job(RecordingTrigger(error=IngestError("The ledger is full. Make room.")))
    work.run()
    assert work.output["outcome"] == "auto_ingest_trigger_failed"
    assert work.print_summary() == 5
    assert capsys.readouterr().err == "collection-search: The ledger is full. Make room.\n"
