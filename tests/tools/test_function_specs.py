"""Definitions and answers for OpenAI and Anthropic, tried with their own client packages."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Any, get_type_hints

import pytest
from anthropic import AsyncAnthropic
from anthropic.types import ToolParam, ToolResultBlockParam
from openai import AsyncOpenAI
from openai.types.chat import ChatCompletionFunctionToolParam, ChatCompletionToolMessageParam
from openai.types.responses import FunctionToolParam
from openai.types.responses.response_input_param import FunctionCallOutput
from pydantic import TypeAdapter
from support.model_server import ModelServer, anthropic_reply, chat_reply, response_reply

from collection_search.context import SearchContext
from collection_search.contracts.functions import (
    FUNCTIONS,
    WEB_SEARCH,
    FunctionDefinition,
    FunctionOutput,
    WebSearchArguments,
)
from collection_search.errors import InputError, SearchProviderInvalidQuery
from collection_search.settings import Settings
from collection_search.testing import ScriptedAdapter, rows
from collection_search.tools.function_calls import call_function
from collection_search.tools.function_specs import (
    answer_anthropic_call,
    answer_openai_call,
    anthropic_tool,
    format_tool,
    openai_tool,
)
from collection_search.tools.web_search_preview import translate_web_search_preview

if TYPE_CHECKING:
    from pathlib import Path

NAMES = sorted(FUNCTIONS)
CITED = "https://example.com/asyncio/1"
CITATION = f"By asyncio.timeout, says {CITED}."
ARGUMENTS = json.dumps({"query": "asyncio", "max_results": 2})


def context_of(home: Path, *answers: Any) -> SearchContext:
    settings = Settings(home=home, answer_cache_s=0)
    return SearchContext(settings=settings, provider=ScriptedAdapter(*answers))


@pytest.fixture
def context(tmp_path: Path) -> SearchContext:
    return context_of(tmp_path, rows(4))


def accepted(kind: Any, given: dict[str, Any]) -> None:
    """Assert that a client's own type takes the value, and knows each of its keys."""
    TypeAdapter(kind).validate_python(given)
    assert given.keys() <= get_type_hints(kind).keys()


def called(name: str, arguments: Any) -> dict[str, Any]:
    function = {"name": name, "arguments": arguments}
    return {"id": "call_1", "type": "function", "function": function}


class TestDefinitions:
    """What a request has under `tools`."""

    @pytest.mark.parametrize("name", NAMES)
    @pytest.mark.parametrize("strict", [False, True])
    def test_the_clients_own_types_take_them(self, name: str, *, strict: bool) -> None:
        """Of every function, and as JSON."""
        chat = openai_tool(name, strict=strict)
        accepted(ChatCompletionFunctionToolParam, chat)
        assert chat["function"].get("strict", False) is strict
        response = openai_tool(name, strict=strict, api="responses")
        accepted(FunctionToolParam, response)
        assert response["strict"] is strict
        assert response["parameters"] == chat["function"]["parameters"]
        accepted(ToolParam, anthropic_tool(name))
        for tool in (chat, response, anthropic_tool(name)):
            assert json.loads(json.dumps(tool)) == tool

    def test_an_unknown_api_is_refused(self) -> None:
        """With those that there are."""
        wrong: Any = "completions"
        with pytest.raises(InputError, match="write chat or responses"):
            openai_tool(api=wrong)
        with pytest.raises(InputError, match="openai, openai_responses, anthropic"):
            format_tool(WEB_SEARCH, wrong)

    @pytest.mark.parametrize("name", NAMES)
    def test_a_strict_schema_obeys_openais_rules(self, name: str) -> None:
        """All required, nothing besides, optional ones may be null, no keyword that is refused.

        A list says what its items are.
        """
        schema = openai_tool(name, strict=True)["function"]["parameters"]
        assert schema["type"] == "object"
        assert schema["additionalProperties"] is False
        assert schema["required"] == list(schema["properties"])
        assert schema.keys() == {"type", "properties", "required", "additionalProperties"}
        plain = openai_tool(name)["function"]["parameters"]
        for field, said in schema["properties"].items():
            usual = plain["properties"][field]["type"]
            items = {"items": {"type": "string"}} if usual == "array" else {}
            assert said.keys() == {"type", "description", *items}
            assert said.get("items") == items.get("items")
            assert said["type"] == (usual if field in plain["required"] else [usual, "null"])

    @pytest.mark.parametrize("name", NAMES)
    def test_names_are_as_the_vendors_demand(self, name: str) -> None:
        """Letters, digits, underscores and dashes, 64 at most; a description for the model."""
        for tool in (openai_tool(name)["function"], anthropic_tool(name)):
            assert re.fullmatch(r"[a-zA-Z0-9_-]{1,64}", tool["name"])
            assert 20 < len(tool["description"]) < 1024

    def test_web_search_is_specified(self) -> None:
        """To the letter: As Provider Tool (Subject Model)."""
        said = anthropic_tool()
        assert said["description"] == (
            "Search the web for current information. Use for facts, recent events, or research."
        )
        properties = said["input_schema"]["properties"]
        assert properties["query"] == {"type": "string", "description": "The search query"}
        assert properties["max_results"]["type"] == "number"
        assert properties["max_results"]["description"] == "Number of results (1-10, default 5)"
        assert said["input_schema"]["required"] == ["query"]

    @pytest.mark.parametrize("make", [openai_tool, anthropic_tool])
    def test_an_unknown_name_is_told_the_known_ones(self, make: Any) -> None:
        """As InputError."""
        with pytest.raises(InputError, match=r"'websearch'\. Known: web_search, "):
            make("websearch")

    def test_a_definition_of_ones_own(self) -> None:
        """In each format, by the same path."""
        own = FunctionDefinition("mine", "Does it.", WebSearchArguments, FunctionOutput)
        assert format_tool(own, "openai")["function"]["name"] == "mine"
        assert format_tool(own, "openai_responses")["name"] == "mine"
        assert format_tool(own, "anthropic")["description"] == "Does it."
        assert format_tool(WEB_SEARCH, "anthropic") == anthropic_tool()

    def test_what_a_caller_changes_stays_with_him(self) -> None:
        """The next definition is as the first one was."""
        tool = openai_tool()
        tool["function"]["parameters"]["properties"].clear()
        assert openai_tool()["function"]["parameters"]["properties"].keys() == {
            "query",
            "max_results",
        }


def assert_answer(text: str) -> None:
    assert f"URL: {CITED}\n" in text
    assert text.count("URL: ") == 2
    assert text.startswith("<untrusted-web-content id=")


class TestToolLoops:
    """The official clients against a model on the loopback address: call, answer, citation."""

    @pytest.mark.slow
    @pytest.mark.parametrize("strict", [False, True])
    async def test_openai_chat(self, context: SearchContext, *, strict: bool) -> None:
        """Definition, `tool_calls`, a message of the role `tool`, citation."""
        tool = openai_tool(strict=strict)
        replies = (
            chat_reply({"tool_calls": [called("web_search", ARGUMENTS)]}),
            chat_reply({"content": CITATION}),
        )
        messages: list[Any] = [{"role": "user", "content": "How does a timeout work?"}]
        with ModelServer(*replies) as server:
            async with AsyncOpenAI(base_url=f"{server.address}/v1", api_key="k") as client:
                first = await client.chat.completions.create(
                    model="double", messages=messages, tools=[tool]
                )
                message = first.choices[0].message
                messages.append(message.model_dump(exclude_none=True))
                for call in message.tool_calls or ():
                    answer = await answer_openai_call(call.model_dump(), context)
                    accepted(ChatCompletionToolMessageParam, answer)
                    messages.append(answer)
                last = await client.chat.completions.create(
                    model="double", messages=messages, tools=[tool]
                )
            (path, sent), (_, again) = server.requests
        assert path == "/v1/chat/completions"
        assert sent["tools"] == [tool]
        assert again["messages"][-1]["role"] == "tool"
        assert again["messages"][-1]["tool_call_id"] == "call_1"
        assert_answer(again["messages"][-1]["content"])
        assert CITED in (last.choices[0].message.content or "")

    @pytest.mark.slow
    @pytest.mark.parametrize("strict", [False, True])
    async def test_openai_responses(self, context: SearchContext, *, strict: bool) -> None:
        """Definition, a `function_call` item, a `function_call_output` item, citation."""
        tool = openai_tool(strict=strict, api="responses")
        call = {
            "type": "function_call",
            "id": "fc_1",
            "call_id": "call_1",
            "name": "web_search",
            "arguments": ARGUMENTS,
            "status": "completed",
        }
        text = {"type": "output_text", "text": CITATION, "annotations": []}
        said = {
            "type": "message",
            "id": "msg_1",
            "role": "assistant",
            "status": "completed",
            "content": [text],
        }
        items: list[Any] = [{"role": "user", "content": "How does a timeout work?"}]
        with ModelServer(response_reply(call), response_reply(said)) as server:
            async with AsyncOpenAI(base_url=f"{server.address}/v1", api_key="k") as client:
                first = await client.responses.create(model="double", input=items, tools=[tool])
                for item in first.output:
                    items.append(item.model_dump(exclude_none=True))
                    answer = await answer_openai_call(item.model_dump(), context)
                    accepted(FunctionCallOutput, answer)
                    items.append(answer)
                last = await client.responses.create(model="double", input=items, tools=[tool])
            (path, sent), (_, again) = server.requests
        assert path == "/v1/responses"
        assert sent["tools"] == [tool]
        assert again["input"][-1]["type"] == "function_call_output"
        assert again["input"][-1]["call_id"] == "call_1"
        assert_answer(again["input"][-1]["output"])
        assert CITED in last.output_text

    @pytest.mark.slow
    async def test_anthropic(self, context: SearchContext) -> None:
        """Definition, a `tool_use` block, a `tool_result` block, citation."""
        tool: Any = anthropic_tool()
        use = {
            "type": "tool_use",
            "id": "toolu_1",
            "name": "web_search",
            "input": json.loads(ARGUMENTS),
        }
        messages: list[Any] = [{"role": "user", "content": "How does a timeout work?"}]
        replies = anthropic_reply(use), anthropic_reply({"type": "text", "text": CITATION})
        with ModelServer(*replies) as server:
            async with AsyncAnthropic(base_url=server.address, api_key="k") as client:
                first = await client.messages.create(
                    model="double", max_tokens=99, messages=messages, tools=[tool]
                )
                blocks = [block.model_dump(exclude_none=True) for block in first.content]
                messages.append({"role": "assistant", "content": blocks})
                answers = [await answer_anthropic_call(block, context) for block in blocks]
                accepted(ToolResultBlockParam, answers[0])
                messages.append({"role": "user", "content": answers})
                last = await client.messages.create(
                    model="double", max_tokens=99, messages=messages, tools=[tool]
                )
            (path, sent), (_, again) = server.requests
        assert path == "/v1/messages"
        assert sent["tools"] == [tool]
        [block] = again["messages"][-1]["content"]
        assert (block["type"], block["tool_use_id"]) == ("tool_result", "toolu_1")
        assert "is_error" not in block
        assert_answer(block["content"])
        assert [block.text for block in last.content if block.type == "text"] == [CITATION]


WRONG = [
    ("web_search", "{", "no JSON object"),
    ("web_search", '{"query": "a" "b"}', "At character 14: Expecting ',' delimiter."),
    ("web_search", "[1]", "no JSON object"),
    ("web_search", "null", "no JSON object"),
    ("web_search", '"asyncio"', "no JSON object"),
    ("web_search", "[" * 100_000, "no JSON object"),
    ("web_search", '{"query": "x", "max_results": NaN}', "max_results"),
    ("web_search", "", "query"),
    ("web_search", None, "query"),
    ("web_search", '{"query": "  "}', "query"),
    ("web_search", '{"query": "a", "max_results": 11}', "max_results"),
    ("web_search", '{"query": "a", "size": 1}', "size"),
    ("websearch", ARGUMENTS, "Known: web_search, retrieve"),
    (None, ARGUMENTS, "The call names no function."),
    (["web_search"], ARGUMENTS, "The call names no function."),
    ("retrieve", "{}", "question"),
    ("read_page", '{"url": "ftp://a.org/"}', "url"),
    ("collection_search", '{"question": "why?", "collection": ""}', "collection"),
]


class TestMistakes:
    """A model's mistakes and failing backends are answers, in both wire formats."""

    @pytest.mark.parametrize(("name", "arguments", "told"), WRONG)
    async def test_mistakes_are_told_to_the_model(
        self, context: SearchContext, name: Any, arguments: Any, told: str
    ) -> None:
        """With the call's id, so that the conversation stays valid."""
        chat = await answer_openai_call(called(name, arguments), context)
        assert chat["tool_call_id"] == "call_1"
        assert chat["content"].startswith("Error: ")
        assert told in chat["content"]
        item = {"type": "function_call", "call_id": "c", "name": name, "arguments": arguments}
        response = await answer_openai_call(item, context)
        assert response == {
            "type": "function_call_output",
            "call_id": "c",
            "output": chat["content"],
        }

    @pytest.mark.parametrize("given", [None, [], "text", 7, {"size": 1}, {}])
    async def test_anthropic_is_told_too(self, context: SearchContext, given: Any) -> None:
        """With `is_error`."""
        block = {"type": "tool_use", "id": "t", "name": "web_search", "input": given}
        answer = await answer_anthropic_call(block, context)
        assert answer["is_error"] is True
        assert answer["tool_use_id"] == "t"
        assert answer["content"].startswith("Error: ")

    @pytest.mark.parametrize("call", [{}, {"function": None}, {"function": ["x"]}, {"id": 7}])
    async def test_a_call_without_form(self, context: SearchContext, call: Any) -> None:
        """It is answered; nothing is raised."""
        assert (await answer_openai_call(call, context))["content"].startswith("Error: ")
        assert (await answer_anthropic_call(call, context))["is_error"] is True

    @pytest.mark.parametrize("call", [None, "web_search", [{}], 7])
    async def test_what_is_no_call_is_refused(self, context: SearchContext, call: Any) -> None:
        """It is the program's mistake, and there is no id to answer."""
        with pytest.raises(InputError, match=r"A function call is needed, .* was given"):
            await answer_openai_call(call, context)
        with pytest.raises(InputError, match="A tool_use block is needed"):
            await answer_anthropic_call(call, context)

    async def test_a_wrong_context_is_refused(self) -> None:
        """Likewise: a model cannot mend it."""
        wrong: Any = {"tenant_id": "acme"}
        for call in (
            answer_openai_call(called("web_search", ARGUMENTS), wrong),
            answer_anthropic_call({"id": "t", "name": "web_search", "input": {}}, wrong),
            call_function("web_search", {"query": "x"}, wrong),
        ):
            with pytest.raises(InputError, match="context must be a SearchContext or None"):
                await call

    @pytest.mark.parametrize(
        ("wrong", "told"),
        [
            ({"options": {"topic": "news"}}, "options must be SearchOptions or None"),
            ({"options": "news"}, "options must be SearchOptions or None"),
            ({"total_tokens": -5}, "total_tokens must be .* 1 or more, .* but -5 was given"),
            ({"total_tokens": 0}, "total_tokens must be .*, but 0 was given"),
            ({"total_tokens": 2.5}, "total_tokens must be .*, but 2.5 was given"),
            ({"total_tokens": "80"}, "total_tokens must be .*, but 'str' was given"),
            ({"total_tokens": True}, "total_tokens must be .*, but 'bool' was given"),
        ],
    )
    async def test_wrong_options_are_refused(
        self, context: SearchContext, wrong: dict[str, Any], told: str
    ) -> None:
        """Likewise, before anything is searched."""
        for call in (
            answer_openai_call(called("web_search", ARGUMENTS), context, **wrong),
            answer_anthropic_call({"id": "t", "name": "web_search", "input": {}}, context, **wrong),
            call_function("web_search", {"query": "x"}, context, **wrong),
        ):
            with pytest.raises(InputError, match=told):
                await call

    async def test_no_options_are_the_options_of_a_request_without_any(
        self, context: SearchContext
    ) -> None:
        """So what was translated can be handed over as it is."""
        translated = translate_web_search_preview({"input": "hi"})
        limits: Any = {"options": translated.options, "total_tokens": translated.total_tokens}
        chat = await answer_openai_call(called("web_search", ARGUMENTS), context, **limits)
        assert "[1] " in chat["content"]
        block = {"id": "t", "name": "web_search", "input": {"query": "asyncio"}}
        assert "is_error" not in await answer_anthropic_call(block, context, **limits)

    @pytest.mark.parametrize(
        "error", [SearchProviderInvalidQuery("too long"), ValueError("a bug"), OSError("down")]
    )
    async def test_a_failing_backend_is_told(self, tmp_path: Path, error: Exception) -> None:
        """As an error, never as an empty web."""
        context = context_of(tmp_path, error)
        chat = await answer_openai_call(called("web_search", ARGUMENTS), context)
        assert chat["content"].startswith("Search failed (")
        assert "No results" not in chat["content"]
        block = {"id": "t", "name": "web_search", "input": {"query": "asyncio"}}
        assert (await answer_anthropic_call(block, context))["is_error"] is True

    async def test_the_form_of_an_address_is_told(self, context: SearchContext) -> None:
        """Our own example is no link that has to be taken away."""
        arguments = json.dumps({"url": "docs.python.org/3"})
        answer = await answer_openai_call(called("read_page", arguments), context)
        assert answer["content"].endswith("such as https://example.com/page.")

    async def test_wrong_settings_are_told(self, tmp_path: Path) -> None:
        """Such as a provider that does not exist."""
        context = SearchContext(settings=Settings(home=tmp_path), provider="gopher")
        chat = await answer_openai_call(called("web_search", ARGUMENTS), context)
        assert chat["content"].startswith("Error: ")
        assert "gopher" in chat["content"]

    async def test_a_home_that_cannot_be_written_is_told(self, tmp_path: Path) -> None:
        """With the setting to change, as `retrieve` tells it."""
        (tmp_path / "file").touch()
        context = SearchContext(settings=Settings(home=tmp_path / "file"), provider="offline")
        chat = await answer_openai_call(called("web_search", ARGUMENTS), context)
        assert chat["content"].startswith("Search failed (")
        assert "COLLECTION_SEARCH_HOME" in chat["content"]
