"""The review graph under Aegra: a gate interrupts a run, a decision resumes it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from langgraph_sdk import get_sync_client
from support.aegra_server import aegra_server, what_aegra_lacks
from support.postgres_server import NEEDS_POSTGRES, postgres_server

if TYPE_CHECKING:
    from collections.abc import Iterator

    from support.aegra_server import AegraServer

pytestmark = [
    *NEEDS_POSTGRES,
    pytest.mark.skipif(bool(what_aegra_lacks()), reason=what_aegra_lacks()),
]

QUESTION = {
    "question": "How do I cancel an asyncio task after a timeout?",
    "collection_scope": "py",
    "purpose": "collection_search",
}


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[AegraServer]:
    folder = tmp_path_factory.mktemp("aegra")
    with postgres_server() as postgres, aegra_server(folder, postgres.url) as server:
        yield server


def test_a_gate_interrupts_and_a_decision_resumes(server: AegraServer) -> None:
    """The run ends with the pages that were approved."""
    with get_sync_client(url=server.url, api_key=None) as client:
        thread_id = client.threads.create()["thread_id"]
        client.runs.wait(thread_id, "collection_review", input=QUESTION)
        state = client.threads.get_state(thread_id)
        request = state["interrupts"][0]["value"]
        assert request["gate_id"].startswith("gate-")
        result: Any = client.runs.wait(
            thread_id, "collection_review", command={"resume": {"status": "approved"}}
        )
        assert result["review"]["status"] == "approved", result
        assert result["ingestion"]["count"] > 0
        assert not client.threads.get_state(thread_id)["interrupts"]
