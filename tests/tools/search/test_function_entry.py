"""The settings' entry `web_search`: every face of the function obeys it."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest
from langchain_core.messages import ToolMessage

from collection_search import (
    SearchContext,
    WebSearchTool,
    WebSearchWorker,
    answer_anthropic_call,
    answer_openai_call,
    call_function,
)
from collection_search.contracts.functions import WebSearchOutput
from collection_search.contracts.options import SearchOptions
from collection_search.contracts.search import ProviderSearchResult
from collection_search.errors import ConfigError
from collection_search.settings import Settings
from collection_search.testing import (
    MockWebSearchService,
    ProviderServer,
    ScriptedAdapter,
    rows,
    service_results,
)
from collection_search.tools.arrow import answer_arrow
from collection_search.tools.function_calls import call_function as call
from collection_search.tools.provider_tool import answer_tool
from collection_search.tools.search.function_entry import refuse_unusable_backend

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

ASKED = {"query": "asyncio"}
COMMAND = '-> search "asyncio"'


@pytest.fixture
def searxng() -> Iterator[ProviderServer]:
    with ProviderServer("searxng") as server:
        yield server


def context(home: Path, **entry: Any) -> SearchContext:
    given = {"web_search": entry}
    return SearchContext(settings=Settings(home=home, answer_cache_s=0, providers=given))


def found(output: Any) -> int:
    assert isinstance(output, WebSearchOutput)
    return len(output.results)


async def test_backend_and_number_are_those_of_the_entry(
    tmp_path: Path, searxng: ProviderServer
) -> None:
    """The entry's number is the default and the most."""
    entry = {"backend": "searxng", "url": searxng.base_url, "max_results": 2}
    given = context(tmp_path, settings=entry)
    usual = await call_function("web_search", ASKED, given)
    many = await call_function("web_search", {**ASKED, "max_results": 9}, given)
    one = await call_function("web_search", {**ASKED, "max_results": 1}, given)
    assert [found(result.output) for result in (usual, many, one)] == [2, 2, 1]
    assert isinstance(usual.output, WebSearchOutput)
    assert usual.output.outcome.meta["provider"] == "searxng"
    assert WebSearchTool(search_context=given).invoke(ASKED).count("\nURL: ") == 2


@pytest.mark.parametrize("given", [ASKED, {**ASKED, "max_results": None}])
async def test_a_larger_default_holds_in_every_form_of_a_call(
    tmp_path: Path, given: dict[str, Any]
) -> None:
    """The function's own default is no number that the model named, and neither is null."""
    asked = context(tmp_path, settings={"max_results": 8})
    asked = asked.model_copy(update={"provider": ScriptedAdapter(*[rows(9)] * 5)})
    tool = WebSearchTool(search_context=asked)
    call_of_a_model = {"name": "web_search", "args": given, "id": "1", "type": "tool_call"}
    block = {"id": "1", "name": "web_search", "input": given}
    function = {"name": "web_search", "arguments": json.dumps(given)}
    texts = [
        (await call_function("web_search", given, asked)).text,
        await tool.ainvoke(given),
        (await tool.ainvoke(call_of_a_model)).text,
        (await answer_anthropic_call(block, asked))["content"],
        (await answer_openai_call({"id": "1", "function": function}, asked))["content"],
    ]
    assert [text.count("\nURL: ") for text in texts] == [8] * 5
    service: Any = MockWebSearchService(service_results(9), settings=asked.settings)
    await answer_tool(service, given)
    assert [one.options.max_results for one in service.requests] == [8]


async def test_a_worker_of_ones_own_keeps_to_the_entry(tmp_path: Path) -> None:
    """It asks its own backend; whether and how many is the entry's word."""
    adapter = ScriptedAdapter(rows(3), rows(3))
    worker = WebSearchWorker(adapter)
    few = context(tmp_path, settings={"backend": "brave", "max_results": 1})
    shown = await WebSearchTool(worker=worker, search_context=few).ainvoke(ASKED)
    assert shown.count("\nURL: ") == 1
    off = context(tmp_path, enabled=False)
    refused = await WebSearchTool(worker=worker, search_context=off).ainvoke(ASKED)
    assert refused == "Error: web_search is switched off in the settings."
    assert len(adapter.requests) == 1


async def test_a_disabled_entry_is_refused_by_every_face(tmp_path: Path) -> None:
    """The model is told; nothing is searched."""
    given = context(tmp_path, enabled=False)
    adapter = ScriptedAdapter(rows(3))
    given = given.model_copy(update={"provider": adapter})
    result = await call_function("web_search", ASKED, given)
    asked = {"name": "web_search", "args": ASKED, "id": "1", "type": "tool_call"}
    message = await WebSearchTool(search_context=given).ainvoke(asked)
    answer = await answer_openai_call(
        {"id": "1", "function": {"name": "web_search", "arguments": '{"query": "x"}'}}, given
    )
    assert isinstance(message, ToolMessage)
    for text in (result.text, message.text, answer["content"]):
        assert text == "Error: web_search is switched off in the settings."
    assert adapter.requests == []
    service: Any = MockWebSearchService(settings=given.settings)
    for text in (await answer_arrow(service, COMMAND), await answer_tool(service, ASKED)):
        assert text == "Search failed: web_search is switched off in the settings."
    assert service.requests == []


@pytest.mark.parametrize(("command", "count"), [("", 2), (" max:1", 1), (" max:9", 2)])
async def test_a_service_answers_a_model_within_the_entry(
    tmp_path: Path, command: str, count: int
) -> None:
    """An application's own search has no such limit."""
    settings = context(tmp_path, settings={"max_results": 2}).settings
    service: Any = MockWebSearchService(service_results(5), settings=settings)
    await answer_arrow(service, f"{COMMAND}{command}")
    await answer_tool(service, {**ASKED, "max_results": 5})
    assert [one.options.max_results for one in service.requests] == [count, 2]
    assert len((await service.asearch("asyncio")).results) == 5


async def test_a_provider_of_the_context_goes_before_the_backend(tmp_path: Path) -> None:
    """What the caller names in Python wins."""
    given = context(tmp_path, settings={"backend": "searxng", "url": "http://127.0.0.1:9"})
    given = given.model_copy(update={"provider": ScriptedAdapter(rows(3))})
    assert found((await call_function("web_search", ASKED, given)).output) == 3


@pytest.mark.parametrize(
    ("entry", "told"),
    [
        ({"backend": "brave"}, "backend brave of web_search cannot be used: .* Set BRAVE_API_KEY"),
        ({"backend": "searxng"}, "backend searxng of web_search .* Set SEARXNG_URL"),
        (
            {"backend": "searxng", "url": "searxng:8080"},
            "backend searxng of web_search cannot be used: .*https://search.example.*the url of the entry",
        ),
        (
            {"backend": "wikipedia:de", "url": "http://127.0.0.1:9"},
            "cannot be used: Give a language or WIKIPEDIA_BASE_URL, not both",
        ),
        ({"backend": "wikipedia:1"}, "backend wikipedia:1 .* write it like wikipedia:de"),
    ],
)
async def test_an_unusable_backend_is_refused(
    tmp_path: Path, entry: dict[str, Any], told: str
) -> None:
    """With what is missing, before any model calls."""
    with pytest.raises(ConfigError, match=told):
        await refuse_unusable_backend(context(tmp_path, settings=entry))


@pytest.mark.parametrize(
    "entry",
    [
        {"settings": {"backend": "searxng", "url": "http://127.0.0.1:9"}},
        {"settings": {"backend": "wikipedia:de"}},
        {"settings": {"backend": "auto"}},
        {"settings": {"max_results": 3}},
        {"enabled": False, "settings": {"backend": "brave"}},
    ],
)
async def test_nothing_is_asked_of_a_backend_that_can_be_used(
    tmp_path: Path, entry: dict[str, Any]
) -> None:
    """Nor of one that no model gets."""
    await refuse_unusable_backend(context(tmp_path, **entry))


async def test_a_backend_that_is_not_used_is_not_refused(tmp_path: Path) -> None:
    """A provider of the context goes before it; without an entry there is none."""
    given = context(tmp_path, settings={"backend": "brave"})
    await refuse_unusable_backend(given.model_copy(update={"provider": ScriptedAdapter(rows(1))}))
    await refuse_unusable_backend(SearchContext(settings=Settings(home=tmp_path)))


async def test_a_deep_search_brings_its_content(tmp_path: Path) -> None:
    """What was paid for reaches the model."""
    row = ProviderSearchResult(
        url="https://a.org/", title="Tea", snippet="Tea.", source="a", content="Tea is hot. " * 20
    )
    given = SearchContext(settings=Settings(home=tmp_path), provider=ScriptedAdapter([row]))
    result = await call("web_search", ASKED, given, options=SearchOptions(search_depth="deep"))
    assert "Tea is hot. Tea is hot." in result.text
    assert "Source: https://a.org/" in result.text
