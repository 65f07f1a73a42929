"""What LangGraph Studio needs of a `langgraph dev` server: forms, drawings, history and forks."""

from __future__ import annotations

import json
import uuid
from typing import TYPE_CHECKING, Any

import httpx
import pytest
from langgraph.graph import END, START, StateGraph
from langgraph.pregel.remote import RemoteGraph
from langgraph_sdk import get_sync_client
from support.langgraph_server import langgraph_dev
from typing_extensions import TypedDict

if TYPE_CHECKING:
    from collections.abc import Iterator

    from langgraph_sdk.client import SyncLangGraphClient
    from support.langgraph_server import Server

pytestmark = pytest.mark.server

GRAPHS = {
    "collection_search": "k_embedding_rank",
    "collection_review": "k_hitl_gate",
    "research_agent": "k_cite_answer",
    "universal_ingestion": "k_ingest",
}
QUESTION = {
    "question": "How do I cancel an asyncio task after a timeout?",
    "collection_scope": "py",
}
KEY = "tvly-0123456789abcdef0123456789abcdef"
CLOSED = "http://127.0.0.1:9"
DOTENV = f"""
COLLECTION_SEARCH_PROVIDER=offline
TAVILY_API_KEY={KEY}
SEARXNG_URL={CLOSED}
"""


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """A server whose settings stand in the file `.env` beside its `langgraph.json`."""
    folder = tmp_path_factory.mktemp("studio")
    (folder / ".env").write_text(DOTENV, encoding="utf-8")
    with langgraph_dev(folder) as server:
        yield server


@pytest.fixture(scope="module")
def client(server: Server) -> Iterator[SyncLangGraphClient]:
    with get_sync_client(url=server.url, api_key=None) as client:
        yield client


def assistant_of(client: SyncLangGraphClient, graph: str) -> str:
    return str(client.assistants.search(graph_id=graph)[0]["assistant_id"])


def assert_is_form(schema: dict[str, Any]) -> None:
    """Every field tells what it is and shows a value; those that must be given come first."""
    fields = schema["properties"]
    for name, field in fields.items():
        assert field.get("title"), name
        assert field.get("description"), name
        assert {"enum", "default", "examples"} & field.keys(), name
    required = schema.get("required", [])
    assert set(list(fields)[: len(required)]) == set(required)


@pytest.mark.parametrize("graph", GRAPHS)
def test_every_field_says_what_it_takes(client: SyncLangGraphClient, graph: str) -> None:
    """Input and context are forms, each key of the output is described, and no secret is in it."""
    schemas = client.assistants.get_schemas(assistant_of(client, graph))
    assert_is_form(schemas["input_schema"])
    assert_is_form(schemas["context_schema"])
    output = schemas["output_schema"]["properties"]
    assert all(field.get("description") for field in output.values()), output
    assert "summary" in output
    told = json.dumps(schemas)
    assert KEY not in told
    assert CLOSED not in told


def test_the_form_offers_what_the_operator_has_configured(client: SyncLangGraphClient) -> None:
    """The settings of `.env` are the choices, and their values the defaults."""
    schemas = client.assistants.get_schemas(assistant_of(client, "collection_search"))
    fields = schemas["context_schema"]["properties"]
    assert fields["provider"]["enum"] == ["offline", "auto", "searxng", "tavily"]
    assert fields["provider"]["default"] == "offline"
    assert fields["embeddings"]["enum"] == ["lexical"]
    assert fields["search_purpose"]["default"] is True
    assert fields["model"]["default"] == ""


@pytest.mark.parametrize(("graph", "node"), GRAPHS.items())
def test_a_graph_is_drawn(client: SyncLangGraphClient, graph: str, node: str) -> None:
    drawing = client.assistants.get_graph(assistant_of(client, graph))
    assert node in {one["id"] for one in drawing["nodes"]}
    assert any(edge.get("conditional") for edge in drawing["edges"])


def test_a_field_that_nobody_filled_in_is_not_given(
    server: Server, client: SyncLangGraphClient
) -> None:
    """Studio sends an empty text for it."""
    blank = dict.fromkeys(("purpose", "is_pdf", "max_candidates", "quality_mode", "criteria"), "")
    none = dict.fromkeys(("provider", "model", "embeddings", "max_cost_usd", "case_id"), "")
    result = client.runs.wait(None, "collection_search", input={**QUESTION, **blank}, context=none)
    assert result["outcome"] == "search_completed"
    assert result["summary"].startswith('"How do I cancel an asyncio task after a timeout?"')
    assert "BlockingError" not in server.log.read_text()


def failure(client: SyncLangGraphClient, **options: Any) -> str:
    result = client.runs.wait(
        None, "collection_search", input=QUESTION, raise_error=False, **options
    )
    assert result.get("__error__", result)["error"] == "ConfigError"
    return str(result["__error__"]["message"])


def test_a_misspelt_provider(client: SyncLangGraphClient) -> None:
    assert "did you mean tavily?" in failure(client, context={"provider": "tavly"})


def test_configurable_is_obeyed_or_refused(client: SyncLangGraphClient) -> None:
    """The older way to choose is as good as the context; nothing in it is ignored."""
    result = client.runs.wait(
        None,
        "collection_search",
        input=QUESTION,
        config={"configurable": {"provider": "searxng"}},
    )
    assert result["outcome"] == "search_failed"
    assert result["search"]["provider"] == "searxng"
    assert "every query failed" in result["summary"]
    wrong = {"configurable": {"provider": "searxn"}}
    assert "did you mean searxng?" in failure(client, config=wrong)
    unknown = {"configurable": {"providr": "offline"}}
    assert "did you mean provider?" in failure(client, config=unknown)
    with pytest.raises(httpx.HTTPStatusError, match="400"):  # the server's own answer to both
        failure(client, config=wrong, context={"provider": "offline"})


def test_history_replay_and_fork(client: SyncLangGraphClient) -> None:
    """A run goes on from an older checkpoint, as it was or with another state."""
    thread = client.threads.create()["thread_id"]
    first = client.runs.wait(thread, "collection_search", input=QUESTION)
    history = client.threads.get_history(thread, limit=20)
    (before,) = [one for one in history if one["next"] == ["k_embedding_rank"]]
    assert not before["values"]["summary"]
    replayed = client.runs.wait(
        thread, "collection_search", input=None, checkpoint=before["checkpoint"]
    )
    assert replayed["results"] == first["results"]
    assert replayed["summary"] == first["summary"]
    fork = client.threads.update_state(
        thread, {"max_candidates": 5}, checkpoint=before["checkpoint"]
    )
    forked = client.runs.wait(
        thread, "collection_search", input=None, checkpoint=fork["checkpoint"]
    )
    assert forked["results"] == first["results"][:5]
    assert len(first["results"]) > 5


def test_plain_server_sent_events(server: Server) -> None:
    """A client without the SDK reads the progress line by line."""
    body = {"assistant_id": "collection_search", "input": QUESTION}
    with httpx.stream(
        "POST",
        f"{server.url}/runs/stream",
        json={**body, "stream_mode": ["custom", "values"]},
        timeout=60,
        trust_env=False,
    ) as response:
        assert response.headers["content-type"].startswith("text/event-stream")
        lines = list(response.iter_lines())
    assert "event: custom" in lines
    data = [json.loads(line.removeprefix("data: ")) for line in lines if line.startswith("data: ")]
    assert {"type": "node_started", "node": "k_parallel_web_search"} in data
    assert data[-1]["summary"]


class Parent(TypedDict):
    """The state of somebody else's graph."""

    question: str
    collection_scope: str
    summary: str
    results: list[dict[str, Any]]


def test_a_remote_graph_is_a_node(client: SyncLangGraphClient) -> None:
    """Somebody else's graph runs ours on the server, and takes what it knows of the output."""
    builder = StateGraph(Parent)
    builder.add_node("search", RemoteGraph("collection_search", sync_client=client))
    builder.add_edge(START, "search")
    builder.add_edge("search", END)
    output = builder.compile().invoke(
        {**QUESTION},
        {"configurable": {"thread_id": str(uuid.uuid4())}},  # type: ignore[arg-type]
    )
    assert output["results"]
    assert output["summary"]


def test_the_form_of_the_gate(client: SyncLangGraphClient) -> None:
    """The interrupt says what to do, its schema is a form, and blank fields are not given."""
    thread = client.threads.create()["thread_id"]
    output = client.runs.wait(thread, "collection_review", input=QUESTION)
    (interrupt,) = output["__interrupt__"]
    assert "Decide which candidates" in interrupt["value"]["instructions"]
    assert output["summary"].count("not decided yet") == 1
    for schema in (interrupt["response_schema"], interrupt["value"]["response_schema"]):
        assert_is_form(schema)
    decision = {"status": "rejected", "approved_urls": "", "comment": "", "approver": " "}
    ended = client.runs.wait(thread, "collection_review", command={"resume": decision})
    assert ended["outcome"] == "review_rejected"
    assert ended["review"]["comment"] is None
    assert "Nothing was approved" in ended["summary"]
