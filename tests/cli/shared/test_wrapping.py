"""Lines in rows of a terminal."""

from __future__ import annotations

import shlex

import pytest

from collection_search.cli.shared.next_steps import shell_command
from collection_search.cli.shared.wrapping import columns_of, fit_line

SENTENCE = "collection-search: The search failed. Check the network and SEARXNG_URL, then go on."
ADDRESS = "https://docs.example.org/a/rather/long/address/of/a/page-of-a-manual.html"


@pytest.mark.parametrize("width", [20, 40, 60, 80])
def test_words_stay_whole(width: int) -> None:
    """No row is wider, and the rows have the words of the line in order."""
    rows = fit_line(SENTENCE, width, hang=2)
    assert max(map(columns_of, rows)) <= width
    assert " ".join(rows).split() == SENTENCE.split()


@pytest.mark.parametrize("width", [40, 60, 80, 100])
def test_an_address_stays_in_one_piece(width: int) -> None:
    """On a row of its own, with less of a margin or none, also where it is wider."""
    rows = fit_line(f"        failed {ADDRESS} (gone)", width)
    assert any(ADDRESS in row for row in rows)
    wide = [row for row in rows if columns_of(row) > width]
    assert wide == ([ADDRESS] if len(ADDRESS) > width else [])


@pytest.mark.parametrize("width", [30, 60, 80, 400])
def test_a_command_is_one_command_when_it_is_copied(width: int) -> None:
    """A shell reads its rows as the same words."""
    words = ("run", "How do I cancel a task?", "--auto-ingest")
    command = shell_command(*words, collection="a", criterion=["It has code", "It's -- new"])
    rows = fit_line(f"  {command}", width)
    read = "\n".join(rows).replace("\\\n", "")
    assert shlex.split(read) == shlex.split(command)
    assert all(row.endswith(" \\") for row in rows[:-1])
    assert len(rows) > 1 or width > len(command)


def test_words_without_blanks_are_broken_by_their_columns() -> None:
    """As a terminal would, but behind the margin: Chinese characters take two columns."""
    rows = fit_line("  " + "任务" * 12, 20)
    assert [columns_of(row) for row in rows] == [20, 20, 14]
    assert "".join(row.removeprefix("  ") for row in rows) == "任务" * 12
