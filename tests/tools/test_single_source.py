"""One definition, all faces: a changed description is seen by each of them."""

from __future__ import annotations

import inspect
from typing import TYPE_CHECKING, Any

import pytest
from langchain_core.utils.function_calling import convert_to_openai_tool
from mcp import Client
from pydantic import Field

from collection_search.context import SearchContext
from collection_search.contracts.functions import (
    FUNCTIONS,
    WEB_SEARCH,
    FunctionArguments,
    WebSearchArguments,
)
from collection_search.settings import Settings
from collection_search.testing import ScriptedAdapter, rows
from collection_search.tools.function_calls import call_function
from collection_search.tools.function_provider import FunctionRegistry, WebSearchProvider
from collection_search.tools.function_specs import anthropic_tool, openai_tool
from collection_search.tools.langchain.function_tools import TOOLS, FunctionTool, WebSearchTool
from collection_search.tools.mcp.tool_server import mcp_server
from collection_search.tools.provider_tool import provider_tool
from collection_search.tools.web_search_preview import translate_web_search_preview

if TYPE_CHECKING:
    from pathlib import Path

ANOTHER = "Words that nobody else would write"


class AnotherArguments(WebSearchArguments):
    """The same function with another description of one field."""

    query: str = Field(description=ANOTHER)


CHANGED = WEB_SEARCH._replace(description=f"{ANOTHER}.", arguments=AnotherArguments)


@pytest.fixture
def changed(monkeypatch: pytest.MonkeyPatch) -> None:
    """The definition of `web_search` is replaced where the functions are listed."""
    monkeypatch.setitem(FUNCTIONS, WEB_SEARCH.name, CHANGED)  # type: ignore[arg-type]


def faces() -> dict[str, Any]:
    """Each definition that is made from the list: description, and schema of the arguments."""
    chat = openai_tool()["function"]
    strict = openai_tool(strict=True)["function"]
    response = openai_tool(api="responses")
    preview = translate_web_search_preview({"input": "x", "tools": [{"type": "web_search"}]})
    tools = {
        "openai": (chat, "parameters"),
        "openai strict": (strict, "parameters"),
        "openai responses": (response, "parameters"),
        "web_search_preview": (preview.request["tools"][0], "parameters"),
        "anthropic": (anthropic_tool(), "input_schema"),
        "provider tool": (provider_tool(), "input_schema"),
    }
    return {face: (tool["description"], tool[schema]) for face, (tool, schema) in tools.items()}


@pytest.mark.usefixtures("changed")
def test_a_changed_description_is_seen_everywhere() -> None:
    """OpenAI's forms, Anthropic's, the provider tool: of the function and of its field."""
    for face, (description, schema) in faces().items():
        assert description == f"{ANOTHER}.", face
        assert schema["properties"]["query"]["description"] == ANOTHER, face


def test_langchain_takes_the_definition() -> None:
    """A tool of a changed definition has its words, in what a model gets as well."""

    class AnotherTool(FunctionTool):
        definition = CHANGED

        name: str = CHANGED.name
        description: str = CHANGED.description
        args_schema: Any = CHANGED.arguments

    shown = convert_to_openai_tool(AnotherTool())["function"]
    assert shown["description"] == f"{ANOTHER}."
    assert shown["parameters"]["properties"]["query"]["description"] == ANOTHER


@pytest.mark.usefixtures("changed")
async def test_mcp_takes_the_definition(tmp_path: Path) -> None:
    """The tool that a client lists, with the description of the field."""
    context = SearchContext(settings=Settings(home=tmp_path))
    async with Client(mcp_server(context)) as client:
        [tool] = [one for one in (await client.list_tools()).tools if one.name == "web_search"]
    assert tool.description == f"{ANOTHER}."
    assert tool.input_schema["properties"]["query"]["description"] == ANOTHER


@pytest.mark.usefixtures("changed")
async def test_plain_python_takes_the_definition(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A call is judged by the listed definition, which its error names."""

    class Stricter(AnotherArguments):
        colour: str = Field(description="A field that only this definition has")

    monkeypatch.setitem(FUNCTIONS, WEB_SEARCH.name, CHANGED._replace(arguments=Stricter))  # type: ignore[arg-type]
    context = SearchContext(
        settings=Settings(home=tmp_path, answer_cache_s=0), provider=ScriptedAdapter(rows(1))
    )
    result = await call_function("web_search", {"query": "tea"}, context)
    assert result.is_error
    assert "colour" in result.text
    assert not (
        await call_function("web_search", {"query": "tea", "colour": "red"}, context)
    ).is_error


@pytest.mark.parametrize("name", FUNCTIONS)
def test_all_faces_say_the_same(name: str) -> None:
    """Name, description, fields, and the words of each field."""
    definition = FUNCTIONS[name]
    said = {
        field: one["description"] for field, one in definition.input_schema()["properties"].items()
    }
    [tool] = [one for one in TOOLS if one.definition is definition]
    langchain = convert_to_openai_tool(tool())["function"]
    for function in (
        openai_tool(name)["function"],
        openai_tool(name, strict=True)["function"],
        openai_tool(name, api="responses"),
        langchain,
    ):
        assert (function["name"], function["description"]) == (name, definition.description)
        properties = function["parameters"]["properties"]
        assert {field: one["description"] for field, one in properties.items()} == said
        assert (
            openai_tool(name)["function"]["parameters"]["required"]
            == (definition.input_schema()["required"])
        )
    assert anthropic_tool(name)["input_schema"] == definition.input_schema()


def test_the_registry_says_the_same(tmp_path: Path) -> None:
    """Its tool is the one that all faces show."""
    context = SearchContext(settings=Settings(home=tmp_path))
    registry = FunctionRegistry([WebSearchProvider(context=context)])
    assert registry.tools("openai") == [openai_tool()]
    assert registry.tools("openai_responses") == [openai_tool(api="responses")]
    assert registry.tools("anthropic") == [anthropic_tool()] == [provider_tool()]


def test_every_field_is_described() -> None:
    """In the arguments and in the outputs' own fields that are not plain by name."""
    for definition in FUNCTIONS.values():
        assert issubclass(definition.arguments, FunctionArguments)
        for field in definition.arguments.model_fields.values():
            assert field.description


def test_no_face_repeats_a_description() -> None:
    """The words stand in one module only."""
    words = [one.description for one in FUNCTIONS.values()]
    words += [
        field.description or ""
        for one in FUNCTIONS.values()
        for field in one.arguments.model_fields.values()
    ]
    for face in (openai_tool, WebSearchProvider, WebSearchTool):
        module = inspect.getmodule(face)
        assert module is not None
        source = inspect.getsource(module)
        assert not [text for text in words if text in source]
