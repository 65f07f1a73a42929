"""Title and text of an HTML page."""

from __future__ import annotations

import re
from contextlib import suppress
from typing import Any, Final

from ....errors import ExtractionError, InvalidUrlError
from ....text.clean import to_unicode
from ....text.headings import heading_mark, write_headings
from ....text.urls import normalize_url
from .blocking_pages import NOTICE_CHARS, read_signs, refuse_blocking_page
from .extracted import Extracted
from .html_lines import html_lines
from .unseen_parts import remove_unseen, show_shadow_roots

TAGS: Final = 600_000
"""A page with more angle brackets is refused."""
ATTRIBUTES: Final = 2_000
"""A page with more in one tag is refused: parsers compare every two of them."""

_SHORT_TEXT: Final = 100
_QUOTED = re.compile(r"""=\s*+(?:"[^"]*"|'[^']*')""")
_ENDLESS_TAG = re.compile(rf"<[a-zA-Z](?:[^<>\s/]*+[\s/]++){{{ATTRIBUTES}}}")
_NOT_FREE = re.compile(r""""isAccessibleForFree"\s*:\s*"?false\b""", re.IGNORECASE)
_ATTRIBUTES_ERROR: Final = "The page has a tag with thousands of attributes."
_HEADINGS: Final = tuple(f"h{level}" for level in range(1, 7))
_UNSEEN_MARKS: Final = {"\N{PILCROW SIGN}": "", "\N{SOFT HYPHEN}": "", "\f": "\n"}


def read_html(page: str) -> Extracted:
    """Return title and text of a page.

    Raises ExtractionError for a page that would hang a parser, EmptyDocumentError for one that
    stands in place of a document.
    """
    import trafilatura

    page = page.replace("\0", "")  # as browsers do; the parser ends there
    if page.count("<") > TAGS:
        raise ExtractionError(f"The page has more than {TAGS:,} tags.")
    if _ENDLESS_TAG.search(_QUOTED.sub("= ", page)):
        raise ExtractionError(_ATTRIBUTES_ERROR)
    tree = trafilatura.load_html(page)
    if tree is None:
        raise ExtractionError("The page cannot be read as HTML.")
    if tree.xpath(f"boolean(//@*[{ATTRIBUTES + 1}])"):  # the pattern above can miss some
        raise ExtractionError(_ATTRIBUTES_ERROR)
    title, canonical_url = _html_title(tree), _canonical_url(tree)  # extraction changes the tree
    asks_password = bool(tree.xpath("boolean(//input[@type='password'])"))
    text = _text(tree, title)
    for mark, shown in _UNSEEN_MARKS.items():
        text = text.replace(mark, shown)
    return Extracted(
        to_unicode(title),
        to_unicode(write_headings(text)),
        canonical_url,
        not_free=_NOT_FREE.search(page) is not None,
        asks_password=asks_password,
    )


def _text(tree: Any, title: str) -> str:
    """Return the text of the page's article, or all of its lines where it has none."""
    import trafilatura

    show_shadow_roots(tree)
    signs = read_signs(tree, title)
    consent = remove_unseen(tree)
    _mark_headings(tree)
    _mark_table_headers(tree)
    lines = html_lines(tree, enough=NOTICE_CHARS)
    refuse_blocking_page(signs, tree, lines, consent)
    text = trafilatura.extract(tree, fast=True, include_comments=False) or ""
    if len(text) >= _SHORT_TEXT or len(lines) <= len(text):
        return text
    return lines if len(lines) <= NOTICE_CHARS else html_lines(tree)


def _mark_headings(tree: Any) -> None:
    for heading in tree.iter(*_HEADINGS):
        level = int(heading.tag[1:])
        heading.text = f"{heading_mark(level)}{(heading.text or '').lstrip()}"


def _mark_table_headers(tree: Any) -> None:
    """Leave `th` to the cells of one row, the table's header: a rule is written below each."""
    for table in tree.iter("table"):
        rows = [row for row in table.iter("tr") if next(row.iterancestors("table")) is table]
        header = next((n for n in reversed(range(min(3, len(rows)))) if _is_header(rows[n], n)), -1)
        for number, row in enumerate(rows):
            for cell in row.iterchildren("td", "th"):
                cell.tag = "th" if number == header else "td"


def _is_header(row: Any, number: int) -> bool:
    """Return whether all cells of the row are headers, by their tags or, at the top, in bold."""
    cells = list(row.iterchildren("td", "th"))
    if not cells or len(cells) == 1:
        return False
    parent = row.getparent()
    if parent is not None and parent.tag == "thead":
        return True
    if all(cell.tag == "th" for cell in cells):
        return True
    return number == 0 and all(map(_is_bold, cells))


def _is_bold(cell: Any) -> bool:
    bold = "".join("".join(one.itertext()) for one in cell.iter("b", "strong")).strip()
    return bool(bold) and bold == "".join(cell.itertext()).strip()


def _html_title(tree: Any) -> str:
    titles = (" ".join(node.itertext()) for tag in ("title", "h1") for node in tree.iter(tag))
    return next((" ".join(title.split()) for title in titles if title.strip()), "")


def _canonical_url(tree: Any) -> str | None:
    for link in tree.iter("link"):
        if "canonical" in (link.get("rel") or "").lower().split():
            with suppress(InvalidUrlError):
                return normalize_url((link.get("href") or "").strip())
    return None
