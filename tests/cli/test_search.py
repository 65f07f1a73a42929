"""`collection-search search`: the worker on the command line."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Any

import pytest

from collection_search.settings.process_defaults import process_settings
from collection_search.testing import ProviderServer
from collection_search.testing.providers.json_endpoint import JsonEndpoint

if TYPE_CHECKING:
    from pathlib import Path

    from support.command_line import Invoke


def test_results_are_numbered_with_their_addresses(command: Invoke) -> None:
    """Each result shows place, title, address and snippet; stderr says where was searched."""
    ended = command("search", "cancel a task", "--provider", "scripted", "--max-results", "2")
    assert ended.code == 0
    assert ended.out.count("https://") == 2
    assert "  1  asyncio — How to cancel" in ended.out
    assert ended.err == "Searched: scripted (asked for)\nCost: not known\n"


def test_json_is_the_workers_response(command: Invoke) -> None:
    """Results and outcome as the worker returns them, without the pages' texts."""
    ended = command(
        "search", "cancel a task", "--provider", "scripted", "--tenant", "acme", "--json"
    )
    assert ended.err == ""
    assert ended.json.keys() == {"results", "outcome"}
    assert len(ended.json["results"]) == 10
    assert "content" not in ended.json["results"][0]
    assert ended.json["outcome"]["decision"] == "ok"
    assert ended.json["outcome"]["meta"]["tenant_id"] == "acme"


@pytest.mark.slow
@pytest.mark.parametrize(("provider", "code"), [("empty", 3), ("refusing", 4)])
@pytest.mark.parametrize("form", [(), ("--json",)])
def test_nothing_found_and_a_failure_are_told_apart(
    command: Invoke, provider: str, code: int, form: tuple[str, ...]
) -> None:
    """No result is 3, a failed provider 4, with one sentence, in either form."""
    ended = command("search", "cancel a task", "--provider", provider, *form)
    assert ended.code == code
    assert len(ended.complaints) == 1


def test_options_reach_the_search_and_what_became_of_them_is_told(command: Invoke) -> None:
    """In sentences, on standard error, and the results fit."""
    ended = command(
        *("search", "cancel a task", "--provider", "scripted", "--restrict", "--deep"),
        *("--include", "docs.example.com,docs.example.org", "--include", "example.net"),
        *("--topic", "news"),
    )
    assert ended.code == 0
    assert "example.com/potato" not in ended.out
    assert ended.out.count("https://docs.example.com/") == 5
    dropped = "is no option of scripted: results that do not fit were dropped"
    assert ended.err.splitlines()[2:] == [
        "search_depth=deep is no option of scripted and was done in another way",
        f"include_domains=docs.example.com,docs.example.org,example.net {dropped}",
        "topic=news is not supported by scripted and was left out",
        f"domain_mode=restrict {dropped}",
    ]


def test_an_option_that_the_provider_has_is_told(
    command: Invoke, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With the provider's name."""
    with ProviderServer("openalex") as server:
        monkeypatch.setenv("OPENALEX_BASE_URL", server.base_url)
        wishes = ("--language", "EN", "--topic", "news")
        ended = command("search", "asyncio", "--provider", "openalex", *wishes)
    assert "\nlanguage=en was applied by openalex\n" in ended.err
    assert "\ntopic=news is not supported by openalex and was left out\n" in ended.err


def test_json_tells_what_was_applied(command: Invoke) -> None:
    """Of what was asked for, and of nothing else; texts come when they are asked for."""
    ended = command(
        *("search", "cancel a task", "--provider", "scripted", "--json", "--content"),
        *("--exclude", "docs.example.com", "--topic", "news", "--freshness", "week"),
        *("--language", "DE", "--country", "de"),
    )
    assert {name: told["requested"] for name, told in ended.json["applied"].items()} == {
        "exclude_domains": ["docs.example.com"],
        "topic": "news",
        "include_content": True,
        "freshness": "week",
        "language": "de",
        "country": "DE",
    }
    assert ended.json["applied"]["exclude_domains"]["applied"] == "post_filtered"
    assert ended.json["outcome"]["meta"]["options"] == ended.json["applied"]
    assert {result["content"] for result in ended.json["results"]} == {None}


def test_texts_are_printed_when_they_are_asked_for(command: Invoke) -> None:
    """With --json and --content."""
    ended = command("search", "cancel a task", "--provider", "scripted", "--json", "--content")
    texts = [result["content"] for result in ended.json["results"]]
    assert "asyncio.wait_for" in texts[0]


@pytest.mark.parametrize(
    ("flags", "named"),
    [
        (("--freshness", "decade"), "--freshness 'decade'"),
        (("--topic", "sport"), "--topic 'sport' cannot be used: give general or news."),
        (("--language", "german"), "--language 'german'"),
        (("--country", "Germany"), "--country 'Germany'"),
        (("--country", "ß"), "--country 'ß'"),
        (("--language", "d3"), "--language 'd3' cannot be used: give two letters, such as de."),
        (("--include", "a.org,nowhere"), "--include 'nowhere'"),
        (("--exclude", "https://a.org/path"), "--exclude 'https://a.org/path'"),
        (("--restrict",), "--restrict needs domains"),
        (("--restrict", "--include", " , "), "--restrict needs domains"),
    ],
)
def test_a_wrong_option_is_named(command: Invoke, flags: tuple[str, ...], named: str) -> None:
    """Exit code 2, one sentence, and no search."""
    ended = command("search", "cancel a task", "--provider", "scripted", *flags)
    assert ended.code == 2
    assert named in ended.complaints[0]
    assert len(ended.complaints) == 1


def test_what_narrowed_a_search_that_found_nothing_is_told(command: Invoke) -> None:
    """Leaving it out may help more than other words."""
    wishes = ("--freshness", "month", "--language", "de")
    ended = command("search", "asyncio", "--provider", "empty", *wishes)
    assert ended.code == 3
    assert ended.complaints[0].endswith("Or leave out --freshness, --language.")
    assert "leave out" not in command("search", "asyncio", "--provider", "empty").err


def test_a_country_is_two_letters(command: Invoke) -> None:
    """The sentence says what is wanted."""
    ended = command("search", "asyncio", "--country", "germany")
    assert ended.code == 2
    assert ended.complaints[0].endswith(
        "--country 'germany' cannot be used: give two letters, such as DE."
    )


@pytest.mark.slow
@pytest.mark.parametrize(
    ("changes", "code", "told"),
    [
        ({}, 0, "Searched: intranet (asked for)"),
        ({"results": "data.rows"}, 4, "at 'data.rows' (HTTP 200): data has the keys items, total"),
        ({"resutls": "x"}, 2, "json_api.resutls: there is no such setting; did you mean results?"),
    ],
)
def test_a_described_endpoint_is_searched_by_its_name(
    command: Invoke,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    *,
    changes: dict[str, Any],
    code: int,
    told: str,
) -> None:
    """From the settings file alone; a mistake in it is told with its place."""
    with ProviderServer(JsonEndpoint()) as server:
        access = {"api_key": server.key, "base_url": server.base_url}
        access["json_api"] = {**JsonEndpoint.description, **changes}  # type: ignore[assignment]
        file = tmp_path / "described.yaml"
        file.write_text(json.dumps({"providers": {"intranet": access}}))  # which is YAML too
        monkeypatch.setenv("COLLECTION_SEARCH_CONFIG", str(file))
        ended = command("search", "asyncio", "--provider", "intranet", "--max-results", "2")
    assert ended.code == code
    assert told in ended.err
    assert ended.out.count("https://") == (2 if code == 0 else 0)
    assert server.key not in ended.err


RETURN_FORMAT = """\
Search: "cancel a task"
2 results (MSms)

[1] "asyncio — How to cancel"""


@pytest.mark.parametrize("arrow", ["→", "->"])
def test_an_arrow_command_is_a_query(command: Invoke, arrow: str) -> None:
    """In both spellings, its options applied, answered in its return format."""
    line = f'{arrow} search "cancel a task" max:2 include:docs.example.com'
    ended = command("search", line, "--provider", "scripted")
    assert ended.code == 0
    shown = re.sub(r"\(\d+ms\)", "(MSms)", ended.out)
    assert shown.startswith(RETURN_FORMAT)
    assert re.search(r'^\[2\] ".+" — docs\.example\.com$', ended.out, re.MULTILINE)
    assert "[3]" not in ended.out
    assert ended.out.endswith('Use → search "query" depth:deep for full content extraction.\n')
    assert ended.err.startswith("Searched: scripted (asked for)\n")
    assert "include_domains=docs.example.com is no option of scripted and was done" in ended.err


def test_a_deep_arrow_command_is_answered_in_full(command: Invoke) -> None:
    """Without the hint to search deeply."""
    line = '-> search "cancel a task" max:1 depth:deep'
    ended = command("search", line, "--provider", "scripted")
    assert ended.code == 0
    assert "\n## Result 1: asyncio — How to cancel" in ended.out
    assert "\nSource: https://" in ended.out
    assert "asyncio.wait_for" in ended.out
    assert "depth:deep" not in ended.out


def test_an_arrow_command_as_json(command: Invoke) -> None:
    """The same as of any other search, with what was applied."""
    line = '-> search "cancel a task" max:2 topic:news'
    ended = command("search", line, "--provider", "scripted", "--json")
    assert (ended.code, ended.err) == (0, "")
    assert len(ended.json["results"]) == 2
    assert ended.json["applied"]["topic"]["requested"] == "news"


def test_an_arrow_command_without_max_takes_the_settings(
    command: Invoke, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The specified five, or `default_max_results`; not the ten of a usual search."""
    line = '-> search "cancel a task"'
    assert "\n5 results (" in command("search", line, "--provider", "scripted").out
    monkeypatch.setenv("COLLECTION_SEARCH_DEFAULT_MAX_RESULTS", "3")
    process_settings.cache_clear()
    assert "\n3 results (" in command("search", line, "--provider", "scripted").out


@pytest.mark.parametrize(
    "flags", [("--max-results", "3"), ("--deep",), ("--include", "a.org"), ("--topic", "news")]
)
def test_an_arrow_command_with_flags_is_refused(command: Invoke, flags: tuple[str, ...]) -> None:
    """Nobody could know which of them counts."""
    ended = command("search", '-> search "x" max:2', "--provider", "scripted", *flags)
    assert (ended.code, ended.out) == (2, "")
    assert "An arrow command has its own options" in ended.complaints[0]


@pytest.mark.parametrize(
    ("line", "told", "part"),
    [
        ('→ search "x" depht:deep', "did you mean depth?", "depht"),
        ('-> search "x" max:99', "max:99 cannot be used. Write max:1 to max:10.", "99"),
        ("-> search x", "The query stands between quotation marks.", "x"),
    ],
)
def test_the_place_of_a_mistake_is_shown(command: Invoke, line: str, told: str, part: str) -> None:
    """Below the line, as compilers do; exit code 2."""
    ended = command("search", line, "--provider", "scripted")
    assert (ended.code, ended.out) == (2, "")
    message, shown, mark = ended.err.splitlines()
    assert message.startswith("collection-search: ")
    assert message.endswith(told)
    assert shown == line.replace("->", "→")
    assert mark == " " * shown.rindex(part) + "^"


def test_an_arrow_command_that_finds_nothing(command: Invoke) -> None:
    """Exit code 3, as of any other search; a failure is 4 and shows no empty reply."""
    line = '-> search "asyncio"'
    ended = command("search", line, "--provider", "empty")
    assert ended.code == 3
    assert "\n0 results (" in ended.out
    failed = command("search", line, "--provider", "refusing")
    assert failed.code == 4
    assert "0 results" not in failed.out
