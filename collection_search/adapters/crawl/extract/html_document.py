"""Title and text of an HTML page."""

from __future__ import annotations

import re
from typing import Any, Final
from urllib.parse import urljoin

from ....errors import InvalidUrlError
from ....text.clean import to_unicode
from ....text.headings import heading_mark, write_headings
from ....text.urls import normalize_url
from .article import article_text
from .blocking_pages import NOTICE_CHARS, read_signs, refuse_blocking_page
from .code_blocks import with_code_lines
from .extracted import EmptyDocumentError, Extracted
from .html_lines import html_lines
from .html_tree import parse_page
from .unseen_parts import remove_unseen, show_shadow_roots

_SHORT_TEXT: Final = 100
_ADDRESS_CHARS: Final = 2_000
_SCHEME = re.compile(r"[a-z][a-z0-9+.-]*:", re.IGNORECASE)
_NOT_FREE = re.compile(r""""isAccessibleForFree"\s*:\s*"?false\b""", re.IGNORECASE)
_HEADINGS: Final = tuple(f"h{level}" for level in range(1, 7))
_UNSEEN_MARKS: Final = {"\N{PILCROW SIGN}": "", "\N{SOFT HYPHEN}": "", "\f": "\n"}


def read_html(page: str) -> Extracted:
    """Return title and text of a page.

    Raises ExtractionError for a page that would hang a parser, EmptyDocumentError for one that
    stands in place of a document.
    """
    tree, is_deep = parse_page(page)
    title, canonical_url = _html_title(tree), _canonical_url(tree)  # extraction changes the tree
    asks_password = bool(tree.xpath("boolean(//input[@type='password'])"))
    return Extracted(
        to_unicode(title),
        with_headings(_text(tree, title, lines_alone=is_deep)),
        canonical_url,
        not_free=_NOT_FREE.search(page) is not None,
        asks_password=asks_password,
    )


def fragment_lines(markup: str, *, below: int) -> str:
    """Return the lines of a part of a page, with marks for headings, whose levels lie below this.

    Raises ExtractionError for markup that would hang a parser.
    """
    try:
        tree, _ = parse_page(markup)
    except EmptyDocumentError:
        return ""
    show_shadow_roots(tree)
    remove_unseen(tree)
    _mark_structure(tree, below=below)
    return html_lines(tree)


def with_headings(text: str) -> str:
    """Return a text whose headings are marked as it is stored."""
    for mark, shown in _UNSEEN_MARKS.items():
        text = text.replace(mark, shown)
    return to_unicode(write_headings(with_code_lines(text)))


def _text(tree: Any, title: str, *, lines_alone: bool) -> str:
    """Return the text of the page's article, or all of its lines where it has none.

    With `lines_alone` no article is looked for, since that takes time by the depth of the tree.
    """
    show_shadow_roots(tree)
    signs = read_signs(tree, title)
    consent = remove_unseen(tree)
    _mark_structure(tree)
    lines = html_lines(tree, enough=NOTICE_CHARS)
    refuse_blocking_page(signs, tree, lines, consent)
    text = "" if lines_alone else article_text(tree)
    if len(text) >= _SHORT_TEXT or len(lines) <= len(text):
        return text
    return lines if len(lines) <= NOTICE_CHARS else html_lines(tree)


def _mark_structure(tree: Any, *, below: int = 0) -> None:
    """Mark headings, whose levels lie below this one, and the headers of tables."""
    for heading in tree.iter(*_HEADINGS):
        level = int(heading.tag[1:]) + below
        heading.text = f"{heading_mark(level)}{(heading.text or '').lstrip()}"
    _mark_table_headers(tree)


def _mark_table_headers(tree: Any) -> None:
    """Leave `th` to the cells of one row, the table's header: a rule is written below each."""
    rows_of: dict[Any, list[Any]] = {}
    for row in tree.iter("tr"):
        rows_of.setdefault(next(row.iterancestors("table"), None), []).append(row)
    rows_of.pop(None, None)  # rows outside of tables
    for rows in rows_of.values():
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
    """Return the first address that can be the page's own."""
    hrefs = (
        (link.get("href") or "").strip()
        for link in tree.iter("link")
        if "canonical" in (link.get("rel") or "").lower().split()
    )
    base = next((one.get("href") for one in tree.iter("base") if one.get("href")), "").strip()
    return next((address for href in hrefs if (address := _address(base, href))), None)


def _address(base: str, href: str) -> str | None:
    """Return an absolute address in normal form, a relative one joined with the base."""
    if not href or len(href) > _ADDRESS_CHARS:
        return None
    try:
        address = urljoin(base, href)
        is_relative = _SCHEME.match(address) is None
        return address if is_relative else normalize_url(address)
    except (InvalidUrlError, ValueError):
        return None
