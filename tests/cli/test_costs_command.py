"""`costs`, `run --estimate` and `run --max-cost`: the bill on the command line."""

from __future__ import annotations

import re
from dataclasses import replace
from decimal import Decimal
from typing import TYPE_CHECKING, Any

import pytest
from support.paid_world import SEARCH_USD, PaidWorld

from collection_search.cli.costs import format_runs
from collection_search.ports.usage import SpendTotal
from collection_search.text.clean import MAX_QUERY_CHARS

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from support.command_line import Invoke

QUESTION = "How does asyncio work?"


@pytest.fixture
def world(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[PaidWorld]:
    with PaidWorld(tmp_path / "home") as world:
        monkeypatch.setenv("TAVILY_API_KEY", world.search.dialect.key)
        monkeypatch.setenv("TAVILY_BASE_URL", world.search.base_url)
        monkeypatch.setenv("OPENAI_API_KEY", "sk-of-the-test")
        monkeypatch.setenv("OPENAI_BASE_URL", world.models.base_url)
        monkeypatch.setenv("COLLECTION_SEARCH_MODEL", "openai:gpt-4o-mini")
        monkeypatch.setenv("COLLECTION_SEARCH_EMBEDDINGS", "openai:text-embedding-3-small")
        yield world


def asked(command: Invoke, *options: str) -> Any:
    return command("run", QUESTION, "--collection", "c", *options)


@pytest.mark.slow
def test_a_run_is_in_the_books(command: Invoke, world: PaidWorld) -> None:
    """By day, run and name, each with the same sum: the run's own."""
    ended = asked(command, "--json").json
    spent = ended["telemetry"]["cost_usd"]
    by_name = command("costs", "--by", "name", "--json").json
    assert [total["kind"] for total in by_name["totals"]] == ["chat", "embedding", "search"]
    parts = [Decimal(repr(total["cost_usd"])) for total in by_name["totals"]]
    assert float(sum(parts)) == by_name["cost_usd"] == spent
    [by_run] = command("costs", "--by", "run", "--json").json["totals"]
    [by_day] = command("costs", "--json").json["totals"]
    [alone] = command("costs", "--run", by_run["group"], "--json").json["totals"]
    assert by_run["cost_usd"] == by_day["cost_usd"] == alone["cost_usd"] == spent
    of_models = 3  # the plan, the texts, and at the first use of the embedder its anchors
    assert by_run["requests"] == len(world.search.requests) + of_models


def test_a_search_tells_what_it_cost(command: Invoke, world: PaidWorld) -> None:
    """As a run does: what was paid, and what was known from before."""
    told = [command("search", "asyncio").err.splitlines()[1] for _ in range(2)]
    assert told == ["Cost: $0.008", "Cost: $0.00 (1 search known from before)"]
    assert len(world.search.requests) == 1


def test_the_table_is_for_people(command: Invoke, world: PaidWorld) -> None:
    """A line each, and the sum."""
    command("search", "asyncio")
    ended = command("costs", "--by", "name")
    assert ended.out.split() == [
        *("search", "tavily", "$0.008", "1", "call"),
        *("in", "all", "$0.008"),
    ]
    assert len(world.search.requests) == 1


def test_a_run_is_told_with_its_time_and_question(command: Invoke, world: PaidWorld) -> None:
    """An id alone says nothing to people. What a setting masks elsewhere is masked here too."""
    command("search", "asyncio ann@example.com")
    [line, question, run, _] = command("costs", "--by", "run").out.splitlines()
    assert re.match(r"20\d\d-\d\d-\d\d \d\d:\d\d  \$0\.008  1 call$", line)
    assert question == "  asyncio [email]"
    assert re.match(r"  run-\w+$", run)
    alone = command("costs", "--run", run.strip(), "--json").json
    assert alone["totals"][0]["question"] == "asyncio [email]"
    assert world.search.requests


def test_a_question_that_is_not_to_be_captured_is_not_kept(
    command: Invoke, world: PaidWorld, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The time, the cost and the id are what is left."""
    monkeypatch.setenv("COLLECTION_SEARCH_CAPTURE_QUERY", "none")
    command("search", "asyncio")
    assert "\n  (its question is not kept)\n  run-" in command("costs", "--by", "run").out


def test_a_question_of_several_lines_is_told_in_one() -> None:
    """As a turn of a chat may be; a very long one is cut."""
    total = SpendTotal("run-1", first_at=0.0, requests=1, cost_usd=Decimal(1))
    _, question, run, _ = format_runs([replace(total, question="if x:\n    y\n\nWhy?")])
    assert (question, run) == ("  if x: y Why?", "  run-1")
    _, question, _, _ = format_runs([replace(total, question="why " * 5000)])
    assert len(question) <= MAX_QUERY_CHARS + 2


@pytest.mark.slow
def test_a_run_and_its_further_calls_have_one_question(command: Invoke, world: PaidWorld) -> None:
    """Of all stages of a run."""
    asked(command, "--provider", "tavily")
    [total] = command("costs", "--by", "run", "--json").json["totals"]
    assert total["question"] == QUESTION


def test_books_are_of_one_tenant(command: Invoke, world: PaidWorld) -> None:
    """Nobody sees what another one spent."""
    command("search", "asyncio", "--tenant", "acme")
    assert command("costs", "--tenant", "acme", "--json").json["cost_usd"] == SEARCH_USD
    ended = command("costs")
    assert (ended.code, ended.out) == (0, "Nothing was spent by local.\n")
    assert world.search.requests


def test_since_leaves_older_entries_out(command: Invoke, world: PaidWorld) -> None:
    """Hours, days, weeks, or from a day on."""
    command("search", "asyncio")
    for since, cost in (("1h", SEARCH_USD), ("2000-01-01", SEARCH_USD), ("2999-01-01", 0.0)):
        assert command("costs", "--since", since, "--json").json["cost_usd"] == cost
    assert world.search.requests


@pytest.mark.parametrize("since", ["yesterday", "30", "d", "2026-13-01", ""])
def test_a_wrong_since_is_told(command: Invoke, since: str) -> None:
    """With what can be written."""
    ended = command("costs", "--since", since)
    assert ended.code == 2
    assert "30d" in ended.err


def test_an_unknown_run_cost_nothing(command: Invoke) -> None:
    """It is no error: free runs are not in the books."""
    ended = command("costs", "--run", "no-such-run")
    assert (ended.code, ended.out) == (0, "Nothing was spent by local in the run no-such-run.\n")


def test_an_estimate_calls_nobody(command: Invoke, world: PaidWorld) -> None:
    """A line for each part, with the day of its price; the same as JSON."""
    ended = asked(command, "--estimate")
    assert ended.code == 0
    assert (world.models.requests, world.search.requests) == ([], [])
    [head, *parts] = ended.out.splitlines()
    assert head.startswith("The run would cost $0.024 to $0.0")
    assert [part.split()[0] for part in parts] == ["plan", "search", "rank", "anchors"]
    assert all("at prices of 20" in part for part in parts)
    told = asked(command, "--estimate", "--auto-ingest", "--json").json["estimate"]
    assert [part["task"] for part in told["parts"]] == [
        "plan",
        "search",
        "rank",
        "anchors",
        "ingest",
    ]
    assert told["low_usd"] < told["high_usd"]
    assert (world.models.requests, world.search.requests) == ([], [])


def test_an_estimate_knows_the_ceiling(command: Invoke, world: PaidWorld) -> None:
    """It says whether the run may reach it."""
    assert (
        "The ceiling of $0.01 may end it early."
        in asked(command, "--estimate", "--max-cost", "0.01").out
    )
    assert "ceiling" not in asked(command, "--estimate", "--max-cost", "1").out
    assert world.models.requests == []


def test_an_estimate_refuses_what_the_run_would(command: Invoke, world: PaidWorld) -> None:
    """A wrong input is told before, not after."""
    ended = command("run", " ", "--collection", "c", "--estimate")
    assert ended.code == 2
    assert world.models.requests == []


def test_a_free_run_says_so(command: Invoke) -> None:
    """Offline, without a model."""
    ended = asked(command, "--estimate", "--provider", "offline")
    assert "costs nothing" in ended.out


@pytest.mark.slow
def test_the_ceiling_ends_a_run_cleanly(command: Invoke, world: PaidWorld) -> None:
    """What was found is shown, what was not asked is told, with the way out."""
    ended = asked(command, "--max-cost", "0.0171")
    assert ended.code == 0
    assert len(world.search.requests) == 2
    assert "of $0.0171 at most" in ended.out
    unsent = [line for line in ended.warnings if "was not sent" in line]
    assert len(unsent) == 2
    assert all("raise max_cost_usd" in line for line in unsent)
    assert "  1  " in ended.out


def test_a_ceiling_that_allows_nothing_fails_the_search(command: Invoke, world: PaidWorld) -> None:
    """Exit code 4 with the cause."""
    ended = asked(command, "--max-cost", "0")
    assert ended.code == 4
    assert (world.models.requests, world.search.requests) == ([], [])
    [complaint] = ended.complaints
    assert "The ceiling of $0.00 does not allow" in complaint
    assert any("gpt-4o-mini was not asked" in line for line in ended.warnings)


@pytest.mark.slow
def test_pages_that_no_model_compared_are_told(command: Invoke, world: PaidWorld) -> None:
    """The embedder was not asked."""
    ended = asked(command, "--max-cost", "0.03203076")
    assert ended.code == 0
    assert any(
        "text-embedding-3-small was not asked, so words were compared" in line
        for line in ended.warnings
    )
    assert world.embedded == []


@pytest.mark.slow
def test_what_was_known_is_told(command: Invoke, world: PaidWorld) -> None:
    """The second time the plan and the pages are not paid for."""
    asked(command)
    world.forget()
    ended = asked(command)
    assert world.models.requests == []
    [cost] = [line for line in ended.out.splitlines() if line.startswith("Cost: ")]
    assert "1 plan" in cost
    assert "known from before" in cost


def test_a_price_that_the_ceiling_does_not_know_is_told(run: Invoke) -> None:
    """It cannot count it."""
    ended = run("--max-cost", "0.5", "--embeddings", "lexical")
    assert any("the ceiling does not count what scripted takes" in line for line in ended.warnings)
