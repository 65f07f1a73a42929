"""A run's output as lines for people."""

from __future__ import annotations

from typing import Any

import pytest

from collection_search.cli.shared import live_hint as live
from collection_search.cli.shared.next_steps import next_steps, shell_command
from collection_search.cli.shared.run_exit_code import exit_verdict
from collection_search.cli.shared.run_summary import format_ingestion, format_warnings, score_rows


def output(outcome: str, **status: int) -> dict[str, Any]:
    """The parts of a graph's output that tell how the run ended."""
    counts = {"stored": 0, "failed": 0, "pending": 0, "to_fetch": 0} | status
    return {
        "outcome": outcome,
        "question": "Why?",
        "search": {"errors": []},
        "strategy": {"error": None},
        "flags": [],
        "ingestion": {"ticket": "t", "count": 3, "status": counts, "error": None},
    }


@pytest.mark.parametrize(
    ("status", "waited", "code"),
    [
        ({"stored": 3}, True, 0),
        ({"stored": 2, "failed": 1}, True, 5),
        ({"stored": 1, "to_fetch": 2}, True, 5),
        ({"stored": 1, "pending": 2}, True, 5),
        ({"pending": 3, "to_fetch": 2}, False, 0),
        ({"stored": 2, "failed": 1}, False, 5),
    ],
)
def test_an_ingestion_that_failed_in_part_is_5(
    status: dict[str, int], waited: bool, code: int
) -> None:
    """Failed pages are a failure, those that are left are one if they were waited for."""
    found, sentence = exit_verdict(output("auto_ingest_triggered", **status), waited=waited)
    assert found == code
    assert (sentence is None) is (code == 0)


def test_a_trigger_that_failed_is_5() -> None:
    """Nothing was accepted: the cause is the sentence."""
    ended = output("auto_ingest_trigger_failed")
    ended["ingestion"] = {"ticket": None, "error": {"message": "The disk is full."}}
    assert exit_verdict(ended, waited=True) == (5, "The disk is full.")


def test_texts_that_could_not_be_kept_are_a_warning() -> None:
    """The flag becomes a line that says what it means."""
    (line,) = format_warnings(output("search_completed") | {"flags": ["staging_failed"]})
    assert "cannot be ingested" in line


@pytest.mark.parametrize(
    ("error", "scale", "says"),
    [
        ("No such host.", "dense", "similarity counts as 0 and heuristics alone decide: No such"),
        (None, "lexical", "the scale of openai:m is not known, so words were compared instead"),
        (None, "dense", "could not embed every page: similarity counts as 0 for some"),
    ],
)
def test_what_stood_in_for_the_model_is_told(error: str | None, scale: str, says: str) -> None:
    """Nothing where the model failed, and why; the words where only its scale is missing."""
    facts = {"embedder": "openai:m", "error": error}
    degraded = {
        "flags": ["embedding_degraded"],
        "results": [{"explanation": {"scale": scale}}],
        "telemetry": {"nodes": {"k_embedding_rank": facts}},
    }
    (line,) = format_warnings(output("search_completed") | degraded)
    assert says in line


def test_no_next_step_after_a_failure() -> None:
    """Where nothing was found there is nothing to ask."""
    assert not list(
        next_steps(
            output("no_candidates") | {"ingestion": None}, collection="c", tenant=None, chosen={}
        )
    )


def test_a_title_is_cut_to_the_terminal() -> None:
    """The line of scores fits the width; the address is never cut."""
    page = {
        "title": "T" * 200,
        "url": "https://example.com/" + "u" * 200,
        "embedding_rank_score": 100.0,
        "embedding_similarity": -1.0,
        "heuristic_score": 0.0,
    }
    ((scores, url),) = score_rows([page], width=80)
    assert len(scores) == 80
    assert scores.endswith("…")
    assert url.endswith("u" * 200)


def test_a_printed_command_can_be_pasted() -> None:
    """Quotes and dollar signs of a question reach the command unharmed."""
    assert shell_command("ask", "What's $HOME?", collection="py", tenant="a b") == (
        "collection-search ask 'What'\"'\"'s $HOME?' --collection py --tenant 'a b'"
    )


@pytest.mark.parametrize(
    ("status", "is_hinted"),
    [
        ({"stored": 1}, True),
        ({"pending": 3}, True),
        ({"to_fetch": 3}, True),
        ({"failed": 3}, False),
    ],
)
def test_a_collection_without_pages_is_not_worth_a_question(
    status: dict[str, int], is_hinted: bool
) -> None:
    """The next step is one that can work."""
    ended = output("auto_ingest_triggered", **status)
    steps = "\n".join(next_steps(ended, collection="py", tenant=None, chosen={}))
    assert ("ask" in steps) is is_hinted


def test_a_lowered_threshold_is_told() -> None:
    """Who asked for 99 and got pages from 50 on learns why."""
    ended = output("auto_ingest_triggered", stored=3) | {"auto_ingest_min_score": 99.0}
    ended["ingestion"] |= {"collection": "py", "threshold": 50.0}
    assert "those from 50 on were taken" in "\n".join(format_ingestion(ended))
    ended["ingestion"] |= {"threshold": 99.0}
    assert "were taken" not in "\n".join(format_ingestion(ended))


def test_what_changed_is_told_unless_all_is_new() -> None:
    """Beside how many pages are stored."""
    counts = {"stored": 3, "failed": 0, "pending": 0, "to_fetch": 0, "retired": 1}
    status = {**counts, "new": 1, "changed": 0, "unchanged": 2}
    receipt: dict[str, Any] = {"collection": "tea", "count": 4, "status": status}
    (line,) = format_ingestion({"ingestion": receipt})
    assert line == "Collection tea: 3 of 4 pages stored (1 new, 2 unchanged), 1 gone"
    receipt["status"] = {**counts, "new": 3, "changed": 0, "unchanged": 0}
    (line,) = format_ingestion({"ingestion": receipt})
    assert line == "Collection tea: 3 of 4 pages stored, 1 gone"


def test_what_lacks_its_extra_is_not_installed(monkeypatch: pytest.MonkeyPatch) -> None:
    """The extra is named instead."""
    output = {
        "telemetry": {"nodes": {"k_embedding_rank": {"embedder": "lexical"}}},
        "search": {"provider": "offline"},
        "strategy": {"model": "openai:x"},
    }
    monkeypatch.setattr(live, "find_spec", lambda _: None)
    _, provider, embeddings = live.suggest_live_settings(output)
    assert "; ddgs with the extra [ddgs])" in provider
    assert "ddgs," not in provider
    assert embeddings.endswith("(installed: openai; local with the extra [local])")
    monkeypatch.setattr(live, "find_spec", lambda _: object())
    assert list(live.suggest_live_settings(output))[2].endswith("(installed: local, openai)")
    assert not list(live.suggest_live_settings(output | {"search": {"provider": "tavily"}}))


def test_an_embedder_out_of_reach_is_the_cause() -> None:
    """Nothing can reach a threshold then: no other words would help."""
    facts = {"embedder": "openai:m", "error": "It cannot be reached."}
    ended = output("auto_ingest_failed_quality_threshold") | {
        "flags": ["embedding_degraded"],
        "telemetry": {"nodes": {"k_embedding_rank": facts}},
    }
    ended["ingestion"] = {"error": {"message": "Ask more precisely."}}
    code, sentence = exit_verdict(ended, waited=True)
    assert code == 3
    assert sentence is not None
    assert "openai:m failed" in sentence
    assert "It cannot be reached." in sentence
    assert "precisely" not in sentence
    facts |= {"error": None}
    assert exit_verdict(ended, waited=True)[1] == "Nothing was ingested. Ask more precisely."
