"""Pages that hold a notice in place of a text: it is missing, needs a login or must be paid for.

A notice is told from a document that speaks of one by where the words stand and by the rest.
"""

from __future__ import annotations

import re
from itertools import islice
from typing import TYPE_CHECKING, Final

from .extract.page_subjects import sentences_of
from .notice_phrases import LOGIN, MISSING, MISSING_PAGE, NOT_FREE, REGRET, WAY_OUT

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from ...errors import FetchReason
    from .extract.extracted import Extracted

_NOTICE_CHARS: Final = 600
"""A longer text is more than a notice that a page is missing or needs a login."""
_TEASER_CHARS: Final = 3_000
"""A longer text is useful, even if the page does not show all of it."""
_END_CHARS: Final = 400
"""The end of a teaser, where the offer to pay stands."""
_REST_OF_PAGE_CHARS: Final = 120
"""Text beside a title that says that the page is missing; a document says more."""
_REST_CHARS: Final = 40
"""The same where the title is less sure, or says nothing of it."""
_PROSE_CHARS: Final = 40
"""A shorter line without a mark at its end is an entry of a menu."""
_FIRST_LINES: Final = 2
_TITLE_PARTS: Final = 4
_TITLE_CHARS: Final = 200

_SEPARATOR: Final = re.compile(r"\s*(?:[|\u2013\u2014·»:]|\s-\s)\s*")
_HEADING: Final = re.compile(r"^#{1,6}[ \t]+(.+)$", re.MULTILINE)


def check_content(found: Extracted) -> FetchReason | None:
    """Return why an HTML page has no real content, or None if it has.

    >>> from collection_search.adapters.crawl.extract.extracted import Extracted
    >>> check_content(Extracted("Page not found", "Sorry! Try our search."))
    'soft_404'
    >>> check_content(Extracted("Herons", "They wade. Subscribe to continue reading."))
    'paywalled'
    >>> check_content(Extracted("Feeder", "Price: 24.90 EUR. Delivery: not available."))
    """
    length = len(found.text)
    if length <= _NOTICE_CHARS:
        if _says_missing(found):
            return "soft_404"
        if found.asks_password and LOGIN.search(f"{found.title}\n{found.text[:100]}"):
            return "needs_login"
    if length <= _TEASER_CHARS and (found.not_free or _asks_for_money(found.text)):
        return "paywalled"
    return None


def _says_missing(found: Extracted) -> bool:
    """Return whether the page says of itself that it is missing, and hardly anything else."""
    title = _parts(found.title)
    heading = _HEADING.search(found.text)
    names = [*title, *(_parts(heading[1]) if heading else ())]
    if any(map(MISSING_PAGE.fullmatch, names)):
        return _rest_chars(_prose(found.text), title) <= _REST_OF_PAGE_CHARS
    if any(map(MISSING.fullmatch, names)):
        return _rest_chars(_prose(found.text), title) <= _REST_CHARS
    sentences = sentences_of(found.text)
    first = islice((one for one in sentences if one not in title), _FIRST_LINES)
    if any(map(MISSING_PAGE.fullmatch, first)) or any(map(REGRET.match, sentences)):
        return _rest_chars(sentences, title) <= _REST_CHARS
    return False


def _parts(title: str) -> list[str]:
    """Return the parts of a title, of which one may be the name of the site."""
    return [part for part in _SEPARATOR.split(title.strip()[:_TITLE_CHARS]) if part][:_TITLE_PARTS]


def _prose(text: str) -> Iterator[str]:
    """Yield the sentences, without the entries of menus."""
    for line in text.splitlines():
        if len(line) >= _PROSE_CHARS or line.rstrip().endswith((".", "!", "?", ":", ";", "。")):
            yield from sentences_of(line)


def _rest_chars(sentences: Iterable[str], title: list[str]) -> int:
    """Return the length of the sentences that neither say what is missing nor lead away."""
    rest = (one for one in sentences if one not in title)
    notices = (MISSING.fullmatch, MISSING_PAGE.fullmatch, REGRET.match, WAY_OUT.match)
    return sum(len(one) for one in rest if not any(found(one) for found in notices))


def _asks_for_money(text: str) -> bool:
    """Return whether one of the last sentences is an offer to read on for money or a login."""
    return any(map(NOT_FREE.fullmatch, _last_sentences(text)))


def _last_sentences(text: str) -> Iterator[str]:
    chars = 0
    for sentence in reversed(sentences_of(text)):
        if chars > _END_CHARS:
            return
        yield sentence
        chars += len(sentence)
