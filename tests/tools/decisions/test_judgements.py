"""Decisions as a labelled data set."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.decided_reviews import TENANT, decide_review

from collection_search.tools.decisions.history import DecidedPage, PersonDecision, list_decisions
from collection_search.tools.decisions.judgements import JudgementCounts, write_judgements
from collection_search.tools.evaluation.beir import load_dataset


def rows(path):
    return [json.loads(line) for line in path.read_text().splitlines()]


def page(**facts):
    known = {
        "url": "https://docs.example.com/a",
        "title": "A",
        "snippet": "About a.",
        "score": 70.0,
        "scale": ("lexical", None),
        "is_approved": True,
    }
    return DecidedPage(**(known | facts))


def decision(*pages, gate_id="gate-1"):
    at = "2026-11-23T12:00:00Z"
    return PersonDecision(gate_id, "docs", "What is a?", "ann", at, tuple(pages), ())


def test_the_evaluation_reads_it(store, tmp_path):
    """Every question, also one without an approved page, and their pages with addresses."""
    decide_review(store, "g1", {"a": (90, True), "b": (70, False)})
    decide_review(store, "g2", {"c": (80, False)})
    folder = tmp_path / "decided"
    counts = write_judgements(list_decisions(store.gates, TENANT), folder)
    assert counts == JudgementCounts(questions=2, answerable=1, pages=3, approved=1, rejected=2)
    dataset = load_dataset(folder)
    question, empty_handed = sorted(dataset.questions, key=lambda one: one.id)
    assert (question.id, question.text) == ("g1", "What is g1?")
    assert (empty_handed.id, dict(empty_handed.grades)) == ("g2", {})
    by_id = {entry.id: entry for entry in dataset.entries()}
    ((relevant, grade),) = question.grades.items()
    assert grade == 1
    assert by_id[relevant].url == "https://docs.example.com/a"
    assert (by_id[relevant].title, by_id[relevant].text) == ("About a", "What a is.")
    assert len(by_id) == 3


def test_pools_are_what_people_saw(tmp_path):
    """In that order; a page without a verdict has no grade."""
    shown = (
        page(url="https://b.example/", is_approved=None),
        page(),
        page(title="Z", is_approved=False),
    )
    write_judgements([decision(*shown)], tmp_path / "decided")
    (pool,) = rows(tmp_path / "decided" / "pools.jsonl")
    urls = {
        row["_id"]: row["metadata"]["url"] for row in rows(tmp_path / "decided" / "corpus.jsonl")
    }
    assert pool["query-id"] == "gate-1"
    assert [urls[each] for each in pool["pool"]] == [one.url for one in shown]
    header, *lines = (tmp_path / "decided" / "qrels" / "test.tsv").read_text().splitlines()
    assert header == "query-id\tcorpus-id\tscore"
    assert [line.split("\t") for line in lines] == [
        ["gate-1", pool["pool"][1], "1"],
        ["gate-1", pool["pool"][2], "0"],
    ]


def test_the_same_page_has_the_same_id_everywhere(tmp_path):
    """It stands in the corpus once; another text of the address is another page."""
    decisions = [decision(page()), decision(page(), page(snippet="Other."), gate_id="gate-2")]
    write_judgements(decisions, tmp_path / "one")
    write_judgements(decisions[:1], tmp_path / "two")
    (first, second) = rows(tmp_path / "one" / "corpus.jsonl")
    assert [first] == rows(tmp_path / "two" / "corpus.jsonl")
    assert first["_id"] != second["_id"]


def test_nobody_s_name_is_written(tmp_path):
    write_judgements([decision(page())], tmp_path / "decided")
    files = [path for path in (tmp_path / "decided").rglob("*") if path.is_file()]
    assert len(files) == 4
    assert not any("ann" in path.read_text() for path in files)


def test_a_folder_with_files_is_kept(tmp_path):
    write_judgements([decision(page())], tmp_path / "decided")
    before = (tmp_path / "decided" / "corpus.jsonl").read_text()
    with pytest.raises(FileExistsError):
        write_judgements([decision(page(title="Other"))], tmp_path / "decided")
    assert (tmp_path / "decided" / "corpus.jsonl").read_text() == before


@given(st.text(min_size=1), st.text(), st.text())
def test_hostile_texts_break_no_line(tmp_path_factory, gate_id, title, snippet):
    """Tabs, line ends and broken characters of a page are data."""
    folder = tmp_path_factory.mktemp("decided") / "decided"
    shown = page(title=title, snippet=snippet), page(url="https://b.example/", is_approved=False)
    write_judgements([decision(*shown, gate_id=gate_id)], folder)
    dataset = load_dataset(folder)
    (question,) = dataset.questions
    assert len(question.grades) == 1
    readable = [text.encode(errors="replace").decode() for text in (title, snippet)]
    assert readable in [[entry.title, entry.text] for entry in dataset.entries()]
