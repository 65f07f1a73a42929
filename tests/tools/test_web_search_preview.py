"""OpenAI's own search tool in a request, in all its forms."""

from __future__ import annotations

import copy
from typing import TYPE_CHECKING, Any

import pytest
from openai.types.chat import ChatCompletionFunctionToolParam
from openai.types.responses import FunctionToolParam
from pydantic import TypeAdapter

from collection_search.context import SearchContext
from collection_search.contracts.functions import WEB_SEARCH, WebSearchOutput
from collection_search.contracts.prices import tokens_in
from collection_search.errors import InputError
from collection_search.settings import Settings
from collection_search.testing import ScriptedAdapter, rows
from collection_search.text.urls import host_of
from collection_search.tools.function_calls import call_web_search
from collection_search.tools.function_specs import answer_openai_call, openai_tool
from collection_search.tools.web_search_preview import (
    CONTEXT_TOKENS,
    TranslatedRequest,
    translate_web_search_preview,
)

if TYPE_CHECKING:
    from pathlib import Path

OTHER = {"type": "function", "name": "clock", "parameters": {"type": "object", "properties": {}}}
FILES = {"type": "file_search", "vector_store_ids": ["vs_1"]}
MESSAGES = [{"role": "user", "content": "What is new?"}]
KINDS = [
    "web_search_preview",
    "web_search_preview_2025_03_11",
    "web_search",
    "web_search_2025_08_26",
]


def response_request(*tools: Any, **more: Any) -> dict[str, Any]:
    return {"model": "m", "input": "What is new?", "tools": list(tools), **more}


def chat_request(*tools: Any, **more: Any) -> dict[str, Any]:
    return {"model": "m", "messages": MESSAGES, "tools": list(tools), **more}


def translate(request: dict[str, Any], **options: Any) -> TranslatedRequest:
    """Translate, and assert that the caller's request stays as it was."""
    before = copy.deepcopy(request)
    translated = translate_web_search_preview(request, **options)
    assert request == before
    return translated


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("strict", [False, True])
def test_each_type_becomes_our_function(kind: str, *, strict: bool) -> None:
    """In the form of the API that the request is for; the rest stays."""
    translated = translate(response_request({"type": kind}, stream=True), strict=strict)
    [tool] = translated.request["tools"]
    assert tool == openai_tool(strict=strict, api="responses")
    TypeAdapter(FunctionToolParam).validate_python(tool)
    assert translated.request | {"tools": []} == response_request(stream=True)
    [tool] = translate(chat_request({"type": kind}), strict=strict).request["tools"]
    assert tool == openai_tool(strict=strict)
    TypeAdapter(ChatCompletionFunctionToolParam).validate_python(tool)


@pytest.mark.parametrize(
    "request_",
    [
        {"model": "m", "input": "hi"},
        {"model": "m", "input": "hi", "tools": None},
        {"model": "m", "messages": MESSAGES, "web_search_options": None},
        response_request(OTHER, FILES, tool_choice={"type": "file_search"}),
        response_request({"type": "web_search_20250305", "name": "web_search"}),
        response_request({"type": "web_search_preview_tomorrow"}),
        response_request({"type": ["web_search"]}, "web_search", None),
        response_request({"type": "function", "name": "web_search"}),
    ],
)
def test_a_request_without_it_is_unchanged(request_: dict[str, Any]) -> None:
    """Also one with tools of other vendors or of no form."""
    assert translate(request_) == TranslatedRequest(request_, None, None)


def test_our_function_takes_its_place_among_others() -> None:
    """Order stays; of several search tools the first one counts."""
    first = {"type": "web_search_preview", "search_context_size": "low"}
    second = {"type": "web_search", "search_context_size": "high"}
    translated = translate(response_request(OTHER, first, FILES, second))
    names = [tool.get("name", tool["type"]) for tool in translated.request["tools"]]
    assert names == ["clock", "web_search", "file_search"]
    assert translated.total_tokens == CONTEXT_TOKENS["low"]


def test_two_functions_of_one_name_are_refused() -> None:
    """No model could tell them apart."""
    ours = {"type": "function", "name": "web_search", "parameters": {}}
    with pytest.raises(InputError, match="has a function web_search already"):
        translate(response_request(ours, {"type": "web_search_preview"}))
    chat = {"type": "function", "function": {"name": "web_search"}}
    with pytest.raises(InputError, match="has a function web_search already"):
        translate(chat_request(chat, {"type": "web_search_preview"}))


class TestToolChoice:
    """A choice of OpenAI's tool is one of ours."""

    @pytest.mark.parametrize("kind", KINDS)
    def test_it_is_named(self, kind: str) -> None:
        """As each API writes it."""
        tool = choice = {"type": kind}
        request = translate(response_request(tool, tool_choice=choice)).request
        assert request["tool_choice"] == {"type": "function", "name": "web_search"}
        request = translate(chat_request(tool, tool_choice=choice)).request
        assert request["tool_choice"] == {"type": "function", "function": {"name": "web_search"}}

    @pytest.mark.parametrize(
        "choice", ["auto", "required", "none", None, {"type": "function", "name": "clock"}]
    )
    def test_any_other_choice_stays(self, choice: Any) -> None:
        """And none is made."""
        tool = {"type": "web_search_preview"}
        request = translate(response_request(tool, tool_choice=choice)).request
        assert request["tool_choice"] == choice
        assert "tool_choice" not in translate(response_request(tool)).request

    def test_allowed_tools(self) -> None:
        """The search among them is ours too, in both forms."""
        tool, named = {"type": "web_search"}, {"type": "function", "name": "web_search"}
        choice = {"type": "allowed_tools", "mode": "auto", "tools": [FILES, tool]}
        request = translate(response_request(tool, FILES, tool_choice=choice)).request
        assert request["tool_choice"] == {**choice, "tools": [FILES, named]}
        inner = {"mode": "required", "tools": [tool]}
        choice = {"type": "allowed_tools", "allowed_tools": inner}
        request = translate(chat_request(tool, tool_choice=choice)).request
        assert request["tool_choice"]["allowed_tools"] == {
            "mode": "required",
            "tools": [{"type": "function", "function": {"name": "web_search"}}],
        }


class TestSettings:
    """Settings of OpenAI's tool become options of our search."""

    @pytest.mark.parametrize(("size", "tokens"), [*CONTEXT_TOKENS.items(), (None, 3_000)])
    def test_context_sizes(self, size: str | None, tokens: int) -> None:
        """A budget each; `high` asks for the pages' content."""
        tool = {"type": "web_search_preview", "search_context_size": size}
        translated = translate(response_request(tool))
        assert translated.total_tokens == tokens
        assert translated.options is not None
        assert translated.options.asked() == ({"include_content": True} if size == "high" else {})

    def test_location_and_domains(self) -> None:
        """The country, and the only domains; a city cannot be applied."""
        location = {"type": "approximate", "country": "de", "city": "Berlin", "timezone": "x"}
        tool = {
            "type": "web_search",
            "user_location": location,
            "filters": {"allowed_domains": ["Pubmed.ncbi.nlm.nih.gov", "a.org"]},
            "external_web_access": True,
        }
        options = translate(response_request(tool)).options
        assert options is not None
        assert options.country == "DE"
        assert options.include_domains == ("pubmed.ncbi.nlm.nih.gov", "a.org")
        assert options.restricts

    @pytest.mark.parametrize("empty", [None, {}])
    def test_what_is_null_is_not_asked(self, empty: Any) -> None:
        """Clients send null for what they leave open."""
        tool = {"type": "web_search", "user_location": empty, "filters": empty}
        options = translate(response_request(tool)).options
        assert options is not None
        assert options.asked() == {}
        assert not options.restricts

    def test_web_search_options_of_a_chat_completion(self) -> None:
        """The parameter goes, our function comes last; the location stands deeper there."""
        given = {
            "search_context_size": "high",
            "user_location": {"type": "approximate", "approximate": {"country": "GB"}},
        }
        tool = {"type": "function", "function": {"name": "clock"}}
        translated = translate(chat_request(tool, web_search_options=given))
        assert translated.request == chat_request(tool, openai_tool())
        assert translated.options is not None
        assert translated.options.asked() == {"country": "GB", "include_content": True}
        assert translated.total_tokens == CONTEXT_TOKENS["high"]

    def test_web_search_options_may_be_empty(self) -> None:
        """They switch the search on all the same, where there is no list of tools."""
        request = {"model": "m", "messages": MESSAGES, "web_search_options": {}}
        assert translate(request).request == chat_request(openai_tool())

    @pytest.mark.parametrize(
        ("setting", "value", "named"),
        [
            ("search_context_size", "huge", "search_context_size is 'huge'; write low, medium"),
            ("search_context_size", 3, "search_context_size is 3"),
            ("search_context_size", ["low"], "search_context_size is"),
            ("user_location", "Berlin", "user_location .* no JSON object"),
            ("user_location", {"country": "Germany"}, "country"),
            ("user_location", {"country": 49}, "country"),
            ("user_location", {"approximate": "x"}, "approximate .* no JSON object"),
            ("filters", ["a.org"], "filters .* no JSON object"),
            ("filters", {"allowed_domains": "a.org"}, "allowed_domains .* no list"),
            ("filters", {"allowed_domains": ["nowhere"]}, "no domain"),
            ("filters", {"allowed_domains": [7]}, "include_domains"),
            ("filters", {"allowed_domains": 7}, "include_domains"),
        ],
    )
    def test_wrong_values_are_refused(self, setting: str, value: Any, named: str) -> None:
        """As InputError that names them."""
        tool = {"type": "web_search", setting: value}
        for request in (response_request(tool), chat_request(tool)):
            with pytest.raises(InputError, match=named):
                translate(request)

    @pytest.mark.parametrize("tools", ["web_search", {"type": "web_search"}, 7])
    def test_tools_without_form_are_refused(self, tools: Any) -> None:
        """Before a server would."""
        with pytest.raises(InputError, match="no list"):
            translate({"model": "m", "input": "hi", "tools": tools})

    def test_wrong_web_search_options_are_refused(self) -> None:
        """Like any other."""
        with pytest.raises(InputError, match=r"web_search_options .* no JSON object"):
            translate(chat_request(web_search_options=True))


async def test_options_and_budget_reach_the_search(tmp_path: Path) -> None:
    """Only the domains of the request come, within its tokens."""
    pages = [*rows(3), *rows(3, about="tea")]
    for page in pages[3:]:
        page.url, page.snippet = page.url.replace("example.com", "a.org"), "Tea is hot. " * 400
    tool = {
        "type": "web_search",
        "search_context_size": "low",
        "filters": {"allowed_domains": ["a.org"]},
    }
    translated = translate(response_request(tool))
    assert translated.options is not None
    context = SearchContext(
        settings=Settings(home=tmp_path, answer_cache_s=0), provider=ScriptedAdapter(pages)
    )
    result = await call_web_search(
        WEB_SEARCH.validate_arguments({"query": "asyncio"}),
        context,
        options=translated.options,
        total_tokens=60,
    )
    assert isinstance(result.output, WebSearchOutput)
    assert {host_of(one.url) for one in result.output.results} == {"a.org"}
    assert tokens_in([result.text]) < 60 + 150


async def test_a_translated_call_is_answered_with_its_options(tmp_path: Path) -> None:
    """Country and budget of the request reach the search that answers the model's call."""
    adapter = ScriptedAdapter(rows(5))
    context = SearchContext(settings=Settings(home=tmp_path), provider=adapter)
    tool = {"type": "web_search_preview", "search_context_size": "low"}
    translated = translate(response_request({**tool, "filters": {"allowed_domains": ["no.org"]}}))
    call = {
        "type": "function_call",
        "call_id": "c",
        "name": "web_search",
        "arguments": '{"query": "tea"}',
    }
    assert translated.options is not None
    answer = await answer_openai_call(
        call, context, options=translated.options, total_tokens=translated.total_tokens
    )
    assert "No results." in answer["output"]
    assert "[1] " in (await answer_openai_call(call, context))["output"]
