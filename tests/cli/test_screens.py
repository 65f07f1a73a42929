"""What the command shows in terminals of 80 and 140 columns, with doubles on this machine."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from collections import defaultdict
from pathlib import Path
from typing import TYPE_CHECKING, Final

import pytest
from support import screens
from support.screen_world import OTHER_PAGES, SEARCH_PAGES, article
from support.terminal_rows import TerminalRow, whole_lines

if TYPE_CHECKING:
    from collections.abc import Mapping

Screens = dict[str, dict[int, list[TerminalRow]]]

TESTS: Final = Path(__file__).parents[1]
KEPT: Final = TESTS.parent / "docs" / "screens"
REMEDY: Final = re.compile(r"collection-search|COLLECTION_SEARCH|(?<!\w)--\w|\b[Ss]et [A-Z]")
LEAST_TITLE: Final = 24
CELLS: Final = {"collections"}
"""Screens whose form depends on the columns: their words cannot be compared."""
_SCORES: Final = re.compile(r" *\d+ +\d+\.\d(?: +\d\.\d\d +\d+\.\d)?  (?P<title>\S.*)")


@pytest.fixture(scope="module")
def shown(tmp_path_factory: pytest.TempPathFactory) -> Screens:
    """Every screen in every width, by its name."""
    ended = subprocess.run(
        [sys.executable, "-m", "support.screens"],
        capture_output=True,
        check=True,
        text=True,
        cwd=tmp_path_factory.mktemp("screens"),
        env=os.environ | {"PYTHONPATH": os.pathsep.join([str(TESTS), *sys.path])},
    )
    found: Screens = defaultdict(dict)
    for line in ended.stdout.splitlines():
        name, columns, rows = json.loads(line)
        found[name][columns] = [TerminalRow(*row) for row in rows]
    return found


def words_of(rows: list[TerminalRow]) -> set[str]:
    """Return the words, without what differs from run to run; numbers and rules are none."""
    masked = (screens.mask(line) for line in whole_lines(rows))
    return {word for line in masked for word in line.split() if any(map(str.isalpha, word))}


def flowing(shown: Screens) -> list[tuple[str, dict[int, list[TerminalRow]]]]:
    """Return the screens whose rows are lines of text."""
    return [(name, widths) for name, widths in shown.items() if name not in CELLS]


def is_one_piece(line: str) -> bool:
    """Return whether a line that the terminal broke is an address, or a part of a command."""
    return " " not in line.strip() or bool(re.match(r"\s*(?:\S+ )?'.*'( \\)?$", line))


@pytest.mark.slow
def test_no_word_is_broken(shown: Screens) -> None:
    """By the terminal only addresses and quoted questions are, and by the command nothing is."""
    sources = {
        word
        for page in (*SEARCH_PAGES, *OTHER_PAGES)
        for word in re.sub(r"<[^>]*>", " ", article(page).decode()).split()
    }
    found: list[tuple[str, set[str]]] = []
    for name, widths in flowing(shown):
        known = words_of(widths[140]) | sources
        for columns, rows in widths.items():
            broken = [row.text for row in rows if row.goes_on]
            lines = whole_lines(rows)
            wide = [line for line in lines if len(line) > columns and not is_one_piece(line)]
            assert not wide, (name, columns, wide, broken)
        strange = {word for word in words_of(widths[80]) - known if not word.endswith("…")}
        found += [(name, strange)] if strange else []
    assert not found


@pytest.mark.slow
def test_no_remedy_is_cut(shown: Screens) -> None:
    """What to do is said to its end, in every width."""
    for name, widths in flowing(shown):
        for columns, rows in widths.items():
            cut = [row.text for row in rows if "…" in row.text and REMEDY.search(row.text)]
            assert not cut, (name, columns, cut)


@pytest.mark.slow
def test_titles_can_be_read(shown: Screens) -> None:
    """A cut title has 24 columns at the least, in every table of results."""
    cut: list[str] = []
    for name in ("run", "run-paid", "review-now"):
        for rows in shown[name].values():
            titles = [found["title"] for row in rows if (found := _SCORES.match(row.text))]
            assert titles, name
            cut += [title for title in titles if title.endswith("…")]
    assert cut
    assert min(map(len, cut)) >= LEAST_TITLE


@pytest.mark.slow
def test_every_screen_is_kept(shown: Mapping[str, object]) -> None:
    """In both widths; `make screens` writes them anew."""
    wanted = {f"{name}-{columns}.txt" for name in shown for columns in screens.WIDTHS}
    assert {path.name for path in KEPT.glob("*.txt")} == wanted
