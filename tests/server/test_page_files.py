"""The files of the page: small, and without anything from elsewhere."""

from __future__ import annotations

from pathlib import Path

import pytest

import collection_search

PAGE = Path(collection_search.__file__).parent / "server" / "page"
MAX_BYTES = 200_000
SCRIPTS = sorted(PAGE.rglob("*.js"))


def test_the_page_is_small() -> None:
    """All of it has less than 200 kB."""
    sizes = [path.stat().st_size for path in PAGE.rglob("*") if path.is_file()]
    assert 0 < sum(sizes) < MAX_BYTES


@pytest.mark.parametrize("path", SCRIPTS, ids=lambda path: path.name)
def test_scripts_write_no_markup(path: Path) -> None:
    """Text enters the page as text: no script has a way to write HTML or to run a string."""
    text = path.read_text("utf-8")
    ways = ("innerHTML", "outerHTML", "insertAdjacentHTML", "document.write", "eval(", "Function(")
    assert [way for way in ways if way in text] == []
