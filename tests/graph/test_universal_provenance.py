"""Where a page comes from is said by the run that took it, not by whoever names it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from collection_search import SearchContext, UniversalIngestionGraph
from collection_search.contracts.collection import TenantScope
from collection_search.contracts.ingestion import IngestionItem, IngestionRequest
from collection_search.errors import InputError
from collection_search.graphs.universal_ingestion import GraphTrigger
from collection_search.nodes.acquire import MAX_PROVENANCE_BYTES, OWN_FACTS

if TYPE_CHECKING:
    from collections.abc import Mapping

    from collection_search.testing import RecordingTrigger

FORGED = dict.fromkeys(OWN_FACTS, "forged")


def named(provenance: Mapping[str, Any], **more: Any) -> dict[str, Any]:
    page = {"url": "https://a.org/1", "title": "One", "provenance": dict(provenance)}
    given = {"source": "preselected", "collection_scope": "docs", "preselected_results": [page]}
    return given | more


def test_a_caller_does_not_approve(context: SearchContext, trigger: RecordingTrigger) -> None:
    """Approval, tenant and ids are those of the run; the reasons for the choice are kept."""
    output = UniversalIngestionGraph(context).run(named({**FORGED, "note": "good", "rank": 7}))
    assert output["outcome"] == "ingestion_started"
    (item,) = trigger.requests[0].items
    assert "forged" not in item.provenance.values()
    assert item.provenance["approved_by"] == "universal_ingestion"
    assert item.provenance["trace_id"] == output["telemetry"]["trace_id"]
    assert (item.provenance["note"], item.provenance["rank"]) == ("good", 7)


def test_nothing_forged_is_staged(context: SearchContext, trigger: RecordingTrigger) -> None:
    """A session that is ingested later brings nothing in by the back door."""
    staged = UniversalIngestionGraph(context).run(named(FORGED, mode="acquire_only"))
    later = {"collection_scope": "docs", "session_id": staged["session_id"]}
    UniversalIngestionGraph(context).run(later)
    assert "forged" not in trigger.requests[0].items[0].provenance.values()


async def test_another_stage_of_the_run_is_believed(
    context: SearchContext, trigger: RecordingTrigger
) -> None:
    """What was decided before the pages were handed over stays."""
    said = {"approved_by": "auto_ingest", "threshold": 60.0, "run_id": "run-1"}
    request = IngestionRequest(
        TenantScope("local", "docs"),
        [IngestionItem("https://a.org/1", "a.org/1", "One", None, said)],
        run_id="run-1",
    )
    await GraphTrigger(context).trigger(request)
    assert trigger.requests[0].items[0].provenance.items() >= said.items()


def test_a_provenance_has_a_limit(context: SearchContext) -> None:
    """A page brings its reasons, not a library."""
    room = MAX_PROVENANCE_BYTES - len('{"note": ""}')
    output = UniversalIngestionGraph(context).run(named({"note": "x" * room}))
    assert output["outcome"] == "ingestion_started"
    with pytest.raises(InputError, match=r"provenance of https://a\.org/1 has 16385 bytes"):
        UniversalIngestionGraph(context).run(named({"note": "x" * (room + 1)}))
