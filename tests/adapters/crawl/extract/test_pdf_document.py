"""The text of PDFs: whole words, and what was left out."""

from __future__ import annotations

from typing import TYPE_CHECKING

from support.pdf_writer import pdf_lines

from collection_search.adapters.crawl.extract import pdf_document
from collection_search.adapters.crawl.extract.formats import extract
from collection_search.testing.hostile_site.file_types import pdf
from collection_search.testing.hostile_site.replies import MARKER

if TYPE_CHECKING:
    import pytest


def test_words_divided_at_the_end_of_a_line_are_whole() -> None:
    """The library gives a mark in place of the hyphen, which no search finds."""
    document = pdf_lines(["The appli-", "cations of a well-", "known method."])
    assert extract(document, "a.pdf").text == "The applications of a well-known method."


def test_the_last_page_that_was_read_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of a document with more; nothing is said of one that was read to its end."""
    monkeypatch.setattr(pdf_document, "PDF_PAGES", 3)
    cut = extract(pdf(kids=5))
    assert (cut.text.count(MARKER), cut.truncated_at_page) == (3, 3)
    assert extract(pdf(kids=3)).truncated_at_page is None


def test_the_page_at_which_the_text_was_cut_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    """The text of all pages has a limit as well."""
    monkeypatch.setattr(pdf_document, "PDF_CHARS", len(MARKER) + 5)
    cut = extract(pdf(kids=5))
    assert (cut.text.count(MARKER), cut.truncated_at_page) == (1, 2)
    assert MARKER[:5] in cut.text.split("\f")[1]
