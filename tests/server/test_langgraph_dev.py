"""The graph on a real `langgraph dev` server: offline, without a key, over HTTP with the SDK."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import httpx
import pytest
from langgraph_sdk import get_sync_client
from support.langgraph_server import langgraph_dev
from support.loopback_site import LoopbackSite
from support.waiting import wait_until

if TYPE_CHECKING:
    from collections.abc import Iterator

    from langgraph_sdk.client import SyncLangGraphClient
    from support.langgraph_server import Server

pytestmark = pytest.mark.server

QUESTION = {
    "question": "How do I cancel an asyncio task after a timeout?",
    "collection_scope": "py",
    "purpose": "collection_search",
}


LOOPBACK_HOOKS = {"webhooks": {"url": {"disable_loopback": False, "require_https": False}}}
"""The rules of the LangGraph server itself would refuse an address of the tests."""


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    folder = tmp_path_factory.mktemp("langgraph-dev")
    with langgraph_dev(folder, LOOPBACK_HOOKS) as server:
        yield server


@pytest.fixture(scope="module")
def client(server: Server) -> Iterator[SyncLangGraphClient]:
    with get_sync_client(url=server.url, api_key=None) as client:
        yield client


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


@pytest.mark.parametrize(
    ("wrong", "says"),
    [
        ({"question": " "}, "question: the query is empty"),
        ({"max_candidates": 4}, "max_candidates: give 5 or more"),
        ({"max_candidate": 7}, "there is no such field, did you mean max_candidates?"),
    ],
)
@pytest.mark.parametrize("has_thread", [False, True], ids=["stateless", "in a thread"])
def test_bad_input_is_refused(
    client: SyncLangGraphClient, wrong: dict[str, Any], says: str, has_thread: bool
) -> None:
    """Neither a wrong value nor a misspelt field reaches a provider."""
    result = client.runs.wait(
        client.threads.create()["thread_id"] if has_thread else None,
        "collection_search",
        input={**QUESTION, **wrong},
        raise_error=False,
    )
    assert result["__error__"]["error"] == "InputError"
    assert says in result["__error__"]["message"]


WHAT_A_GRAPH_TAKES = {
    "collection_search": QUESTION,
    "collection_review": QUESTION,
    "research_agent": {"question": QUESTION["question"]},
    "universal_ingestion": {"collection_scope": "py", "source": "search", "query": "asyncio"},
}


@pytest.mark.parametrize(("graph", "given"), WHAT_A_GRAPH_TAKES.items())
def test_a_bad_context_is_refused(
    client: SyncLangGraphClient, graph: str, given: dict[str, Any]
) -> None:
    """A misspelt ceiling is no run without a ceiling; an assistant's context counts too."""

    def refuse(assistant: str, context: dict[str, Any]) -> str:
        result = client.runs.wait(None, assistant, input=given, context=context, raise_error=False)
        assert result.get("__error__", result)["error"] == "ConfigError"
        return str(result["__error__"]["message"])

    said = refuse(graph, {"max_costs_usd": 1})
    assert "there is no such field, did you mean max_cost_usd?" in said
    assert "tenant_id: there is no such field" in refuse(graph, {"tenant_id": "victim"})
    assert "max_cost_usd: give a number" in refuse(graph, {"max_cost_usd": "much"})
    own = client.assistants.create(graph, context={"max_costs_usd": 1})["assistant_id"]
    assert "did you mean max_cost_usd?" in refuse(own, {"case_id": "c"})
    client.assistants.delete(own)


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


def test_no_webhook_is_sent(server: Server, client: SyncLangGraphClient) -> None:
    """A caller cannot make the server post a run's state to an address of its network."""
    with LoopbackSite() as site:
        hook = site.put("/hook", b"")
        client.runs.wait(None, "collection_search", input=QUESTION, webhook=hook)
        wait_until(lambda: "skipping webhook" in server.log.read_text() or site.requests)
        assert not site.requests
    described = httpx.get(f"{server.url}/openapi.json", trust_env=False).json()
    run = described["components"]["schemas"]["RunCreateStateless"]
    assert "webhook" not in run["properties"]


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


def test_the_research_agent_is_a_chat(server: Server, client: SyncLangGraphClient) -> None:
    """Messages alone are enough, a second turn knows the first, and Studio can show both."""
    assistant = client.assistants.search(graph_id="research_agent")[0]
    schemas = client.assistants.get_schemas(assistant["assistant_id"])
    assert {"question", "messages", "collection_scope"} == set(
        schemas["input_schema"]["properties"]
    )
    thread = client.threads.create()
    for count in (2, 4):
        result = client.runs.wait(
            thread["thread_id"],
            "research_agent",
            input={"messages": [{"role": "user", "content": QUESTION["question"]}]},
        )
        assert result["outcome"] == "unanswered", result
        assert result["flags"] == ["no_model"]
        assert len(result["messages"]) == count
        assert "docs.python.org" in result["messages"][-1]["content"]
    assert "BlockingError" not in server.log.read_text()
