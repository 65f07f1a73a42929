"""Judgements of recorded runs: files that people fill in, and their mistakes."""

from __future__ import annotations

import csv
from typing import TYPE_CHECKING

import pytest

from collection_search.cassette.recorded_pools import RecordedPage, RecordedPool
from collection_search.errors import InputError
from collection_search.tools.evaluation.recorded import judged_corpus, write_template

if TYPE_CHECKING:
    from pathlib import Path

TEA = RecordedPage(url="https://a.example/tea", title="=1+1", snippet="Brew it.\nHot.")
POT = RecordedPage(url="https://a.example/pot", title="Pots", snippet="A pot")
POOLS = [
    RecordedPool(question="Which tea?", pages=[TEA, POT]),
    RecordedPool(question="Which pot?", pages=[POT]),
]


@pytest.mark.parametrize("name", ["j.csv", "j.tsv"])
def test_a_template_that_was_filled_in_is_read(tmp_path: Path, name: str) -> None:
    """Pages without a grade are unjudged, questions without one are left out."""
    path = tmp_path / name
    assert write_template(path, POOLS) == 3
    delimiter = "," if name.endswith("csv") else "\t"
    with path.open(encoding="utf-8-sig", newline="") as file:
        rows = list(csv.reader(file, delimiter=delimiter))
    assert rows[1] == ["Which tea?", TEA.url, "", "'=1+1", "Brew it. Hot."]
    rows[1][2] = "2"
    with path.open("w", encoding="utf-8", newline="") as file:
        csv.writer(file, delimiter=delimiter).writerows(rows)
    corpus = judged_corpus(tmp_path / "run.jsonl", POOLS, path)
    (question,) = corpus.dataset.questions
    assert (question.text, question.unjudged) == ("Which tea?", 1)
    assert list(question.grades.values()) == [2]
    assert [corpus.pages[each].url for each in corpus.by_words[0]] == [TEA.url, POT.url]
    assert corpus.is_given


def test_a_template_never_overwrites(tmp_path: Path) -> None:
    """A person's work stands in such a file."""
    path = tmp_path / "j.tsv"
    path.write_text("mine")
    with pytest.raises(InputError, match="exists already"):
        write_template(path, POOLS)
    assert path.read_text() == "mine"


def test_qrels_with_addresses_are_read(tmp_path: Path) -> None:
    """In the columns of BEIR, without regard to case and spaces; what was not found is missed."""
    path = tmp_path / "q.tsv"
    rows = "which  TEA?\thttps://a.example/tea\t0\nWhich tea?\thttps://b.example/\t1\n"
    path.write_text(f"query-id\tcorpus-id\tscore\n{rows}")
    (question,) = judged_corpus(tmp_path / "r", POOLS, path).dataset.questions
    assert list(question.grades.values()) == [1]
    assert not question.grades.keys() & set(question.pool or ())


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("", "is empty"),
        ("Which tea?\thttps://a.example/tea\n", r"j\.tsv:1: 2 fields instead of"),
        (
            "question\turl\tgrade\nWhich tea?\thttps://a.example/tea\tyes\n",
            r"j\.tsv:2: the grade 'yes'",
        ),
        ("Which tea?\thttps://a.example/tea\t-1\n", r"j\.tsv:1: the grade '-1'"),
        ("Why?\thttps://a.example/tea\t1\n", r"j\.tsv:1: run has no run with the question 'Why\?'"),
        ("Which tea?\tnowhere\t1\n", r"j\.tsv:1: "),
        ('Which tea?\t"x" y\t1\n', r"j\.tsv:1: "),
        ("Which tea?\thttps://a.example/tea\t0\n", "calls no page relevant"),
    ],
)
def test_a_mistake_is_named_with_its_line(tmp_path: Path, text: str, says: str) -> None:
    """File, line and what is wrong."""
    path = tmp_path / "j.tsv"
    path.write_text(text)
    with pytest.raises(InputError, match=says):
        judged_corpus(tmp_path / "run", POOLS, path)
