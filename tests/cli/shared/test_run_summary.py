"""A run's output as lines for people."""

from __future__ import annotations

from typing import Any

import pytest

from collection_search.cli.shared import live_hint as live
from collection_search.cli.shared.next_steps import next_steps, run_options, shell_command
from collection_search.cli.shared.run_exit_code import exit_verdict
from collection_search.cli.shared.run_summary import (
    format_ingestion,
    format_search,
    format_warnings,
    score_rows,
)


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
        ("No such host.", "lexical", "so words were compared instead: No such host."),
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


def member(name: str, **facts: Any) -> dict[str, Any]:
    """Return what the telemetry says of one embedder."""
    usual = {"embedder": name, "counts": True, "input_tokens": 9, "cost_usd": 0.0}
    return usual | {"not_used": None, "error": None} | facts


def ranked_by(*members: dict[str, Any], flags: list[str]) -> dict[str, Any]:
    """Return a run's output with these embedders."""
    facts = {"embedder": " + ".join(each["embedder"] for each in members), "embedders": members}
    return output("search_completed") | {
        "flags": flags,
        "search": {"errors": [], "provider": "offline", "provider_reason": "asked for"},
        "strategy": {"error": None, "fallback": True, "queries": ["a"]},
        "telemetry": {"nodes": {"k_embedding_rank": facts}},
    }


def test_a_model_that_was_not_used_is_told() -> None:
    """With the reason, and what took its place."""
    refused = member("local:b", counts=False, input_tokens=0, not_used="it tells nothing apart")
    alone = ranked_by(refused, flags=["model_not_used"])
    assert list(format_warnings(alone)) == [
        "local:b was not used, words were compared: it tells nothing apart"
    ]
    assert "Similarity: lexical, from the words alone, instead of local:b" in format_search(alone)
    both = ranked_by(member("openai:a"), refused, flags=["model_not_used"])
    assert list(format_warnings(both)) == [
        "local:b was not used, the others were used: it tells nothing apart"
    ]
    lines = list(format_search(both))
    assert lines[-3:] == [
        "Similarity: openai:a + local:b",
        "  openai:a: 9 tokens, free",
        "  local:b: free, left out",
    ]


def test_a_member_that_failed_is_told() -> None:
    """The others' similarities counted."""
    failed = member("local:b", counts=False, cost_usd=None, error="down")
    result = ranked_by(member("openai:a"), failed, flags=["embedding_degraded"])
    assert list(format_warnings(result)) == ["local:b was left out: down"]
    assert "  local:b: 9 tokens, price not known, left out" in format_search(result)


def premium_output(**facts: object) -> dict[str, object]:
    counts = {"judge": "m", "judged_count": 3, "raised_count": 1, "lowered_count": 2, "error": None}
    ended = output("search_completed")
    ended["search"] |= {"provider": "p", "provider_reason": "why"}
    ended["strategy"] |= {"fallback": True, "queries": []}
    return ended | {"telemetry": {"nodes": {"k_premium_rank": counts | facts}}}


@pytest.mark.parametrize(
    ("facts", "line"),
    [
        ({}, "Judged: 3 unsure pages by m: 1 raised, 2 lowered"),
        ({"judged_count": 0}, "Judged: 0 unsure pages by m"),
        ({"notice": "No page was judged."}, "Note: No page was judged."),
    ],
)
def test_what_the_judge_changed_is_told(facts: dict[str, object], line: str) -> None:
    """Or that there was nobody to judge."""
    assert line in list(format_search(premium_output(**facts)))


def test_a_judge_that_failed_is_a_warning() -> None:
    """With its cause; nothing says then that pages were judged."""
    failed = premium_output(judged_count=0, error="It is down.") | {"flags": ["premium_degraded"]}
    (line,) = format_warnings(failed)
    assert line.endswith("keep their score: It is down.")
    assert not [line for line in format_search(failed) if line.startswith("Judged")]


def test_the_judgement_of_a_page_is_its_third_line() -> None:
    """In the width of the terminal, without its control characters."""
    page = {
        "title": "T",
        "url": "https://example.com/",
        "embedding_rank_score": 90.0,
        "embedding_similarity": 0.5,
        "heuristic_score": 0.0,
        "explanation": {
            "addends": [{"name": "judge", "points": 18.456, "reason": "Says\x1b[31m how. " * 20}]
        },
    }
    ((*_, judged),) = score_rows([page], threshold=60, width=80)
    assert judged.startswith("     judged +18.5: Says")
    assert len(judged) == 80
    assert "\x1b" not in judged


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
        "explanation": {"sentence": "It has none of the question's 3 words."},
    }
    ((scores, url, why),) = score_rows([page], threshold=60, width=80)
    assert why == "It has none of the question's 3 words."
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
    ended["ingestion"] = {"threshold": 50.0, "error": {"message": "Ask more precisely."}}
    code, sentence = exit_verdict(ended, waited=True)
    assert code == 3
    assert sentence is not None
    assert "openai:m failed" in sentence
    assert "It cannot be reached." in sentence
    assert sentence.endswith(", or with --embeddings lexical.")
    assert "precisely" not in sentence
    facts |= {"error": None}
    assert exit_verdict(ended, waited=True)[1] == "Nothing was ingested. Ask more precisely."


def test_the_next_command_keeps_what_decides_what_is_ingested() -> None:
    """Criteria, minimum score and ceiling: copied, it vets like the run before it."""
    given = {"criteria": ["It names: price", "It is new"], "auto_ingest_min_score": 70.0}
    options = {**run_options(given | {"purpose": "collection_search"}), "max-cost": "1"}
    assert shell_command("run", "Q?", **options) == (
        "collection-search run 'Q?' --criterion 'It names: price' --criterion 'It is new'"
        " --min-score 70 --max-cost 1"
    )
