"""`run --criterion`: what every page must meet, on the command line."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest
from support.judging_model import JudgingModel

from collection_search.testing import OpenAIServer
from collection_search.testing.openai_protocol import RawReply, completion_body

if TYPE_CHECKING:
    from collections.abc import Iterator

    from support.command_line import Invoke

    from collection_search.testing.openai_server import ReceivedRequest

CRITERIA = ("--criterion", "It names: timeout", "--criterion", "It is about: unicorns")


class JudgingServer(OpenAIServer):
    """It plans by script, and judges by the words of the pages."""

    def _answer(self, request: ReceivedRequest) -> RawReply:
        asked = request.body["messages"][-1]["content"]
        if '"criteria"' not in asked:
            return super()._answer(request)
        self.requests.append(request)
        return RawReply.json(completion_body(request, JudgingModel().reply(asked), (1_000, 100)))


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[JudgingServer]:
    with JudgingServer({"queries": ["one asyncio", "two asyncio", "three asyncio"]}) as server:
        monkeypatch.setenv("OPENAI_API_KEY", "sk-of-the-test")
        monkeypatch.setenv("OPENAI_BASE_URL", server.base_url)
        yield server


def shown(out: str) -> list[str]:
    return [line.strip() for line in out.splitlines()]


@pytest.mark.parametrize("options", [(), ("--estimate",), ("--review",)])
def test_without_a_model_it_is_wrong_input(run: Invoke, options: tuple[str, ...]) -> None:
    """One sentence, and nothing is searched."""
    ended = run(*CRITERIA, *options)
    assert ended.code == 2
    assert ended.out == ""
    assert "The criteria need a model that can chat" in ended.err
    assert "Web Search" not in ended.err


@pytest.mark.slow
def test_verdicts_and_refusals_are_shown(run: Invoke, server: JudgingServer) -> None:
    """Per page, with the reason, and with calls and cost per page."""
    ended = run("--model", "openai:gpt-4o-mini", "--auto-ingest", *CRITERIA)
    assert ended.code == 3
    lines = shown(ended.out)
    assert "Criteria, judged by gpt-4o-mini:" in lines
    assert "1  It names: timeout" in lines
    (judged,) = [line for line in lines if " a page)" in line]
    assert " pages in " in judged
    assert any(line.startswith("criteria: 1 yes, 2 unclear (by the ") for line in lines)
    assert any(line.startswith("refused: It is unclear whether it meets") for line in lines)
    assert "the criteria refuse all" in ended.err
    assert all(len(line) <= 80 for line in ended.out.splitlines() if "criteria:" in line)


@pytest.mark.slow
def test_json_has_the_verdicts(
    run: Invoke, server: JudgingServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With the setting that keeps unclear pages nothing is refused here."""
    monkeypatch.setenv("COLLECTION_SEARCH_CRITERIA_UNCLEAR", "keep")
    ended = run("--model", "openai:gpt-4o-mini", "--auto-ingest", "--json", *CRITERIA)
    assert ended.code == 0
    output: dict[str, Any] = json.loads(ended.out)
    first = output["results"][0]["criteria"]
    assert [one["verdict"] for one in first["verdicts"]] == ["yes", "unclear"]
    assert not any(one["criteria"]["refused"] for one in output["results"])
    facts = output["telemetry"]["nodes"]["k_check_criteria"]
    calls = [one for one in server.requests if "criteria" in str(one.body["messages"][-1])]
    assert facts["call_count"] == len(calls)
    assert facts["cost_per_page_usd"] > 0


@pytest.mark.slow
def test_the_estimate_counts_the_calls(run: Invoke, server: JudgingServer) -> None:
    """Nobody is asked for it."""
    ended = run("--model", "openai:gpt-4o-mini", "--estimate", *CRITERIA)
    assert ended.code == 0
    (line,) = [line for line in shown(ended.out) if line.startswith("criteria ")]
    assert "in 4 calls at most" in line
    assert server.requests == []


@pytest.mark.parametrize("criterion", ["", "  ", "?", "x" * 301])
def test_a_criterion_must_say_something(run: Invoke, criterion: str) -> None:
    """An empty one is wrong input."""
    ended = run("--criterion", criterion)
    assert ended.code == 2
    assert "criteri" in ended.err
