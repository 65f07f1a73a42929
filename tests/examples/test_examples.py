"""Every example answers with citations of what was found, whoever the model is."""

from __future__ import annotations

import re
import tempfile
from typing import TYPE_CHECKING, Any

import pytest
from anthropic import AsyncAnthropic
from openai import AsyncOpenAI
from support.example_modules import example_module
from support.postgres_server import NEEDS_POSTGRES, PostgresServer, postgres_server
from support.scripted_world import QUESTION, good_pages
from support.tool_world import tool_world, whole_pages

from collection_search import SearchContext, Settings, anthropic_tool, openai_tool
from collection_search.errors import SearchProviderAuthenticationFailed
from collection_search.settings.registry import load_adapter
from collection_search.testing import MockWebSearchService, ScriptedAdapter, service_results
from collection_search.tools.spending.spend_writer import spend_writer

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

scripted = example_module("scripted")
scripted_server = example_module("scripted_server")
citations = example_module("citations")
transcript = example_module("transcript")

EXAMPLES = ("agent", "supervisor", "openai_loop", "anthropic_loop", "arrow_loop")
GOOD = {page.url for page in good_pages()}
REFUSED = SearchProviderAuthenticationFailed("The key was refused.")


@pytest.fixture(scope="module")
def server() -> Iterator[PostgresServer]:
    with postgres_server() as server:
        yield server


@pytest.fixture(params=["sqlite", pytest.param("postgres", marks=NEEDS_POSTGRES)])
def engine(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    """Name of the storage engine that the settings of the environment choose."""
    if request.param == "postgres":
        server: PostgresServer = request.getfixturevalue("server")
        monkeypatch.setenv("COLLECTION_SEARCH_DATABASE_URL", server.new_database())
    return str(request.param)


@pytest.fixture
def context(engine: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> SearchContext:
    monkeypatch.setenv("COLLECTION_SEARCH_HOME", str(tmp_path))
    settings = Settings.load()
    assert settings.engine == engine
    return SearchContext(settings=settings, provider=ScriptedAdapter(whole_pages()))


def collections_of(settings: Settings) -> list[str]:
    """Return the names of the collections in the storage engine of these settings."""
    store = load_adapter("stores", settings.engine).from_settings(settings)
    names = [one.collection for one in store.collections.collections("local")]
    store.close()
    return names


@pytest.fixture
def told() -> Any:
    """What the example prints; it remembers the results."""
    return transcript.Transcript()


def server_of(example: str) -> Any:
    """Return an endpoint whose model follows the example's script."""
    return scripted_server.ScriptedServer(scripted.Script(*example_module(example).SCRIPT))


@pytest.mark.slow
@pytest.mark.parametrize("name", EXAMPLES)
def test_an_example_runs_offline(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
):
    """SC-001: the model searches, gets results, and answers with its sources; nothing is left."""
    monkeypatch.setenv("COLLECTION_SEARCH_HOME", str(tmp_path / "home"))
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    example_module(name).main(["--offline"])
    shown, _, cited = capsys.readouterr().out.partition("\nSources that it cites:\n")
    steps, _, answer = shown.partition("\nAnswer:\n")
    assert steps.startswith("Question: How do I cancel an asyncio task after a timeout?\nOffline: ")
    calls = [one for one in example_module(name).SCRIPT if isinstance(one, scripted.Call)]
    assert re.findall(r"^Call: (\w+)", steps, re.MULTILINE) == [call.name for call in calls]
    assert len(re.findall(r"^  came back: \d source", steps, re.MULTILINE)) == (len(calls) or 1)
    assert cited.split() == citations.urls_in(answer)
    assert any(url.startswith("https://docs.python.org/") for url in cited.split())
    assert not list(tmp_path.iterdir())


@pytest.mark.slow
async def test_the_agent_collects_and_cites(context: SearchContext, told: Any):
    """All three tools of the agent have answered, in the tenant of the context."""
    agent = example_module("agent")
    model = scripted.ScriptedModel(script=scripted.Script(*agent.SCRIPT))
    answer = await agent.answer(QUESTION, model, context, told)
    assert len(told.results) == 3
    assert not [text for text in told.results if text.startswith("Error")]
    assert GOOD.issuperset(citations.urls_in(answer))
    assert citations.urls_in(answer)
    assert collections_of(context.using()) == [agent.COLLECTION]


@pytest.mark.slow
async def test_the_writer_has_the_notes_alone(context: SearchContext, told: Any):
    """The researcher's tools have the graph's context."""
    supervisor = example_module("supervisor")
    model = scripted.ScriptedModel(script=scripted.Script(*supervisor.SCRIPT))
    graph = supervisor.build_graph(model, told)
    asked = {"question": QUESTION, "notes": []}
    steps = [step async for step in graph.astream(asked, context=context, stream_mode="updates")]
    assert [next(iter(step)) for step in steps] == [
        "supervise",
        "research",
        "supervise",
        "write",
    ]
    assert GOOD.issuperset(citations.urls_in(steps[-1]["write"]["answer"]))
    assert citations.urls_in(steps[-1]["write"]["answer"])


@pytest.mark.slow
async def test_the_loop_over_chat_completions(context: SearchContext, told: Any):
    """OpenAI's own client sends the definitions, and the answer to each call."""
    loop = example_module("openai_loop")
    with server_of("openai_loop") as server:
        async with AsyncOpenAI(base_url=f"{server.base_url}/v1", api_key="none") as client:
            answer = await loop.answer(QUESTION, client, "m", context, told)
    first, second = server.requests
    assert first["tools"] == [openai_tool("web_search"), openai_tool("read_page")]
    *_, asked, replied = second["messages"]
    assert replied["role"] == "tool"
    assert replied["tool_call_id"] == asked["tool_calls"][0]["id"]
    assert [replied["content"]] == told.results
    assert GOOD.issuperset(citations.urls_in(answer))
    assert citations.urls_in(answer)


@pytest.mark.slow
async def test_the_loop_over_messages(context: SearchContext, told: Any):
    """Anthropic's own client does the same."""
    loop = example_module("anthropic_loop")
    with server_of("anthropic_loop") as server:
        async with AsyncAnthropic(base_url=server.base_url, api_key="none") as client:
            answer = await loop.answer(QUESTION, client, "m", context, told)
    first, second = server.requests
    assert first["tools"] == [anthropic_tool("web_search"), anthropic_tool("read_page")]
    *_, asked, replied = second["messages"]
    (block,) = replied["content"]
    assert (block["type"], block["tool_use_id"]) == ("tool_result", asked["content"][0]["id"])
    assert [block["content"]] == told.results
    assert GOOD.issuperset(citations.urls_in(answer))
    assert citations.urls_in(answer)


async def test_a_failing_provider_reaches_the_model_as_an_error(
    tmp_path: Path, told: Any, capsys: pytest.CaptureFixture[str]
):
    """The loop goes on, and an answer without sources does not count."""
    context = SearchContext(settings=Settings(home=tmp_path), provider=ScriptedAdapter(REFUSED))
    loop = example_module("anthropic_loop")
    with server_of("anthropic_loop") as server:
        async with AsyncAnthropic(base_url=server.base_url, api_key="none") as client:
            answer = await loop.answer(QUESTION, client, "m", context, told)
    (block,) = server.requests[1]["messages"][-1]["content"]
    assert block["is_error"] is True
    assert "The key was refused." in block["content"]
    assert "  came back: Search failed (" in capsys.readouterr().out
    with pytest.raises(SystemExit, match="cites no source"):
        told.show_answer(answer)


async def test_a_model_that_only_searches_is_stopped(told: Any):
    """A loop has an end."""
    loop = example_module("arrow_loop")
    script = scripted.Script(*['→ search "asyncio"'] * (loop.MAX_TURNS + 1))
    model, service = scripted.ScriptedModel(script=script), MockWebSearchService(service_results(1))
    with pytest.raises(SystemExit, match="error: There is no answer after 8 turns"):
        await loop.answer(QUESTION, model, service, told)


async def test_a_wrong_arrow_line_is_answered_with_its_mistake(told: Any):
    """The model mends it, and cites what it finds then."""
    loop = example_module("arrow_loop")
    script = scripted.Script("→ search asyncio", *loop.SCRIPT)
    pages = [one.model_copy(update={"content": "They wait."}) for one in service_results(2)]
    service = MockWebSearchService(pages)
    model = scripted.ScriptedModel(script=script)
    answer = await loop.answer(QUESTION, model, service, told)
    assert told.results[0].startswith("Search failed: The query stands between quotation marks.")
    assert citations.urls_in(answer) == [page.url for page in pages]


@pytest.fixture
def real_models(engine: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[Path]:
    """Keys of the vendors, and a search provider, in the environment; yields the data folder."""
    monkeypatch.setenv("OPENAI_API_KEY", "sk-of-the-test")
    monkeypatch.setenv("ANTHROPIC_API_KEY", "sk-of-the-test")
    with tool_world(monkeypatch, tmp_path):
        assert Settings.load().engine == engine
        yield tmp_path


@pytest.mark.slow
@pytest.mark.parametrize("name", EXAMPLES)
def test_any_model_by_its_name_and_address(
    name: str, engine: str, real_models: Path, capsys: pytest.CaptureFixture[str]
):
    """With the vendor's client, LangChain's for agents; each storage engine by its setting."""
    is_loop = name in {"openai_loop", "anthropic_loop"}
    with server_of(name) as server:
        suffix = "" if name == "anthropic_loop" else "/v1"
        model = "some-model" if is_loop else "openai:some-model"
        given = ["asyncio?", "--model", model, "--base-url", f"{server.base_url}{suffix}"]
        example_module(name).main(given)
    assert {request["model"] for request in server.requests} == {"some-model"}
    shown, _, cited = capsys.readouterr().out.partition("\nSources that it cites:\n")
    assert cited.split() == citations.urls_in(shown.partition("\nAnswer:\n")[2])
    assert real_models.joinpath("usage.db").exists() == (engine == "sqlite")
    spend_writer().flush()
    usage = load_adapter("usage", engine).from_settings(Settings.load())
    assert sum(total.requests for total in usage.totals("local")) > 0
    usage.close()
