"""The arrow command and the provider tool: every row of the contract."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from collection_search.contracts.service import SearchRequest
from collection_search.errors import ArrowSyntaxError, InputError, InvalidQueryError
from collection_search.settings import Settings
from collection_search.testing import ProviderServer
from collection_search.testing.providers.wire import KEY
from collection_search.text.clean import normalize_query
from collection_search.tools.arrow import (
    answer_arrow,
    arrow_lines,
    arrow_requests,
    is_arrow,
    parse_arrow,
)
from collection_search.tools.provider_tool import answer_tool, provider_tool
from collection_search.tools.search_texts import format_full
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
    assert f"\n{format_full(found)}\n" in reply
    content = next(one.content for one in found.results if one.content)
    assert content.split()[0] in reply


@pytest.mark.parametrize(
    "arguments", [{}, {"query": "  "}, {"query": "asyncio", "max_results": 99}]
)
def test_a_wrong_tool_call_is_told(service, arguments):
    """A model may call with anything."""
    assert asyncio.run(answer_tool(service, arguments)).startswith("Search failed: ")


def place_of(line: str, part: str) -> int:
    """The place of the last occurrence; the end of the line for nothing."""
    return line.rindex(part) if part else len(line)


@pytest.mark.parametrize(
    ("line", "at", "told"),
    [
        ("search asyncio", "search asyncio", 'written → search "query"'),
        ("", "", 'written → search "query"'),
        ('→ search "a"\n→ search "b"', '→ search "a"', "in one line"),
        ("→ search", "", "between quotation marks"),
        ("→ search asyncio", "asyncio", "between quotation marks"),
        ("  ->  search   asyncio", "asyncio", "between quotation marks"),
        ('→ search depth:deep "asyncio"', "depth", "between quotation marks"),
        ('→ search "asyncio', "", "closing quotation mark"),
        ('→ search "asyncio\\"', "", "closing quotation mark"),
        ('→ search “asyncio"', "", "closing quotation mark"),
        ('→ search ""', '"', "The query is empty"),
        ('→ search "site:a.org"', "site", "The query is empty or holds search operators only"),
        ('→ search "a" deep', "deep", "'deep' is no option of a search; did you mean depth?"),
        ('→ search "a" color:red', "color", "There are depth, topic, max, include, exclude."),
        ('→ search "a" :', ":", "':' is no option"),
        ('→ search "a" "b"', '"b"', "is no option"),
        ('→ search "a" depth', "", "A colon is missing. Write depth:basic or depth:deep."),
        ('→ search "a" depth deep', " deep", "A colon is missing"),
        ('→ search "a" depth:', "", "A value is missing. Write depth:basic or depth:deep."),
        ('→ search "a" depth: topic:news', " topic", "A value is missing"),
        ('→ search "a" max:3 max:4', "max", "max is written twice."),
        ('→ search "a" max:3 topic:news MAX:4', "MAX", "max is written twice."),
        ('→ search "a" depth:abyss', "abyss", "Write depth:basic or depth:deep."),
        ('→ search "a" depth:   abyss', "abyss", "Write depth:basic or depth:deep."),
        ('→ search "a" topic:sport', "sport", "Write topic:general or topic:news."),
        ('→ search "a" max:0', "0", "Write max:1 to max:10."),
        ('→ search "a" max:11', "11", "Write max:1 to max:10."),
        ('→ search "a" max:2.5 depth:deep', "2.5", "Write max:1 to max:10."),
        ('→ search "a" max:many', "many", "Write max:1 to max:10."),
        ('→ search "a" include:nowhere', "nowhere", "Write include:domains"),
        ('→ search "a" include:a.org,nowhere,b.org', "nowhere", "Write include:domains"),
        ('→ search "a" include:a.org,,b.org', ",b.org", "Write include:domains"),
        ('→ search "a" exclude:,a.org', ",a.org", "Write exclude:domains"),
        ('→ search "a" exclude:a.org,', "", "Write exclude:domains"),
        ('→ search "a" exclude:a.org, b', " b", "Write exclude:domains"),
    ],
)
def test_the_place_of_a_mistake(line, at, told):
    """The exact column, in the error and under the line that it shows."""
    with pytest.raises(ArrowSyntaxError) as caught:
        parse_arrow(line)
    error = caught.value
    assert told in error.reason
    assert error.position == place_of(line, at)
    assert str(error) == f"{error.reason}\n{line}\n{' ' * error.position}^"


def test_the_mark_stands_below_wide_characters_and_tabs():
    """As a terminal shows them."""
    with pytest.raises(ArrowSyntaxError) as caught:
        parse_arrow('\t→ search "日本" colour:red')
    assert caught.value.position == len('\t→ search "日本" ')
    assert str(caught.value).splitlines()[2] == f"\t{' ' * 10}\u3000\u3000{' ' * 2}^"


@pytest.mark.parametrize(
    ("word", "near"),
    [
        ("dept", "depth"),
        ("depht", "depth"),
        ("topics", "topic"),
        ("maxi", "max"),
        ("includes", "include"),
        ("exlude", "exclude"),
    ],
)
def test_the_nearest_name_is_told(word, near):
    """A model learns it by the message."""
    with pytest.raises(ArrowSyntaxError, match=f"did you mean {near}\\?"):
        parse_arrow(f'→ search "a" {word}:1')


@pytest.mark.parametrize(
    ("line", "query"),
    [
        ('-> search "asyncio"', "asyncio"),
        ('->search "asyncio"', "asyncio"),
        ('→search"asyncio"', "asyncio"),
        ("→ SEARCH 'asyncio'", "asyncio"),
        ("→ search “asyncio”", "asyncio"),
        ("→ search „asyncio“", "asyncio"),
        ("→ search „asyncio”", "asyncio"),
        ("→ search ”asyncio”", "asyncio"),
        ("→ search «asyncio»", "asyncio"),
        ("→ search »asyncio«", "asyncio"),
        ("→ search \u2018asyncio\u2019", "asyncio"),
        ("→ search \u201aasyncio\u2018", "asyncio"),
        (r'→ search "say \"hi\" twice"', 'say "hi" twice'),
        (r'→ search "a \\ b"', r"a \ b"),
        ('→ search "it\'s"', "it's"),
        ("→ search 'a \"b\" c'", 'a "b" c'),
        ('→ search “a "b" c”', 'a "b" c'),
        ('→ search "depth:deep max:3"', "depth:deep max:3"),
        ('\t→\tsearch\t"asyncio"\t', "asyncio"),
    ],
)
def test_queries_as_they_are_typed(line, query):
    """Both arrows, any usual quotation marks, escapes; no option inside the query counts."""
    assert parse_arrow(line).query == query
    assert asked(line) == {}


@pytest.mark.parametrize(
    ("line", "options"),
    [
        ('→ search "a" depth: deep', {"search_depth": "deep"}),
        ('→ search "a" max:   3   topic:\tnews', {"max_results": 3, "topic": "news"}),
        ('→ search "a" Depth:deep MAX:3', {"search_depth": "deep", "max_results": 3}),
        ('→ search "a"max:3', {"max_results": 3}),
        (
            '→ search "a" include: https://Docs.Python.org/,*.b.org',
            {"include_domains": ["docs.python.org", "b.org"]},
        ),
        ('→ search "a" max:3 depth:deep', {"search_depth": "deep", "max_results": 3}),
    ],
)
def test_options_as_they_are_typed(line, options):
    """Spaces after a colon, capitals in names, any order."""
    assert asked(line) == options


DOMAINS = st.lists(
    st.sampled_from(["a.org", "docs.python.org", "xn--bcher-kva.example", "x-y.co.uk"]),
    max_size=3,
    unique=True,
)
OPTIONS = st.fixed_dictionaries(
    {},
    optional={
        "depth": st.sampled_from(["basic", "deep"]),
        "topic": st.sampled_from(["general", "news"]),
        "max": st.integers(1, 10),
        "include": DOMAINS,
        "exclude": DOMAINS,
    },
)
FIELDS = {
    "depth": "search_depth",
    "topic": "topic",
    "max": "max_results",
    "include": "include_domains",
    "exclude": "exclude_domains",
}


def is_query(text: str) -> bool:
    try:
        normalize_query(text)
    except InvalidQueryError:
        return False
    return "\n" not in text


@pytest.mark.slow
@settings(deadline=None)
@given(
    st.text(min_size=1).filter(is_query),
    OPTIONS,
    st.sampled_from(["→", "->", " → ", "\t->  "]),
    st.randoms(use_true_random=False),
)
def test_a_printed_request_parses_back(query, options, arrow, random):
    """To itself, whatever is searched for and in whichever order the options stand."""
    escaped = query.replace("\\", r"\\").replace('"', r"\"")
    told = [(name, value) for name, value in options.items() if value != []]
    random.shuffle(told)
    words = [
        f"{name}:{','.join(value) if isinstance(value, list) else value}" for name, value in told
    ]
    request = parse_arrow(" ".join([f'{arrow} search "{escaped}"', *words]))
    assert request.query == query
    given_options = {FIELDS[name]: value for name, value in told}
    assert request == SearchRequest.model_validate({"query": query, "options": given_options})


def error_of(line: str) -> ArrowSyntaxError | None:
    try:
        parse_arrow(line)
    except ArrowSyntaxError as error:
        return error
    return None


PIECES = [
    *("→", "->", "search", " ", "\t", '"', "'", "“", "”", "\\", ":", ",", "a.org", "nowhere"),
    *("depth:", "topic:", "max:", "include:", "exclude:", "deep", "news", "3", "11", "asyncio"),
    *('→ search "asyncio" ', '-> search "a b" ', "site:a.org", "\n", "\r", "\u2028", "\ud800"),
]
ANY_TEXT = st.text(st.characters(exclude_categories=()), max_size=4)


@pytest.mark.slow
@settings(deadline=None, max_examples=500)
@given(st.lists(st.sampled_from(PIECES) | ANY_TEXT, max_size=14).map("".join))
def test_any_text_parses_or_is_told_where_it_fails(text):
    """With a place within the line, and by no other error."""
    for line in {text, f'→ search "{text}"', f'→ search "asyncio" {text}'}:
        error = error_of(line)
        if error is not None:
            assert 0 <= error.position <= len(error.line)
            assert error.reason
            assert str(error).endswith("^")


def test_commands_in_a_text_are_found_in_both_spellings():
    """Right or wrong; `is_arrow` says what begins as one."""
    text = 'Well.\n-> search "one"\n  → search two\n→ research "x"\nsearch "y"\n'
    assert arrow_lines(text) == ['-> search "one"', "→ search two"]
    assert is_arrow('  -> SEARCH "x"')
    assert not is_arrow("→ research")
    with pytest.raises(ArrowSyntaxError):
        arrow_requests(text)


@pytest.mark.parametrize(
    ("line", "command"),
    [
        ('- → search "x"', '→ search "x"'),
        ('  * -> search "x" max:3', '-> search "x" max:3'),
        ('`→ search "x"`', '→ search "x"'),
        ('- `-> search "x"`', '-> search "x"'),
        ('```\n→ SEARCH "x"\n```', '→ SEARCH "x"'),
        ("-> search engines are many", "-> search engines are many"),
        ('→ search "x" and see', '→ search "x" and see'),
    ],
)
def test_forms_of_a_command_in_a_text(line, command):
    """As models write them: an item of a list, code, and prose that begins like a command."""
    assert arrow_lines(line) == [command]


def test_prose_that_begins_like_a_command_is_told_its_mistake(service):
    """With the place, and nothing is searched for."""
    told = asyncio.run(answer_arrow(service, "-> search engines are many"))
    assert told.splitlines() == [
        "Search failed: The query stands between quotation marks.",
        "-> search engines are many",
        "          ^",
    ]


@pytest.mark.parametrize("line", ['-> find "x"', '=> search "x"', '→ "x"', "➜ search „x“"])
def test_what_is_nearly_a_command_is_none_that_is_searched_for(line):
    """The person is told how a command is written."""
    assert is_arrow(line)
    with pytest.raises(ArrowSyntaxError, match='A search is written → search "query"'):
        parse_arrow(line)


@pytest.mark.parametrize(
    "line",
    [
        '**→ search "a b"**',
        '1. → search "a b"',
        '2) **`→ search "a b"`**',
        '+ → search "a b"',
        '→\u00a0search\u00a0"a b"',
        '\u3000→ search "a b"',
    ],
)
def test_a_command_inside_markdown_is_found(line):
    """As models write them: items, quotations, emphasis, code, other blanks."""
    assert [one.query for one in arrow_requests(f"Let me look.\n{line}\n")] == ["a b"]


def test_a_query_may_have_backticks():
    """They are a part of the query, not code around the command."""
    (request,) = arrow_requests('→ search "what does `await` do" max:2')
    assert request.query == "what does `await` do"


@pytest.mark.parametrize("line", ['⇒ search "a"', '=> search("a")', '- → web_search "a"'])
def test_a_model_is_told_of_what_is_nearly_a_command(line):
    """Else its loop would end with the command as its answer."""
    (found,) = arrow_lines(line)
    with pytest.raises(ArrowSyntaxError, match='A search is written → search "query"'):
        parse_arrow(found)


@pytest.mark.parametrize(
    "line",
    [
        '`-> search "x"` is how a search is written.',
        "**→ search** is a command.",
        'I would → search "x".',
        '> → search "x"',
        "-> searching helps",
        '-> find "x"',
        'A => "x"',
        '=> "as the page says"',
        '→ research "x"',
        "=> searching is slow",
        "",
        "> ",
    ],
)
def test_a_sentence_about_a_search_is_no_command(line):
    """The command stands alone in its line."""
    assert arrow_lines(line) == []
