"""Headings of texts, and the pages of those that have pages."""

from __future__ import annotations

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from collection_search.text.clean import chunk_spans
from collection_search.text.headings import (
    heading_mark,
    heading_paths,
    page_numbers,
    without_heading_marks,
    write_headings,
)

PROVIDERS = """# Brewing

Water first.
## Green tea
Not too hot.

```sh
# warm the pot
## twice
```

### Sencha ###

One minute.

~~~
# not here
```
# nor here
~~~

## Black tea

# Storing
"""
LINES = st.lists(
    st.sampled_from(
        ["# One", "## Two", "### Three", "words", "", "# a\ufb01b", "```", "~~~", "\f", "#no", "# # x", "####### 7"]
    ),
    max_size=20,
).map("\n".join)  # fmt: skip


def path_at(text: str, word: str) -> tuple[str, ...]:
    """Return the headings above the first place of the word."""
    start = text.index(word)
    return heading_paths(text, [(0, start), (start, start + len(word))])[1]


@pytest.mark.parametrize(
    ("word", "path"),
    [
        ("Water", ("Brewing",)),
        ("Not too", ("Brewing", "Green tea")),
        ("warm", ("Brewing", "Green tea")),
        ("One minute", ("Brewing", "Green tea", "Sencha")),
        ("nor here", ("Brewing", "Green tea", "Sencha")),
        ("## Black", ("Brewing", "Black tea")),
        ("# Storing", ("Storing",)),
    ],
)
def test_the_path_of_a_place(word: str, path: tuple[str, ...]) -> None:
    """A heading ends those of its own level and below; code between fences has none."""
    assert path_at(PROVIDERS, word) == path


@pytest.mark.parametrize(
    ("text", "path"),
    [
        ("x = 1\n# a comment\ny", ()),
        ("#!/bin/sh\n#include <a>\ny", ()),
        ("Cost: # 5\ny", ()),
        (" # indented\ny", ()),
        ("# \ny", ()),
        ("# C#\ny", ("C#",)),
        ("# One\n## Two\n# Three\ny", ("Three",)),
        ("####### seven\ny", ()),
    ],
)
def test_what_is_no_heading(text: str, path: tuple[str, ...]) -> None:
    """Comments within code, shebangs, indented lines and marks without a title."""
    assert path_at(text, "y") == path


def test_what_a_chunk_repeats_is_not_its_place() -> None:
    """It belongs to the section in which its new text begins."""
    text = "# A\n\nOne. Two.\n\n# B\n\nThree."
    spans = [(0, 14), (10, len(text))]
    assert heading_paths(text, spans) == [("A",), ("B",)]


def test_marked_lines_become_headings() -> None:
    """Others of their look do not, nor do marks within a line or without a title."""
    text = f"Tea\n{heading_mark(2)}Green\n# comment\n{heading_mark(9)}¶\nsee {heading_mark(1)}x"
    assert write_headings(text) == "Tea\n\n## Green\n # comment\n¶\nsee x"
    assert without_heading_marks("## Green\nC# is\n#tag") == "Green\nC# is\n#tag"


def test_pages_are_counted() -> None:
    """From 1, by where a span begins; empty pages count."""
    text = "\fone two\n\f\n\fthree"
    assert page_numbers(text, [(0, 5), (5, 8), (8, 17)]) == [2, 2, 4]
    assert page_numbers("no pages", [(0, 2)]) == [None]


@given(LINES, st.integers(5, 60))
def test_every_chunk_has_a_path(text: str, size: int) -> None:
    """It is what a reader who goes from the beginning to the chunk has seen."""
    spans = chunk_spans(text, size=size, overlap=3)
    paths, pages = heading_paths(text, spans), page_numbers(text, spans)
    assert len(paths) == len(pages) == len(spans)
    covered = 0
    for (start, end), path, page in zip(spans, paths, pages, strict=True):
        begin = max(start, covered)
        begin += len(text[begin:end]) - len(text[begin:end].lstrip())
        line_end = f"{text}\n".index("\n", begin)
        assert path in {
            heading_paths(text, [(0, begin), (begin, line_end)])[1],
            path_before(text, begin),
        }
        assert page == (1 + text.count("\f", 0, start) if "\f" in text else None)
        covered = end


def path_before(text: str, begin: int) -> tuple[str, ...]:
    return heading_paths(text, [(0, begin), (begin, begin + 1)])[1]


@given(LINES)
def test_written_headings_stay(text: str) -> None:
    """Plain text has no headings, and writing them twice changes nothing."""
    once = write_headings(text)
    assert heading_paths(once, [(0, len(once)), (len(once), len(once))])[1] == ()
    assert write_headings(once) == once


@pytest.mark.slow
@pytest.mark.parametrize(
    "piece", ["# ", "# x\n", "```\n", "\n", "¤1¤", "¤1¤\n", "#", "\f", "~~~~ "]
)
def test_time_is_linear(piece: str) -> None:
    """A hostile text of 400 kB takes a moment."""
    hostile = piece * (400_000 // len(piece))
    begin = time.process_time()
    write_headings(hostile)
    without_heading_marks(hostile)
    spans = chunk_spans(hostile)
    heading_paths(hostile, spans)
    page_numbers(hostile, spans)
    assert time.process_time() - begin < 15
