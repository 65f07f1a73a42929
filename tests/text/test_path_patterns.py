"""Patterns of paths: what they take, and how long that takes."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from collection_search.errors import InputError
from collection_search.text.path_patterns import MAX_PATTERN_CHARS, MAX_PATTERNS, PathPatterns


@pytest.mark.parametrize(
    ("pattern", "path", "fits"),
    [
        ("/docs/*", "/docs/", True),
        ("/docs/*", "/docs", False),
        ("/docs*", "/docs", True),
        ("/docs", "/docs?page=2", True),
        ("/docs?page=*", "/docs?page=2", True),
        ("*?*", "/docs", False),
        ("*.html", "/a/b.html", True),
        ("*.html", "/a/b.htm", False),
        ("/a*a", "/a", False),
        ("/a**a", "/aa", True),
        ("/*/x/*/y", "/1/x/2/x/y", True),
        ("/Docs", "/docs", False),
        ("/[a-z]+", "/abc", False),
        ("/über/*", "/%C3%BCber/uns", True),
        ("*?q=ü*", "/a?q=%C3%BC1", True),
        ("/a b", "/a%20b", True),
        ("*", "/", True),
    ],
)
def test_a_pattern_fits_a_whole_path(pattern: str, path: str, *, fits: bool) -> None:
    """`*` is the only sign with a meaning; a `?` begins the query."""
    assert PathPatterns.of(include=[pattern]).fits(f"https://e.org{path}") is fits
    assert PathPatterns.of(exclude=[pattern]).fits(f"https://e.org{path}") is not fits


@given(st.text("*ab/", max_size=12), st.text("ab/", max_size=12))
def test_a_pattern_is_the_expression_with_any_text_for_stars(pattern: str, path: str) -> None:
    """As a regular expression says it, in other words and with another matcher."""
    expected = re.fullmatch("/" + pattern.replace("*", "(?s:.*)"), f"/{path}")
    assert PathPatterns((f"/{pattern}",)).fits(f"https://e.org/{path}") == bool(expected)


def test_the_worst_pattern_ends() -> None:
    """A hundred patterns that nearly fit the longest address; backtracking would never end."""
    patterns = PathPatterns.of([f"/{n}" + "*a" * 200 + "b" for n in range(MAX_PATTERNS)])
    assert not any(patterns.fits(f"https://e.org/{n}" + "a" * 8_000) for n in range(100))


@pytest.mark.parametrize(
    ("patterns", "complaint"),
    [
        (["docs/*"], "include: 'docs/\\*' is no pattern of a path"),
        ([""], "is no pattern"),
        (["https://e.org/*"], "is no pattern"),
        (["/a#b"], "no #"),
        (["/" + "a" * MAX_PATTERN_CHARS], "at most 500 characters"),
        (["/a\n"], "control characters"),
        ([f"/{n}" for n in range(MAX_PATTERNS + 1)], "101 patterns were given, 100 are allowed"),
    ],
)
def test_a_wrong_pattern_is_refused(patterns: list[str], complaint: str) -> None:
    """With what is wrong."""
    with pytest.raises(InputError, match=complaint):
        PathPatterns.of(include=patterns)
