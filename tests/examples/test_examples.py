"""Every example answers with citations of what was found, whoever the model is."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from anthropic import AsyncAnthropic
from openai import AsyncOpenAI
from support.example_modules import example_module
from support.scripted_world import QUESTION, good_pages
from support.tool_world import tool_world, whole_pages

from collection_search import SearchContext, Settings, anthropic_tool, openai_tool
from collection_search.errors import SearchProviderAuthenticationFailed
from collection_search.testing import MockWebSearchService, ScriptedAdapter, service_results

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

scripted = example_module("scripted")
scripted_server = example_module("scripted_server")
citations = example_module("citations")

EXAMPLES = ("agent", "supervisor", "openai_loop", "anthropic_loop", "arrow_loop")
GOOD = {page.url for page in good_pages()}
REFUSED = SearchProviderAuthenticationFailed("The key was refused.")


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The offline corpus is read once for all."""
    return tmp_path_factory.mktemp("examples")


@pytest.fixture
def context(tmp_path: Path) -> SearchContext:
    return SearchContext(settings=Settings(home=tmp_path), provider=ScriptedAdapter(whole_pages()))


def server_of(example: str) -> Any:
    """Return an endpoint whose model follows the example's script."""
    return scripted_server.ScriptedServer(scripted.Script(*example_module(example).SCRIPT))


@pytest.mark.slow
@pytest.mark.parametrize("name", EXAMPLES)
def test_an_example_runs_offline(
    name: str, home: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
):
    """As its user starts it; the pages are those of Python's documentation."""
    monkeypatch.setenv("COLLECTION_SEARCH_HOME", str(home))
    example_module(name).main(["--offline"])
    answer, _, cited = capsys.readouterr().out.partition("\nCited:\n")
    assert cited.split() == citations.urls_in(answer)
    assert any(url.startswith("https://docs.python.org/") for url in cited.split())


@pytest.mark.slow
async def test_the_agent_collects_and_cites(context: SearchContext):
    """All three tools of the agent have answered, in the tenant of the context."""
    agent = example_module("agent")
    model = scripted.ScriptedModel(script=scripted.Script(*agent.SCRIPT))
    answer, results = await agent.answer(QUESTION, model, context)
    assert len(results) == 3
    assert not [text for text in results if text.startswith("Error")]
    assert GOOD.issuperset(citations.urls_in(answer))
    assert citations.urls_in(answer)


@pytest.mark.slow
async def test_the_writer_has_the_notes_alone(context: SearchContext):
    """The researcher's tools have the graph's context."""
    supervisor = example_module("supervisor")
    model = scripted.ScriptedModel(script=scripted.Script(*supervisor.SCRIPT))
    graph = supervisor.build_graph(model)
    asked = {"question": QUESTION, "notes": [], "results": []}
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
async def test_the_loop_over_chat_completions(context: SearchContext):
    """OpenAI's own client sends the definitions, and the answer to each call."""
    loop = example_module("openai_loop")
    with server_of("openai_loop") as server:
        async with AsyncOpenAI(base_url=f"{server.base_url}/v1", api_key="none") as client:
            answer, results = await loop.answer(QUESTION, client, "m", context)
    first, second = server.requests
    assert first["tools"] == [openai_tool("web_search"), openai_tool("read_page")]
    *_, asked, replied = second["messages"]
    assert replied["role"] == "tool"
    assert replied["tool_call_id"] == asked["tool_calls"][0]["id"]
    assert [replied["content"]] == results
    assert GOOD.issuperset(citations.urls_in(answer))
    assert citations.urls_in(answer)


@pytest.mark.slow
async def test_the_loop_over_messages(context: SearchContext):
    """Anthropic's own client does the same."""
    loop = example_module("anthropic_loop")
    with server_of("anthropic_loop") as server:
        async with AsyncAnthropic(base_url=server.base_url, api_key="none") as client:
            answer, results = await loop.answer(QUESTION, client, "m", context)
    first, second = server.requests
    assert first["tools"] == [anthropic_tool("web_search"), anthropic_tool("read_page")]
    *_, asked, replied = second["messages"]
    (block,) = replied["content"]
    assert (block["type"], block["tool_use_id"]) == ("tool_result", asked["content"][0]["id"])
    assert [block["content"]] == results
    assert GOOD.issuperset(citations.urls_in(answer))
    assert citations.urls_in(answer)


async def test_a_failing_provider_reaches_the_model_as_an_error(tmp_path: Path):
    """The loop goes on, and an answer without sources does not count."""
    context = SearchContext(settings=Settings(home=tmp_path), provider=ScriptedAdapter(REFUSED))
    loop = example_module("anthropic_loop")
    with server_of("anthropic_loop") as server:
        async with AsyncAnthropic(base_url=server.base_url, api_key="none") as client:
            answer, results = await loop.answer(QUESTION, client, "m", context)
    (block,) = server.requests[1]["messages"][-1]["content"]
    assert block["is_error"] is True
    assert "The key was refused." in block["content"]
    with pytest.raises(SystemExit, match="cites no page"):
        citations.show_answer(answer, results)


async def test_a_wrong_arrow_line_is_answered_with_its_mistake():
    """The model mends it, and cites what it finds then."""
    loop = example_module("arrow_loop")
    script = scripted.Script("→ search asyncio", *loop.SCRIPT)
    pages = [one.model_copy(update={"content": "They wait."}) for one in service_results(2)]
    service = MockWebSearchService(pages)
    answer, results = await loop.answer(QUESTION, scripted.ScriptedModel(script=script), service)
    assert results[0].startswith("Search failed: The query stands between quotation marks.")
    assert citations.urls_in(answer) == [page.url for page in pages]


def test_without_a_model_an_example_says_what_to_give(capsys: pytest.CaptureFixture[str]):
    """No vendor's model is asked by default."""
    with pytest.raises(SystemExit):
        example_module("agent").main(["asyncio?"])
    assert "one of the arguments --model --offline is required" in capsys.readouterr().err


@pytest.fixture
def real_models(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[None]:
    """Keys of the vendors, and a search provider, in the environment."""
    monkeypatch.setenv("OPENAI_API_KEY", "sk-of-the-test")
    monkeypatch.setenv("ANTHROPIC_API_KEY", "sk-of-the-test")
    with tool_world(monkeypatch, tmp_path):
        yield


@pytest.mark.slow
@pytest.mark.usefixtures("real_models")
@pytest.mark.parametrize("name", EXAMPLES)
def test_any_model_by_its_name_and_address(name: str, capsys: pytest.CaptureFixture[str]):
    """With the vendor's client, LangChain's for agents."""
    is_loop = name in {"openai_loop", "anthropic_loop"}
    with server_of(name) as server:
        suffix = "" if name == "anthropic_loop" else "/v1"
        model = "some-model" if is_loop else "openai:some-model"
        given = ["asyncio?", "--model", model, "--base-url", f"{server.base_url}{suffix}"]
        example_module(name).main(given)
    assert {request["model"] for request in server.requests} == {"some-model"}
    answer, _, cited = capsys.readouterr().out.partition("\nCited:\n")
    assert cited.split() == citations.urls_in(answer)
