"""The table of the pages that could not be ingested."""

from __future__ import annotations

from typing import get_args

import pytest

from collection_search.cli.shared.failed_pages import UningestedPage, format_failed
from collection_search.errors import RETRYABLE_FETCHES, FetchReason


def table(*pages: UningestedPage, width: int = 80, most: int | None = None) -> list[str]:
    return list(format_failed(pages, width=width, most=most))


def gone(path: str, host: str = "a.example") -> UningestedPage:
    return UningestedPage(f"https://{host}/{path}", f"gone: {host} answered with HTTP status 404")


def test_pages_with_one_reason_are_one_row() -> None:
    """Also those of several sites; the most frequent reason comes first."""
    lines = table(
        UningestedPage("https://a.example/z", "The page has no text"),
        gone("x"),
        gone("y", host="b.example"),
    )
    assert lines[2:] == [
        "    2  the page is gone (answered with HTTP status 404)",
        "       Look for its new address and add that.",
        "       https://a.example/x",
        "       https://b.example/y",
        "    1  The page has no text",
        "       https://a.example/z",
    ]


def test_many_addresses_are_counted() -> None:
    """With the command that lists them."""
    *_, last = table(*(gone(str(n)) for n in range(30)), most=20)
    assert last == "       and 10 more: 'collection-search ingest failed' lists them all"


def test_a_failed_parser_is_corrected_and_no_other_page_taken() -> None:
    """And a page without text may need one."""
    failed = "extraction_failed: The parser our_ocr:read failed. It raised ValueError."
    empty = "empty: The document holds no text."
    lines = table(UningestedPage("https://a.example/x", failed), width=140)
    assert lines[3].startswith("       Look into the log and correct the parser")
    (said,) = (
        line for line in table(UningestedPage("https://a.example/x", empty)) if "PDF" in line
    )
    assert said == "       Take another page; a scanned PDF needs the setting parsers."


@pytest.mark.parametrize("width", [60, 80, 140])
@pytest.mark.parametrize("reason", get_args(FetchReason))
def test_every_reason_is_told_in_words(reason: FetchReason, width: int) -> None:
    """With what to do, and in the columns that there are; what may work later is tried again."""
    error = f"{reason}: a.example said this and that, and then some more of it"
    lines = table(UningestedPage("https://a.example/x", error), width=width)
    assert "(said this and that, and" in " ".join(" ".join(lines).split())
    assert f"{reason}:" not in "".join(lines)
    assert max(map(len, lines)) <= width
    assert ("retry-failed" in " ".join(lines)) == (
        reason in RETRYABLE_FETCHES or reason in {"incomplete", "http_error"}
    )
