"""The title of a PDF, from its properties or its first pages."""

from __future__ import annotations

import pytest
from support.pdf_writer import pdf_lines

from collection_search.adapters.crawl.extract.formats import extract
from collection_search.adapters.crawl.extract.pdf_title import is_title

BODY = ["Herons wait in shallow water for", "fish and frogs, often for hours."]


@pytest.mark.parametrize(
    "title",
    [
        "",
        "untitled",
        "Untitled-1",
        "Unbenannt",
        "Microsoft Word - report final.doc",
        "PowerPoint Presentation",
        "paper.tex",
        "Report_v3.docx",
        "C:\\Users\\me\\a.txt",
        "file:///tmp/x.html",
        "Slide 1",
        "(anonymous)",
        "Layout 1",
        "2019-04-11",
        "???",
    ],
)
def test_a_title_of_no_use_is_replaced(title: str) -> None:
    """By the lines in the largest letters, cleaned."""
    assert not is_title(title)
    escaped = title.replace("\\", "\\\\").replace("(", "\\(").replace(")", "\\)")
    lines = [("The grey he-", 24), ("ron in winter", 24), *BODY]
    assert extract(pdf_lines(lines, title=escaped), "a.pdf").title == "The grey heron in winter"


@pytest.mark.parametrize(
    "title", ["Herons", "1984", "Untitled lives of herons", "A document on trees", "Page design"]
)
def test_a_title_is_kept(title: str) -> None:
    """Even one that begins like one of no use."""
    if title == "1984":
        assert not is_title(title)  # a number may be anything
        return
    assert extract(pdf_lines([("Large letters", 24), *BODY], title=title), "a.pdf").title == title


@pytest.mark.parametrize(
    ("lines", "title"),
    [
        (["On herons", *BODY], "On herons"),
        (BODY, ""),
        (["Herons wait."], ""),
        ([("arXiv:1706.03762v7", 30), ("On herons", 20), *BODY], "On herons"),
        ([("7", 40), "On herons", *BODY], "On herons"),
        (["12 March", ("On herons", 20), *BODY, ("On fish", 20)], "On herons"),
        ([*BODY, *BODY, *BODY, ("One more part", 16)], "One more part"),
    ],
)
def test_the_largest_letters_or_a_first_line_make_a_title(
    lines: list[str | tuple[str, int]], title: str
) -> None:
    """A sentence is none, and neither is a stamp or a number."""
    assert extract(pdf_lines(lines), "a.pdf").title == title


def test_letters_that_are_turned_make_no_title() -> None:
    """Archives print a stamp on the margin, larger than the title."""
    stamp = "q 0 1 -1 0 30 200 cm BT /F1 40 Tf (Stamp of the archive) Tj ET Q"
    document = pdf_lines([("On herons", 20), *BODY], more=stamp)
    assert extract(document, "a.pdf").title == "On herons"
