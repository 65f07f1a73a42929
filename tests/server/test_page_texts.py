"""The texts of the page: every one that a script asks for is there in both languages."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Final, get_args

import pytest

import collection_search
from collection_search.contracts.state import Flag, ReviewOutcome

PAGE: Final = Path(collection_search.__file__).parent / "server" / "page"
_KEY: Final = re.compile(r'(?:^ *|[,{(]\s*)(?:"([\w. ]+)"|(\w+)): (?=["m])', re.MULTILINE)
_ASKED: Final = re.compile(r'\bt\(\s*"([\w.]+)"')
_HOLE: Final = re.compile(r"\{(\w+)\}")


def texts(language: str) -> dict[str, str]:
    """Return the table of a language: each key with the rest of its line up to the next key."""
    body = (PAGE / f"{language}.js").read_text("utf-8").partition("= {\n")[2]
    found = list(_KEY.finditer(body))
    ends = [match.start() for match in found[1:]] + [len(body)]
    return {
        match[1] or match[2]: body[match.end() : end]
        for match, end in zip(found, ends, strict=True)
    }


def test_both_languages_have_the_same_texts() -> None:
    english, german = texts("en"), texts("de")
    assert len(english) > 250
    assert english.keys() == german.keys()
    holes = {key: set(_HOLE.findall(text)) for key, text in english.items()}
    assert holes == {key: set(_HOLE.findall(text)) for key, text in german.items()}


def test_every_text_that_is_asked_for_exists() -> None:
    scripts = "".join(path.read_text("utf-8") for path in PAGE.glob("*.js"))
    asked = set(_ASKED.findall(scripts))
    assert len(asked) > 150
    assert asked - texts("en").keys() == set()


@pytest.mark.parametrize(("kind", "names"), [("outcome", ReviewOutcome), ("flag", Flag)])
def test_words_of_the_graphs_have_a_text(kind: str, names: object) -> None:
    known = {key.partition(".")[2] for key in texts("en") if key.startswith(f"{kind}.")}
    assert known == _words(names)


def _words(literal: object) -> set[str]:
    return {
        word
        for part in get_args(literal)
        for word in ([part] if isinstance(part, str) else get_args(part))
    }
