"""Data sets in BEIR's layout: what is read, and what is said about a file that cannot be."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from support.labelled_data import JUDGEMENTS, PAGES, QUESTIONS, write_dataset

from collection_search.errors import InputError
from collection_search.tools.evaluation.beir import load_dataset

if TYPE_CHECKING:
    from pathlib import Path


def test_questions_come_with_their_relevant_pages(tmp_path: Path) -> None:
    """In the order of the file; a score of 0 is not relevant, and who is not judged is not asked."""
    dataset = load_dataset(write_dataset(tmp_path / "small"))
    assert (dataset.name, dataset.split, dataset.total) == ("small", "test", 4)
    assert [question.id for question in dataset.questions] == ["q1", "q2", "q3", "q4"]
    assert dataset.questions[0].grades == {"cancel": 2, "late": 1}


def test_pages_are_read_one_by_one(tmp_path: Path) -> None:
    """A title may be missing, an id may be a number, an address is taken where there is one."""
    rows = [
        {"_id": 7, "text": "Tea.", "metadata": {"url": "https://a.example/tea"}},
        {"_id": "8", "title": None, "text": "", "metadata": {"url": ""}},
        {"_id": "cancel", "title": "Tasks", "text": "Cancel.", "metadata": {"url": 3}},
    ]
    dataset = load_dataset(write_dataset(tmp_path, pages=rows))
    assert dataset.size() == 3
    assert [(each.id, each.title, each.url) for each in dataset.entries()] == [
        ("7", "", "https://a.example/tea"),
        ("8", "", ""),
        ("cancel", "Tasks", ""),
    ]


def test_a_part_of_the_questions_is_drawn_the_same_way_each_time(tmp_path: Path) -> None:
    """The draw depends on the seed alone and keeps the order of the file."""
    folder = write_dataset(
        tmp_path,
        questions=[{"_id": str(n), "text": f"Question {n}"} for n in range(50)],
        judgements=[(str(n), "tea", "1") for n in range(50)],
    )
    drawn = [
        [int(question.id) for question in load_dataset(folder, limit=9, seed=seed).questions]
        for seed in (0, 0, 1)
    ]
    assert drawn[0] == drawn[1] == sorted(drawn[0])
    assert drawn[0] != drawn[2]
    assert len(drawn[0]) == 9
    assert load_dataset(folder, limit=9).total == 50


def test_judgements_are_taken_from_the_first_split_there_is(tmp_path: Path) -> None:
    """Test, then dev, then train; unless one is named."""
    folder = write_dataset(tmp_path, split="train")
    assert load_dataset(folder).split == "train"
    write_dataset(folder, judgements=JUDGEMENTS[:1], split="dev")
    assert load_dataset(folder).split == "dev"
    assert len(load_dataset(folder, split="train").questions) == 4
    with pytest.raises(InputError, match=r"no qrels/test\.tsv\. There: dev, train\."):
        load_dataset(folder, split="test")


def test_header_byte_order_mark_and_empty_lines_do_not_matter(tmp_path: Path) -> None:
    """Files of other systems are read as well."""
    folder = write_dataset(tmp_path)
    (folder / "qrels" / "test.tsv").write_bytes(b"\xef\xbb\xbfq1\tcancel\t1\r\n\r\nq2\ttea\t1\r\n")
    assert [dict(each.grades) for each in load_dataset(folder).questions] == [
        {"cancel": 1},
        {"tea": 1},
    ]


@pytest.mark.parametrize(
    ("file", "text", "says"),
    [
        ("queries.jsonl", '{"_id": "q1", "text": "x"}\n{oops\n', r"queries\.jsonl:2: no JSON"),
        ("queries.jsonl", "[1]\n", r"queries\.jsonl:1: no JSON object with an _id"),
        ("queries.jsonl", '{"text": "x"}\n', r"queries\.jsonl:1: no JSON object with an _id"),
        ("queries.jsonl", '{"_id": "q1"}\n', r"queries\.jsonl:1: text is missing"),
        ("queries.jsonl", '{"_id": "q1", "text": "x"}\n', r"'q2', which .*queries\.jsonl does not"),
        ("queries.jsonl", None, r"There is no file .*queries\.jsonl\. A data set in BEIR layout"),
        ("qrels/test.tsv", "", r"test\.tsv calls no page relevant"),
        ("qrels/test.tsv", "q1\ttea\t0\n", r"test\.tsv calls no page relevant"),
        ("qrels/test.tsv", "a\tb\tc\nq1\ttea\tx\n", r"test\.tsv:2: the score 'x' is no whole"),
        ("qrels/test.tsv", "q1\ttea\t101\n", r"test\.tsv:1: the score '101' is no whole"),
        ("qrels/test.tsv", "q1\ttea\n", r"test\.tsv:1: 2 fields instead of query-id"),
        ("qrels/test.tsv", None, r"no qrels/test\.tsv\. A data set in BEIR layout"),
    ],
)
def test_a_broken_file_is_named_with_its_line(
    tmp_path: Path, file: str, text: str | None, says: str
) -> None:
    """The sentence says which line of which file cannot be used."""
    path = write_dataset(tmp_path) / file
    path.unlink()
    if text is not None:
        path.write_text(text, encoding="utf-8")
    with pytest.raises(InputError, match=says):
        load_dataset(tmp_path)


@pytest.mark.parametrize(
    ("rows", "says"),
    [
        ([PAGES[0], PAGES[0]], r"corpus\.jsonl:2: the _id 'cancel' stands on an earlier line too"),
        ([{"_id": "a", "title": ["x"], "text": "y"}], r"corpus\.jsonl:1: title is no text"),
        ([{"_id": "a", "text": None}], r"corpus\.jsonl:1: text is missing"),
    ],
)
def test_a_broken_corpus_is_named_with_its_line(
    tmp_path: Path, rows: list[dict[str, object]], says: str
) -> None:
    """Found while it is read, page by page."""
    dataset = load_dataset(write_dataset(tmp_path, pages=rows))
    with pytest.raises(InputError, match=says):
        list(dataset.entries())


def test_text_in_another_encoding_is_told(tmp_path: Path) -> None:
    """A file in Latin-1 is refused rather than read wrongly."""
    folder = write_dataset(tmp_path, questions=QUESTIONS)
    text = '{"_id": "q1", "text": "Tea"}\n{"_id": "q2", "text": "Häuser"}\n'
    (folder / "queries.jsonl").write_bytes(text.encode("latin-1"))
    with pytest.raises(InputError, match=r"queries\.jsonl:2: not in UTF-8"):
        load_dataset(folder)


def test_a_folder_that_is_not_there(tmp_path: Path) -> None:
    """The sentence says what a data set looks like."""
    with pytest.raises(InputError, match=r"There is no folder .*holds corpus\.jsonl"):
        load_dataset(tmp_path / "nowhere")
