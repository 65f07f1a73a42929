"""The arrow command and the provider tool: every row of the contract."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import pytest

from collection_search.errors import InputError
from collection_search.settings import Settings
from collection_search.testing import ProviderServer
from collection_search.testing.providers.wire import KEY
from collection_search.tools.arrow import answer_arrow, arrow_requests, parse_arrow
from collection_search.tools.provider_tool import answer_tool, provider_tool
from collection_search.tools.search_texts import full
from collection_search.tools.service import WebSearchService


@pytest.fixture
def service(tmp_path):
    with ProviderServer("tavily") as server:
        access = {"api_key": KEY, "base_url": server.base_url}
        given = Settings(home=tmp_path, providers={"tavily": access}, answer_cache_s=0)
        yield WebSearchService(given)


def asked(line: str) -> Any:
    return parse_arrow(line).options.asked()


@pytest.mark.parametrize(
    ("line", "options"),
    [
        ('→ search "[query]"', {}),
        ('→ search "[query]" depth:deep', {"search_depth": "deep"}),
        ('→ search "[query]" depth:basic', {}),
        ('→ search "[query]" topic:news', {"topic": "news"}),
        ('→ search "[query]" topic:general', {}),
        ('→ search "[query]" max:7', {"max_results": 7}),
        ('→ search "[query]" include:a.org,b.org', {"include_domains": ["a.org", "b.org"]}),
        (
            '→ search "[query]" include:a.org exclude:b.org',
            {"include_domains": ["a.org"], "exclude_domains": ["b.org"]},
        ),
        ('  -> Search "[query]" MAX:2 ', {"max_results": 2}),
        ("→ search “[query]” topic:news", {"topic": "news"}),
    ],
)
def test_tool_definition(line, options):
    """Tool Definition: every form, also as people type it."""
    assert parse_arrow(line).query == "[query]"
    assert asked(line) == options


@pytest.mark.parametrize(
    ("line", "query", "options"),
    [
        (
            '→ search "Marie character archetype literary analysis"',
            "Marie character archetype literary analysis",
            {},
        ),
        (
            '→ search "climate change latest research 2025" topic:news',
            "climate change latest research 2025",
            {"topic": "news"},
        ),
        (
            '→ search "react native performance" include:reactnative.dev,expo.dev',
            "react native performance",
            {"include_domains": ["reactnative.dev", "expo.dev"]},
        ),
    ],
)
def test_as_loom_tool(line, query, options):
    """As Loom Tool (Collaborator): the three examples, to the letter, also within a reply."""
    assert parse_arrow(line).query == query
    assert asked(line) == options
    [request] = arrow_requests(f"I look that up.\n\n{line}\n")
    assert request == parse_arrow(line)


@pytest.mark.parametrize(
    "line",
    [
        "search asyncio",
        "→ search asyncio",
        '→ search "asyncio" deep',
        '→ search "asyncio" depth:',
        '→ search "asyncio" depth:abyss',
        '→ search "asyncio" max:11',
        '→ search "asyncio" max:0',
        '→ search "asyncio" include:http://',
        '→ search "asyncio" color:red',
    ],
)
def test_wrong_commands_are_refused_with_what_can_be_written(line):
    """A model gets a sentence from which it can learn."""
    with pytest.raises(InputError):
        parse_arrow(line)


def test_commands_are_found_in_a_text():
    """Only whole lines are commands: a quotation within a sentence is none."""
    text = 'I write → search "no" here.\n→ search "one"\n\n  → search "two" max:2\n> → search "no"'
    assert [request.query for request in arrow_requests(text)] == ["one", "two"]


def test_a_command_is_answered(service):
    """As Loom Tool: the reply has the return format."""
    reply = asyncio.run(answer_arrow(service, '→ search "asyncio" max:2'))
    assert '\nSearch: "asyncio"\n2 results (' in reply
    assert "[2] " in reply
    assert reply.endswith('\nUse → search "query" depth:deep for full content extraction.')


def test_a_failure_is_told(service):
    """A model is told what went wrong; nothing is raised."""
    assert asyncio.run(answer_arrow(service, '→ search ""')).startswith("Search failed: ")
    assert asyncio.run(answer_arrow(service, "→ search")).startswith("Search failed: ")


def test_provider_tool_definition():
    """As Provider Tool: name, description and input schema, as JSON."""
    tool = provider_tool()
    assert json.loads(json.dumps(tool)) == tool
    assert (tool["name"], tool["input_schema"]["required"]) == ("web_search", ["query"])
    properties = tool["input_schema"]["properties"]
    assert properties["query"] == {"type": "string", "description": "The search query"}
    assert properties["max_results"] == {
        "type": "number",
        "description": "Number of results (1-10, default 5)",
        "minimum": 1,
        "maximum": 10,
        "default": 5,
    }


def test_a_tool_call_is_answered(service):
    """As Provider Tool: a call gives the compact format."""
    reply = asyncio.run(answer_tool(service, {"query": "asyncio", "max_results": 3.0}))
    opening, _, *lines, closing = reply.splitlines()
    assert lines[0] == '[Web Search: "asyncio"]'
    assert lines[1].startswith("1. ")
    assert len(lines) == 4
    assert opening[1:] == closing[2:]


def test_a_deep_command_is_answered_in_full(service):
    """Full Format (Deep Search): source and extracted content of each result."""
    reply = asyncio.run(answer_arrow(service, '→ search "asyncio" max:2 depth:deep'))
    assert '\nSearch: "asyncio"\n2 results (' in reply
    assert "\n## Result 1: " in reply
    assert "\nSource: https://" in reply
    assert "depth:deep" not in reply


def test_a_deep_tool_call_is_answered_in_full(service):
    """Full Format (Deep Search): for a model whose host wants whole contents."""
    found = service.search({"query": "asyncio", "options": {"searchDepth": "deep"}})
    reply = asyncio.run(answer_tool(service, {"query": "asyncio"}, deep=True))
    assert f"\n{full(found)}\n" in reply
    content = next(one.content for one in found.results if one.content)
    assert content.split()[0] in reply


@pytest.mark.parametrize(
    "arguments", [{}, {"query": "  "}, {"query": "asyncio", "max_results": 99}]
)
def test_a_wrong_tool_call_is_told(service, arguments):
    """A model may call with anything."""
    assert asyncio.run(answer_tool(service, arguments)).startswith("Search failed: ")
