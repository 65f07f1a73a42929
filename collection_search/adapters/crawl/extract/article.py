"""The text of a page's article, without what stands around it."""

from __future__ import annotations

import re
from itertools import islice
from typing import TYPE_CHECKING, Any, Final

from ....text.headings import is_marked_heading
from .article_parts import keep_parts
from .code_blocks import mark_code
from .html_lines import BESIDE, html_lines

if TYPE_CHECKING:
    from collections.abc import Iterator

_SHORT_CHARS: Final = 1_500
"""A longer text is that of an article, whatever else the page has."""
_LEAST_SHARE: Final = 0.2
"""The part of a page's lines that the text of its article has at least."""
_LINE_CHARS: Final = 20
_MAX_HEADINGS: Final = 200
"""Headings below which is looked; a page has few, and a hostile one as many as it likes."""
_BLANKS: Final = re.compile(r"\s+")


def article_text(tree: Any) -> str:
    """Return the text of the page's article, with marks for headings and code, empty without one.

    What an extraction knows an article by, many pages do not have. Then it finds no headings and
    lists, or a short part of the page alone: the whole page is taken for the article instead, and
    what stands beside one is left out of it.
    """
    import trafilatura

    mark_code(tree)
    keep_parts(tree)
    text = trafilatura.extract(tree, fast=True, include_comments=False) or ""
    if not _misses_parts(text, tree):
        return text
    _make_article(tree)
    whole = trafilatura.extract(tree, fast=True, include_comments=False) or ""
    return max(text, whole, key=len)


def _misses_parts(text: str, tree: Any) -> bool:
    """Return whether the page has much more lines, or a heading above a line of the text."""
    has_heading = any(map(is_marked_heading, text.splitlines()))
    if has_heading and len(text) >= _SHORT_CHARS:
        return False
    lines = html_lines(tree, without=BESIDE)
    if len(text) < min(_SHORT_CHARS, _LEAST_SHARE * len(lines)):
        return True
    return not has_heading and _has_heading_above(_BLANKS.sub(" ", text), lines)


def _has_heading_above(text: str, lines: str) -> bool:
    below = islice(_lines_below_headings(lines), _MAX_HEADINGS)
    return any(len(line) >= _LINE_CHARS and line in text for line in below)


def _lines_below_headings(lines: str) -> Iterator[str]:
    is_below = False
    for line in filter(str.strip, lines.splitlines()):
        is_heading = is_marked_heading(line)
        if is_below and not is_heading:
            yield _BLANKS.sub(" ", line).strip()
        is_below = is_heading


def _make_article(tree: Any) -> None:
    """Put all of the page into an `article`."""
    body = tree.find("body")
    if body is None:
        return
    article = body.makeelement("article")
    article.text, body.text = body.text, None
    article.extend(list(body))
    body.append(article)
