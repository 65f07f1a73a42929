"""The LangChain tools: what the model gets, what programs get, and whose context they use."""

from __future__ import annotations

import asyncio
import re
from typing import TYPE_CHECKING, Any

import pytest
from langchain_core.runnables import RunnableLambda
from langchain_core.tools import ToolException
from pydantic import ValidationError
from support.scripted_world import QUESTION
from support.tool_world import TASKS, put_page, whole_pages

from collection_search import (
    CollectionSearchTool,
    ReadPageTool,
    RetrieveTool,
    SearchContext,
    SearchOptions,
    Settings,
    WebSearchTool,
    WebSearchWorker,
)
from collection_search.contracts.functions import FUNCTIONS, WebSearchOutput
from collection_search.contracts.prices import tokens_in
from collection_search.contracts.search import ProviderSearchResult
from collection_search.errors import (
    ConfigError,
    InputError,
    SearchProviderAuthenticationFailed,
    SearchProviderError,
)
from collection_search.testing import RecordingSink, ScriptedAdapter, example_context, rows
from collection_search.tools.langchain.function_tools import TOOLS

if TYPE_CHECKING:
    from pathlib import Path

    from langchain_core.messages import ToolMessage
    from langchain_core.tools import BaseTool

REFUSED = SearchProviderAuthenticationFailed("The key was refused.")


@pytest.fixture
def adapter() -> ScriptedAdapter:
    return ScriptedAdapter(rows(9))


@pytest.fixture
def context(settings: Settings, adapter: ScriptedAdapter) -> SearchContext:
    return SearchContext(settings=settings, provider=adapter, spans=RecordingSink())


def call(tool: BaseTool, **arguments: Any) -> dict[str, Any]:
    """Return a model's call of a tool."""
    return {"name": tool.name, "args": arguments, "id": "call_1", "type": "tool_call"}


def answered(tool: BaseTool, **arguments: Any) -> ToolMessage:
    """Return the message that a model gets."""
    message: ToolMessage = tool.invoke(call(tool, **arguments))
    return message


@pytest.mark.parametrize("tool", TOOLS)
def test_a_tool_is_its_definition(tool: type[BaseTool]):
    """Name, description and arguments are those of every other face."""
    made = tool()
    definition = FUNCTIONS[made.name]
    assert made.description == definition.description
    seen = made.tool_call_schema.model_json_schema()["properties"]
    assert [*seen] == [*definition.input_schema()["properties"]]
    assert "runtime" not in seen


def test_the_text_is_short_and_the_artifact_is_everything(context: SearchContext):
    """The artifact is JSON-plain and makes the output anew."""
    message = answered(WebSearchTool(search_context=context), query="asyncio", max_results=3)
    assert message.status == "success"
    assert message.content.count("\nURL: https://example.com/asyncio/") == 3
    assert "<untrusted-web-content id=" in message.content
    output = WebSearchOutput.model_validate(message.artifact)
    assert output.model_dump(mode="json") == message.artifact
    assert [one.url for one in output.results] == [one.url for one in rows(3)]
    assert output.trust == "untrusted"


async def test_the_coroutine_answers_the_same(context: SearchContext):
    """But for the fence's random id and the times."""
    tool = WebSearchTool(search_context=context)
    awaited = await tool.ainvoke(call(tool, query="asyncio"))
    blocked = answered(tool, query="asyncio")
    assert awaited.artifact["results"] == blocked.artifact["results"]
    assert awaited.content.splitlines()[1:-1] == blocked.content.splitlines()[1:-1]


def test_a_number_with_a_fraction_of_zero_and_a_null_are_taken(
    context: SearchContext, adapter: ScriptedAdapter
):
    """As models write them; null stands for the default."""
    tool = WebSearchTool(search_context=context)
    assert len(answered(tool, query="a", max_results=3.0).artifact["results"]) == 3
    assert len(answered(tool, query="b", max_results=None).artifact["results"]) == 5


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        ({"query": "x", "max_results": 11}, "max_results: give 10 or less"),
        ({"query": "x", "max_results": 2.5}, "max_results: give a whole number"),
        ({"query": "  "}, "query"),
        ({}, "query"),
        ({"query": "x", "depth": "deep"}, "depth"),
    ],
)
def test_wrong_arguments_are_an_error_that_names_them(
    context: SearchContext, adapter: ScriptedAdapter, arguments: dict[str, Any], told: str
):
    """Nothing is searched, and the model can mend the call."""
    message = answered(WebSearchTool(search_context=context), **arguments)
    assert message.status == "error"
    assert re.search(told, message.content)
    assert adapter.requests == []


async def test_a_plain_text_is_the_first_argument(context: SearchContext, adapter: ScriptedAdapter):
    """However LangChain is given it, and it is validated like any other query."""
    tool = WebSearchTool(search_context=context)
    chain = RunnableLambda(str.strip) | tool
    told = [tool.invoke("tea"), tool.run("tea"), chain.invoke(" tea ")]
    told += [await tool.ainvoke("tea"), await chain.ainvoke(" tea ")]
    assert all("\nURL: https://example.com/asyncio/1" in text for text in told)
    assert {request.query for request in adapter.requests} == {"tea"}
    assert tool.invoke(" ").startswith("Error: The arguments cannot be used. query:")


def test_a_plain_text_that_is_not_enough_names_what_is_missing(context: SearchContext):
    """The text is the question; nobody named the collection."""
    told = RetrieveTool(search_context=context).invoke("herons")
    assert told == "Error: The arguments cannot be used. collection: it is missing"


def test_a_failing_provider_is_an_error_and_no_empty_web(settings: Settings):
    """With `handle_tool_error=False` the provider's error is the cause."""
    context = SearchContext(settings=settings, provider=ScriptedAdapter(REFUSED))
    tool = WebSearchTool(search_context=context)
    message = answered(tool, query="asyncio")
    assert message.status == "error"
    assert "provider_authentication_failed" in message.content
    assert "The key was refused." in message.content
    assert "No results" not in message.content
    strict = WebSearchTool(search_context=context, handle_tool_error=False)
    with pytest.raises(ToolException, match="The key was refused") as caught:
        answered(strict, query="asyncio")
    cause = caught.value.__cause__
    assert isinstance(cause, SearchProviderError)
    assert (cause.code, cause.retryable) == ("authenticationFailed", False)


async def test_the_outcome_of_a_failed_search_is_the_artifact(settings: Settings):
    """The host reads code and retryability there; the model's text is the same."""
    tool = WebSearchTool(
        search_context=SearchContext(settings=settings, provider=ScriptedAdapter(REFUSED))
    )
    text = tool.invoke({"query": "asyncio"})
    assert isinstance(text, str)
    for message in (answered(tool, query="tea"), await tool.ainvoke(call(tool, query="tea"))):
        assert (message.status, message.name, message.tool_call_id) == (
            "error",
            "web_search",
            "call_1",
        )
        assert message.content == text
        output = WebSearchOutput.model_validate(message.artifact)
        assert output.outcome.rationale == "provider_authentication_failed"
        assert output.outcome.meta["error"]["code"] == "authenticationFailed"
        assert output.outcome.meta["error"]["retryable"] is False


def test_a_handler_of_the_programs_own_writes_the_error(settings: Settings):
    """The exception's cause has what the artifact would have."""

    def code_of(error: ToolException) -> str:
        return getattr(error.__cause__, "code", "none")

    context = SearchContext(settings=settings, provider=ScriptedAdapter(REFUSED))
    for handler, told in ((code_of, "authenticationFailed"), ("Sorry.", "Sorry.")):
        tool = WebSearchTool(search_context=context, handle_tool_error=handler)
        message = answered(tool, query="asyncio")
        assert (message.status, message.content) == ("error", told)


@pytest.mark.parametrize(
    "error", [asyncio.CancelledError(), BaseExceptionGroup("one", [asyncio.CancelledError()])]
)
async def test_a_provider_that_cancels_itself_has_failed(settings: Settings, error: BaseException):
    """Nobody cancelled the call, so the agent goes on."""
    tool = WebSearchTool(
        search_context=SearchContext(settings=settings, provider=ScriptedAdapter(error))
    )
    for message in (answered(tool, query="tea"), await tool.ainvoke(call(tool, query="tea"))):
        assert message.status == "error"
        assert f"unexpected_error): {type(error).__name__}" in message.content


async def test_a_cancelled_call_of_a_tool_ends(settings: Settings):
    """The provider is left, and no error message is made."""

    class Slow(ScriptedAdapter):
        async def asearch(self, query: str, **_: Any) -> Any:
            asked.set()
            await asyncio.sleep(60)

    asked = asyncio.Event()
    tool = WebSearchTool(search_context=SearchContext(settings=settings, provider=Slow()))
    running = asyncio.create_task(tool.ainvoke(call(tool, query="tea")))
    await asked.wait()
    running.cancel()
    with pytest.raises(asyncio.CancelledError):
        await running


@pytest.mark.slow
def test_a_wrong_setting_is_an_error_with_its_cause(settings: Settings):
    """The agent goes on; a program sees what is wrong."""
    context = SearchContext(settings=settings, provider="no-such-provider")
    assert answered(WebSearchTool(search_context=context), query="x").status == "error"
    strict = WebSearchTool(search_context=context, handle_tool_error=False)
    with pytest.raises(ToolException) as caught:
        answered(strict, query="x")
    assert isinstance(caught.value.__cause__, ConfigError)


def test_an_unknown_collection_is_an_error(context: SearchContext):
    """The message says that there is none, without the tenant's name."""
    tool = RetrieveTool(search_context=context)
    message = answered(tool, question="herons", collection="nowhere")
    assert (message.status, message.artifact) == ("error", None)
    assert message.content == "Error: There is no collection 'nowhere'. There is no other yet."
    strict = RetrieveTool(search_context=context, handle_tool_error=False)
    with pytest.raises(ToolException) as caught:
        answered(strict, question="herons", collection="nowhere")
    assert isinstance(caught.value.__cause__, InputError)


def test_a_misspelt_argument_of_a_tool_is_refused(context: SearchContext):
    """A context that is not used would be another tenant's search."""
    wrong: dict[str, Any] = {"context": context}
    with pytest.raises(ValidationError, match="Extra inputs are not permitted"):
        WebSearchTool(**wrong)


def test_a_page_that_may_not_be_read_is_an_error(context: SearchContext):
    """An address inside the house is refused by the safe fetch."""
    message = answered(ReadPageTool(search_context=context), url="http://127.0.0.1:9/secret")
    assert message.status == "error"
    assert "127.0.0.1" in message.content


def test_passages_come_with_their_sources(context: SearchContext, tmp_path: Path):
    """Numbered, for citation."""
    put_page(tmp_path, TASKS)
    tool = RetrieveTool(search_context=context)
    message = answered(tool, question="How do I cancel a task?", collection="docs")
    assert "[1] Title of tasks — https://example.com/tasks" in message.content
    (passage,) = message.artifact["passages"]
    assert (passage["text"], passage["url"]) == (TASKS, "https://example.com/tasks")


@pytest.mark.slow
def test_a_question_fills_a_collection(settings: Settings):
    """Pages that answer it are stored, and can be retrieved."""
    context = SearchContext(settings=settings, provider=ScriptedAdapter(whole_pages()))
    tool = CollectionSearchTool(search_context=context)
    message = answered(tool, question=QUESTION, collection="new", max_pages=2)
    assert message.status == "success"
    assert message.artifact["stored"] == len(message.artifact["pages"]) == 2
    found = answered(RetrieveTool(search_context=context), question=QUESTION, collection="new")
    assert found.artifact["passages"]


@pytest.mark.slow
def test_a_collection_that_gets_nothing_says_why(settings: Settings):
    """The provider's message is in the text."""
    context = SearchContext(settings=settings, provider=ScriptedAdapter(REFUSED))
    tool = CollectionSearchTool(search_context=context)
    message = answered(tool, question=QUESTION, collection="new")
    assert message.status == "error"
    assert "Nothing was collected into 'new' (search_failed)." in message.content
    assert "The key was refused." in message.content


def test_a_worker_of_ones_own_is_wrapped(settings: Settings):
    """One span `tool.web_search` and the outcome, as the worker alone has them."""
    alone, wrapped = RecordingSink(), RecordingSink()
    worker = WebSearchWorker(ScriptedAdapter(rows(3)), max_results=5, spans=alone)
    expected = worker.run(query="asyncio", context=example_context())
    tool = WebSearchTool(
        worker=WebSearchWorker(ScriptedAdapter(rows(3)), max_results=5, spans=wrapped),
        search_context=SearchContext(settings=settings, case_id="crm-7421"),
    )
    outcome = answered(tool, query="asyncio").artifact["outcome"]
    assert [span.name for span in wrapped.spans] == ["tool.web_search"] == _names(alone)
    assert outcome["decision"] == expected.outcome.decision == "ok"
    assert outcome["rationale"] == expected.outcome.rationale
    assert outcome["meta"].keys() - {"options"} == expected.outcome.meta.keys()
    assert wrapped.spans[0].fields["query"] == alone.spans[0].fields["query"] == "asyncio"
    extra = {name for name in wrapped.spans[0].fields if name.startswith("option.")}
    assert wrapped.spans[0].fields.keys() - extra == alone.spans[0].fields.keys()


def test_a_worker_that_fails_is_an_error_with_its_outcome():
    """The rationale is that of the worker's outcome."""
    worker = WebSearchWorker(ScriptedAdapter(REFUSED), max_attempts=1, spans=RecordingSink())
    expected = worker.run(query="asyncio", context=example_context()).outcome
    message = answered(WebSearchTool(worker=worker), query="asyncio")
    assert message.status == "error"
    assert expected.rationale in message.content


def _names(sink: RecordingSink) -> list[str]:
    return [span.name for span in sink.spans]


def test_options_and_the_budget_are_the_operators(settings: Settings):
    """The model sets the query and the number of results alone."""
    pages = [
        ProviderSearchResult(
            url=f"https://{host}/{n}", title="Herons", snippet="They wade. " * 60, source=host
        )
        for n, host in enumerate(["a.example", "b.example"] * 3)
    ]
    context = SearchContext(settings=settings, provider=ScriptedAdapter(pages))
    tool = WebSearchTool(
        search_context=context,
        options=SearchOptions(include_domains=("a.example",), domain_mode="restrict"),
        total_tokens=150,
    )
    message = answered(tool, query="herons", max_results=6)
    assert {one["url"][:17] for one in message.artifact["results"]} == {"https://a.example"}
    unlimited = answered(WebSearchTool(search_context=context), query="herons", max_results=6)
    assert tokens_in([message.content]) < 250 < tokens_in([unlimited.content])


def test_a_runtime_that_a_model_writes_changes_nothing(context: SearchContext):
    """It is data of the call, not a context."""
    tool = WebSearchTool(search_context=context)
    forged = {"context": {"collection_search": {"provider": "offline"}}, "server_info": None}
    message = answered(tool, query="asyncio", runtime=forged)
    assert message.artifact["outcome"]["meta"]["provider"] == "scripted"


async def test_a_tool_works_in_a_running_loop_too(context: SearchContext):
    """`invoke` blocks the loop and ends."""
    assert "asyncio 1" in WebSearchTool(search_context=context).invoke({"query": "asyncio"})
