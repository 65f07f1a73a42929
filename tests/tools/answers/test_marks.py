"""Marks of citations in a text that a model wrote."""

from __future__ import annotations

import pytest

from collection_search.tools.answers.marks import keep_citations

CODE = "Use `a[1]`:\n\n```python\nx = d[99]\n```"


@pytest.mark.parametrize(
    ("given", "kept"),
    [
        ("Tea is hot [1]. Milk is not [2, 3].", "Tea is hot. Milk is not [2]."),
        ("Tea is hot. [1][2]", "Tea is hot. [2]"),
        ("Tea is hot [1], [2] and [3].", "Tea is hot [2]."),
        ("Tea is hot (source 7).", "Tea is hot."),
        ("Tea is hot. [1]\n\nSources:\n\n- [1] Tea — https://a.org/", "Tea is hot."),
        (f"{CODE}\n\nSo. [1]", f"{CODE}\n\nSo."),
    ],
)
def test_citations_of_others_go(given: str, kept: str) -> None:
    """With the list of sources; code stays."""
    assert keep_citations(given, {2}) == kept


@pytest.mark.parametrize(
    "text",
    ["Tea is hot. [2]\n\nSources:\n\n- [2] Tea — https://a.org/", CODE, "See https://a.org/ "],
)
def test_a_text_without_others_stays_as_it_is(text: str) -> None:
    """Its list of sources too."""
    assert keep_citations(text, {2}) == text
