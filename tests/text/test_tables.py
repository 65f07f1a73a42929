"""Tables of a text, and how they are cut."""

from __future__ import annotations

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from collection_search.text.clean import chunk_spans
from collection_search.text.tables import header_at, table_headers

TEXT = """Intro | no table

| A | B |
|:--|--:|
| a1 | b1 |
| a2 | b2 |
| C | D |
|---|---|
| c1 | d1 |
Words follow.

x | y
--- | ---
1 | 2

| Group | |
| One | Two |
|---|---|
| 1 | 2 |
---
"""


def header_of(word: str) -> str | None:
    """Return the header that stands above a word inside a line."""
    place = TEXT.index(word)
    return table_headers(TEXT, [(place, place + 1)])[0]


@pytest.mark.parametrize(
    ("word", "header"),
    [
        ("Intro", None),
        ("| no table", None),
        ("| A |", None),
        ("|:--", "| A | B |"),
        ("a1", "| A | B |"),
        ("| a2", "| A | B |"),
        ("| C |", None),
        ("c1", "| C | D |"),
        ("Words", None),
        ("x |", None),
        ("1 | 2", "x | y"),
        ("| Group", None),
        ("| 1 | 2", "| Group | |\n| One | Two |"),
        ("follow", None),
    ],
)
def test_a_row_stands_below_its_header(word: str, header: str | None) -> None:
    """Tables may follow each other, lack the outer bars or have several lines of header."""
    assert header_of(word) == header


def test_a_long_header_is_cut_after_a_column() -> None:
    """It must leave room for rows."""
    columns = "".join(f" Column {n} |" for n in range(100))
    text = f"|{columns}\n|---|\n| row |"
    (header,) = table_headers(text, [(text.index("| row"), len(text))])
    assert header
    assert len(header) <= 500
    assert header.endswith("|")


ROWS = "\n".join(f"| Ship {n} | It sailed. Then it sank. |" for n in range(60))


@pytest.mark.parametrize("size", [60, 100, 333, 1200])
def test_rows_are_not_cut(size: int) -> None:
    """Although there are sentences in them; what is repeated of a table are whole rows."""
    text = f"Some words. Others.\n\n| Ship | Fate |\n|---|---|\n{ROWS}\n\nThe end. It is near."
    for start, end in chunk_spans(text, size=size, overlap=size // 4):
        assert start == 0 or text[start - 1] == "\n" or text[start] != "|"
        if text[start] == "|":
            assert text[end - 1] == "|" or "The end" in text[start:end]


@given(st.text(alphabet="|-a \n", max_size=80), st.integers(0, 80))
def test_a_place_inside_is_judged_as_in_the_whole(text: str, place: int) -> None:
    """Whatever the lines look like."""
    whole = table_headers(text, [(place, place)])[0]
    assert header_at(text, place, None) == whole
    assert whole is None or "a" in whole


@pytest.mark.parametrize(
    "piece", ["|-|\n", "| a |\n", "a|\n|-|\n", "|x|\n|-|\n|y|\n", "|", "- | ", "\n|---|", "|a"]
)
def test_hostile_tables_take_linear_time(piece: str) -> None:
    """Rules without headers, headers without rows, rows without end."""
    text = piece * (400_000 // len(piece))
    start = time.process_time()
    table_headers(text, [(at, at + 5) for at in range(0, len(text), 500)])
    chunk_spans(text)
    assert time.process_time() - start < 5
