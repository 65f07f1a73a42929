"""The graph on a real `langgraph dev` server: offline, without a key, over HTTP with the SDK."""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import httpx
import pytest
from langgraph_sdk import get_sync_client

if TYPE_CHECKING:
    from collections.abc import Iterator

    from langgraph_sdk.client import SyncLangGraphClient

pytestmark = pytest.mark.server

ROOT = Path(__file__).parents[2]
QUESTION = {
    "question": "How do I cancel an asyncio task after a timeout?",
    "collection_scope": "py",
    "purpose": "collection_search",
}


class Server(NamedTuple):
    url: str
    log: Path


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    folder = tmp_path_factory.mktemp("langgraph-dev")
    shutil.copy(ROOT / "langgraph.json", folder)
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    environment = {
        **{key: value for key, value in os.environ.items() if "API_KEY" not in key},
        "COLLECTION_SEARCH_HOME": str(folder / "home"),
        "LANGGRAPH_CLI_NO_ANALYTICS": "1",
        "LANGGRAPH_NO_VERSION_CHECK": "1",
        "LANGSMITH_TRACING": "false",
    }
    log = folder / "server.log"
    command = [Path(sys.executable).with_name("langgraph"), "dev", "--no-browser", "--no-reload"]
    with log.open("wb") as output:
        process = subprocess.Popen(
            [*command, "--port", str(port), "--n-jobs-per-worker", "10"],
            cwd=folder,
            env=environment,
            stdout=output,
            stderr=subprocess.STDOUT,
        )
        try:
            url = f"http://127.0.0.1:{port}"
            _wait_until_up(url, process, log)
            yield Server(url, log)
        finally:
            process.terminate()
            process.wait(timeout=30)


@pytest.fixture(scope="module")
def client(server: Server) -> Iterator[SyncLangGraphClient]:
    with get_sync_client(url=server.url, api_key=None) as client:
        yield client


def _wait_until_up(url: str, process: subprocess.Popen[bytes], log: Path) -> None:
    deadline = time.monotonic() + 90
    while time.monotonic() < deadline:
        assert process.poll() is None, log.read_text()
        try:
            if httpx.get(f"{url}/ok", trust_env=False).is_success:
                return
        except httpx.TransportError:
            time.sleep(0.3)
    pytest.fail(log.read_text())


def test_graph_runs_over_http_and_ingests(server: Server, client: SyncLangGraphClient) -> None:
    """A run over HTTP ends with ranked pages and a ticket, and the server reports no blocking call."""
    thread = client.threads.create()
    result = client.runs.wait(
        thread["thread_id"],
        "collection_search",
        input={**QUESTION, "auto_ingest": True},
        context={"case_id": "crm-7421"},
    )
    assert result["outcome"] == "auto_ingest_triggered", result
    assert len(result["results"]) >= 10
    assert any("asyncio-task" in row["url"] for row in result["results"][:3])
    assert result["ingestion"]["count"] >= 3
    assert "staging_failed" not in result["flags"]
    assert "BlockingError" not in server.log.read_text()


def test_progress_is_in_the_custom_stream(client: SyncLangGraphClient) -> None:
    """Each node announces itself and its telemetry while the run goes on."""
    events = [
        part.data
        for part in client.runs.stream(
            None, "collection_search", input=QUESTION, stream_mode="custom"
        )
        if part.event == "custom"
    ]
    finished = [event["node"] for event in events if event["type"] == "node_finished"]
    assert finished == ["k_generate_strategy", "k_parallel_web_search", "k_embedding_rank"]


def test_bad_input_is_refused(client: SyncLangGraphClient) -> None:
    """An empty question and a number out of range never reach a provider."""
    for wrong in ({"question": " "}, {"max_candidates": 4}):
        result = client.runs.wait(
            None, "collection_search", input={**QUESTION, **wrong}, raise_error=False
        )
        assert "ValidationError" in str(result), result


def test_remote_caller_cannot_choose_what_is_not_configured(client: SyncLangGraphClient) -> None:
    """Names outside the operator's settings are refused, and a tenant cannot be given at all."""
    result = client.runs.wait(
        None,
        "collection_search",
        input=QUESTION,
        context={"model": "openai:expensive"},
        raise_error=False,
    )
    assert "not configured" in str(result) or "ConfigError" in str(result), result


def test_schemas_serve_the_studio_form(client: SyncLangGraphClient) -> None:
    """Input and context schemas carry descriptions, defaults, bounds and examples."""
    assistant = client.assistants.search(graph_id="collection_search")[0]
    assert assistant["name"] == "collection_search"
    schemas = client.assistants.get_schemas(assistant["assistant_id"])
    fields = schemas["input_schema"]["properties"]
    assert fields["max_candidates"]["minimum"] == 5
    assert fields["question"]["examples"]
    assert all("description" in field for field in fields.values())
    assert "provider" in schemas["context_schema"]["properties"]
    assert "tenant_id" not in schemas["context_schema"]["properties"]
