"""The made-up web of the stub: per question 4 queries of 10 hits, 37 addresses of 30 pages.

Everything follows from the question's number, so that no two questions share a page, and the
stub, the contestants and the report need not tell each other what was served.
"""

from __future__ import annotations

import re
from functools import cache
from itertools import accumulate
from typing import TYPE_CHECKING, Final, NamedTuple
from urllib.parse import urlsplit

if TYPE_CHECKING:
    from collections.abc import Sequence

QUERIES: Final = 4
HITS: Final = 10
PAGES: Final = 30
SNIPPET_CHARS: Final = 240
"""At most: a snippet ends with a word."""

_FORMS: Final = {
    "plain": "https://docs{host}.example.com{path}",
    "mail": "https://docs{host}.example.com{path}?utm_source=letter&utm_medium=mail",
    "click": "https://docs{host}.example.com{path}?gclid=Cj0KCQ",
    "section": "https://docs{host}.example.com{path}#section-2",
    "case": "HTTPS://Docs{host}.Example.COM{path}",
}
_OTHER_FORMS: Final = (  # of pages that an earlier query found: seven addresses, three repetitions
    (),
    ((0, "mail"), (1, "section"), (2, "plain")),
    ((3, "case"), (10, "click"), (11, "plain")),
    ((4, "section"), (12, "case"), (17, "mail"), (18, "plain")),
)
_NEW_PAGES: Final = [HITS - len(others) for others in _OTHER_FORMS]
_LAYOUT: Final = tuple(
    (*((page, "plain") for page in range(end - new, end)), *others)
    for end, new, others in zip(accumulate(_NEW_PAGES), _NEW_PAGES, _OTHER_FORMS, strict=True)
)
_NUMBER: Final = re.compile(r"case(?: |\+|%20)(\d+)(?:(?: |\+|%20)part(?: |\+|%20)(\d))?")


class Hit(NamedTuple):
    """One row of an answer."""

    url: str
    title: str
    snippet: str


def question(number: int) -> str:
    """Return the question of that number."""
    words = _words(number, 5)
    return f"How does {words[0]} of {words[1]} and {words[2]} work with {words[3]}? case {number}"


def queries(number: int) -> list[str]:
    """Return the queries that the stub's chat model plans for it."""
    words = _words(number, QUERIES)
    return [f"{word} case {number} part {part}" for part, word in enumerate(words)]


def number_of(text: str) -> tuple[int, int] | None:
    """Return the number of the question, and of the query, that a text or an address holds.

    >>> number_of(queries(17)[2]), number_of("/search?q=sort+case+17+part+2"), number_of("else")
    ((17, 2), (17, 2), None)
    """
    found = _NUMBER.search(text)
    return (int(found[1]), int(found[2] or 0)) if found else None


def hits(number: int, part: int) -> list[Hit]:
    """Return what the query finds, best first."""
    return [
        Hit(_url(number, page, form), " ".join(_words(page_of, 6)), _snippet(page_of))
        for page, form in _LAYOUT[part]
        for page_of in [number * PAGES + page]
    ]


def page_of(url: str) -> str:
    """Return what is equal for all addresses of one page.

    >>> len({hit.url for part in range(QUERIES) for hit in hits(3, part)})
    37
    >>> len({page_of(hit.url) for part in range(QUERIES) for hit in hits(3, part)})
    30
    """
    parts = urlsplit(url)
    return f"{parts.netloc.lower()}{parts.path}"


def pages(number: int) -> set[str]:
    """Return the pages that the four queries of a question find."""
    return {page_of(hit.url) for part in range(QUERIES) for hit in hits(number, part)}


def _url(number: int, page: int, form: str) -> str:
    return _FORMS[form].format(host=page % 6, path=f"/guide/{number}/page-{page}.html")


def _snippet(seed: int) -> str:
    text = _text()
    start = text.index(" ", seed * 7919 % (len(text) - 2 * SNIPPET_CHARS)) + 1
    return text[start : start + SNIPPET_CHARS].rpartition(" ")[0]


def _words(seed: int, count: int) -> Sequence[str]:
    words = _vocabulary()
    return [words[(seed * 31 + step * 101) % len(words)] for step in range(count)]


@cache
def _text() -> str:
    """Return about half a million characters of English: the language reference of Python."""
    from pydoc_data.topics import topics

    return re.sub(r"[^A-Za-z0-9.,;:()'-]+", " ", " ".join(topics.values()))


@cache
def _vocabulary() -> Sequence[str]:
    return sorted(set(re.findall(r"\b[a-z]{4,12}\b", _text())))
