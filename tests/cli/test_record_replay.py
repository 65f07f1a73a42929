"""`--record` and `--replay`: what a command saw once, it sees again without anything live."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from support.scripted_world import QUESTION

if TYPE_CHECKING:
    from pathlib import Path

    from support.command_line import Ended, Invoke

RECORDED = ("--model", "planner", "--embeddings", "words")


@pytest.fixture
def tape(tmp_path: Path) -> str:
    return str(tmp_path / "run.jsonl")


@pytest.fixture
def again(command: Invoke, tape: str) -> Invoke:
    """Replay a run with nothing named and nothing set."""

    def invoke(*options: str, question: str = QUESTION) -> Ended:
        return command("run", question, "--collection", "py", "--replay", tape, *options)

    return invoke


def facts(output: dict[str, Any]) -> Any:
    """Return what a run found and what it cost."""
    nodes = output["telemetry"]["nodes"].values()
    counts = [{k: v for k, v in node.items() if k != "latency_ms"} for node in nodes]
    return output["results"], output["strategy"], output["flags"], counts


@pytest.mark.slow
def test_a_run_is_replayed_with_nothing_set(run: Invoke, again: Invoke, tape: str) -> None:
    """Provider, model and embedder are the recorded ones, and so are results, scores and costs."""
    run(*RECORDED)  # the first use of the embedder is measured, which a replay does not repeat
    live = run(*RECORDED, "--record", tape, "--json")
    played = again("--json")
    assert (live.code, played.code) == (0, 0)
    assert facts(played.json) == facts(live.json)
    assert played.json["search"]["provider"] == "scripted"
    assert played.json["search"]["provider_reason"].startswith("replayed from run.jsonl, recorded ")
    assert played.err == live.err == ""


@pytest.mark.slow
def test_the_output_says_so(run: Invoke, again: Invoke, tape: str) -> None:
    """People read where the recording is, and that what they see was replayed."""
    assert f"Recorded in {tape}; --replay {tape} plays it." in run("--record", tape).err
    played = again()
    assert "Searched: scripted (replayed from run.jsonl, recorded " in played.out
    assert f"Replayed from {tape}: nothing was sent anywhere." in played.err


@pytest.mark.slow
def test_what_is_replayed_can_be_ingested(
    run: Invoke, again: Invoke, command: Invoke, tape: str
) -> None:
    """Pages with their texts, and the vectors of their chunks, are on the cassette."""
    run(*RECORDED, "--auto-ingest", "--tenant", "first", "--record", tape)
    played = again("--auto-ingest", "--tenant", "second", "--json")
    assert played.code == 0
    status = played.json["ingestion"]["status"]
    assert status["stored"] == played.json["ingestion"]["count"] > 0


def test_another_question_is_a_wrong_input(run: Invoke, again: Invoke, tape: str) -> None:
    """Exit code 2 and a sentence that says what is not there."""
    run("--record", tape)
    ended = again(question="How do I cook soup?")
    assert ended.code == 2
    (complaint,) = ended.complaints
    assert "run.jsonl holds no search for 'How do I cook soup?'" in complaint
    assert "record anew" in complaint


@pytest.mark.slow
def test_what_is_not_recorded_costs_nothing(run: Invoke, again: Invoke, tape: str) -> None:
    """Nobody was asked, so nothing is spent, and nothing is unknown."""
    run(*RECORDED, "--record", tape)
    ended = again("--json", question="How do I cook soup?")
    assert ended.code == 2
    telemetry = ended.json["telemetry"]
    assert (telemetry["cost_usd"], telemetry["cost_complete"]) == (0.0, True)
    assert "Cost" not in again(question="How do I cook soup?").out


@pytest.mark.slow
def test_one_search_is_recorded_and_replayed(command: Invoke, tape: str) -> None:
    """The sub-command `search` has both options; its JSON says what was replayed."""
    live = command("search", "asyncio", "--provider", "scripted", "--record", tape, "--json")
    played = command("search", "asyncio", "--replay", tape, "--json")
    assert (live.code, played.code) == (0, 0)
    assert played.json["results"] == live.json["results"]
    assert played.json["replayed_from"] == tape
    other = command("search", "asyncio", "--max-results", "3", "--replay", tape)
    assert other.code == 2
    assert "holds no search for 'asyncio' with max_results 6" in other.complaints[0]


def test_a_recorded_failure_fails_again(command: Invoke, tape: str) -> None:
    """A refused key is told in the words of the recording."""
    live = command("search", "asyncio", "--provider", "refusing", "--record", tape)
    played = command("search", "asyncio", "--replay", tape)
    assert (live.code, played.code) == (4, 4)
    assert played.complaints == live.complaints


@pytest.mark.slow
@pytest.mark.usefixtures("offline_index")
def test_the_offline_corpus_is_recorded_but_not_opened_by_a_replay(
    command: Invoke, tape: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What was found in the documentation of one machine is found again on one without any."""
    folder = tmp_path / "docs"
    folder.mkdir()
    (folder / "soup.md").write_text("# Potato soup\n\nPeel the potatoes, let them simmer.\n" * 3)
    assert command("corpus", "add", str(folder)).code == 0
    live = command("search", "potato soup", "--provider", "offline", "--record", tape, "--json")
    assert live.json["results"]
    elsewhere = tmp_path / "elsewhere"
    monkeypatch.setenv("COLLECTION_SEARCH_HOME", str(elsewhere))
    played = command("search", "potato soup", "--replay", tape, "--json")
    assert played.json["results"] == live.json["results"]
    assert not [*elsewhere.glob("corpus*")]


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        (("--record", "{}", "--replay", "{}"), "--record and --replay exclude each other"),
        (("--replay", "{}"), "cannot be read: No such file or directory."),
        (("--record", "{}/deeper.jsonl"), "There is no folder"),
    ],
)
def test_wrong_options_are_told_before_anything_is_done(
    run: Invoke, tape: str, options: tuple[str, ...], sentence: str
) -> None:
    """Exit code 2, nothing is searched and no file is made."""
    ended = run(*(option.format(tape) for option in options))
    assert ended.code == 2
    (complaint,) = ended.complaints
    assert sentence in complaint


def test_a_recording_of_another_provider_is_refused(run: Invoke, again: Invoke, tape: str) -> None:
    """A provider that was asked for by name must be the recorded one."""
    run("--record", tape)
    ended = again("--provider", "tavily")
    assert ended.code == 2
    assert "recorded with another search provider than 'tavily': scripted" in ended.complaints[0]
