"""The tree of an untrusted HTML page."""

from __future__ import annotations

import re
from importlib import import_module
from typing import Any, Final

from ....errors import ExtractionError
from .extracted import EmptyDocumentError

TAGS: Final = 600_000
"""A page with more angle brackets is refused."""
ATTRIBUTES: Final = 2_000
"""A page with more in one tag is refused: parsers compare every two of them."""

_QUOTED = re.compile(r"""=\s*+(?:"[^"]*"|'[^']*')""")
_ENDLESS_TAG = re.compile(rf"<[a-zA-Z](?:[^<>\s/]*+[\s/]++){{{ATTRIBUTES}}}")
_ATTRIBUTES_ERROR: Final = "The page has a tag with thousands of attributes."
_CONTROLS: Final = {
    **dict.fromkeys((*range(9), *range(0x0E, 0x20), 0xFFFE, 0xFFFF)),
    **dict.fromkeys((0x0B, 0x0C), " "),
}
"""Characters that no tree may hold; a NUL would end the page."""
_HEAD: Final = 4_096
_CLOSED_ROOT = re.compile(r"(<html\b[^<>]*)/>", re.IGNORECASE)
"""An end of the page at its beginning, which browsers ignore."""
_FORMATTING: Final = "font|center|big|small|tt|b|i|u|s|em|strong"
_FORMATTING_TAG = re.compile(rf"</?(?:{_FORMATTING})(?:\s[^<>]*)?>", re.IGNORECASE)
_TELLING_TAG = re.compile(
    rf"<(?:{_FORMATTING})\s[^<>]*\b(?:style|class|id|hidden)\b", re.IGNORECASE
)


def parse_page(page: str) -> tuple[Any, bool]:
    """Return the `html` element of a page, and whether it is deep: hundreds of elements nest.

    The tree ends where the page has more than 2,000 elements inside one another. Raises
    ExtractionError for a page that would hang a parser, EmptyDocumentError for one without an
    element.
    """
    refuse_endless(page)
    tree, is_whole = _parsed(page)
    if not is_whole and not _TELLING_TAG.search(page):  # old pages do not close them
        tree, is_whole = _parsed(_FORMATTING_TAG.sub("", page))
    if not is_whole:
        tree, _ = _parsed(page, huge_tree=True)
    if tree.xpath(f"boolean(//@*[{ATTRIBUTES + 1}])"):  # the pattern above can miss some
        raise ExtractionError(_ATTRIBUTES_ERROR)
    return tree, not is_whole


def refuse_endless(page: str) -> None:
    """Raise ExtractionError for a page that would hang a parser."""
    if page.count("<") > TAGS:
        raise ExtractionError(f"The page has more than {TAGS:,} tags.")
    if _ENDLESS_TAG.search(_QUOTED.sub("= ", page)):
        raise ExtractionError(_ATTRIBUTES_ERROR)


def _parsed(page: str, *, huge_tree: bool = False) -> tuple[Any, bool]:
    """Return the tree, and whether the parser read the page to its end.

    It ends at 255 elements inside one another, or at 2,047 with `huge_tree`.
    """
    etree: Any = import_module("lxml.etree")
    html: Any = import_module("lxml.html")
    parser = html.HTMLParser(
        encoding="utf-8",
        huge_tree=huge_tree,
        remove_comments=True,
        remove_pis=True,
        collect_ids=False,
        default_doctype=False,
    )
    page = page.translate(_CONTROLS)
    head = _CLOSED_ROOT.sub(r"\1>", page[:_HEAD], count=1)
    data = f"{head}{page[_HEAD:]}".encode("utf-8", "replace")
    try:
        tree = html.document_fromstring(data, parser=parser)
    except etree.ParserError as error:
        raise EmptyDocumentError("The document holds no text.") from error
    last = parser.error_log.last_error
    return tree, last is None or not last.message.startswith("Excessive depth")
