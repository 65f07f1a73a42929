"""Whether a site asks that a page is not indexed: by a header or by the page's own metadata.

Untrusted pages are not parsed here, as in `site`: the time is proportional to the size.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from .extract.charset import decode_page

if TYPE_CHECKING:
    from ...contracts.page import FetchedPage

_HEAD_BYTES: Final = 1 << 18
"""Metadata stand at the beginning of a page."""
_REFUSALS: Final = frozenset({"noindex", "none"})
_META = re.compile(r"<meta\s([^<>]{1,3000}+)>", re.IGNORECASE)
_ATTRIBUTE = re.compile(
    r"""\b(name|content)\s{0,9}=\s{0,9}(?:"([^"]{0,1000}+)"|'([^']{0,1000}+)'|([^\s"'>]{1,1000}+))""",
    re.IGNORECASE,
)
_AGENT = re.compile(r"\s*([\w.*-]+)\s*:(.*)", re.DOTALL)
_VALUED: Final = frozenset({
    "max-snippet", "max-image-preview", "max-video-preview", "unavailable_after",
})  # fmt: skip
"""Directives that have a value after a colon, as names of crawlers have directives."""


def refuses_indexing(page: FetchedPage, agent: str) -> bool:
    """Return whether the page must not be indexed by the crawler `agent`, or by any."""
    if any(is_refusal(value, agent) for value in page.robots_tags):
        return True
    if page.kind != "html":
        return False
    text = _without_comments(decode_page(page.body[:_HEAD_BYTES], page.charset))
    return any(_is_meta_refusal(meta[1], agent) for meta in _META.finditer(text))


def is_refusal(header: str, agent: str) -> bool:
    """Return whether a header X-Robots-Tag refuses the crawler.

    >>> is_refusal("noindex, nofollow", "tea-bot"), is_refusal("otherbot: noindex", "tea-bot")
    (True, False)
    >>> is_refusal("max-snippet: 20, NONE", "tea-bot"), is_refusal("Tea-Bot: noindex", "tea-bot")
    (True, True)
    """
    is_meant = True
    for part in header.split(","):
        named = _AGENT.fullmatch(part)
        if named and named[1].lower() not in _VALUED:
            is_meant, part = named[1].lower() in {"*", agent}, named[2]  # noqa: PLW2901
        if is_meant and part.strip().lower() in _REFUSALS:
            return True
    return False


def _is_meta_refusal(attributes: str, agent: str) -> bool:
    found = {
        one[1].lower(): one[2] or one[3] or one[4] or "" for one in _ATTRIBUTE.finditer(attributes)
    }
    if found.get("name", "").strip().lower() not in {"robots", agent}:
        return False
    return any(part.strip().lower() in _REFUSALS for part in found.get("content", "").split(","))


def _without_comments(text: str) -> str:
    parts, position = [], 0
    while (start := text.find("<!--", position)) >= 0:
        parts.append(text[position:start])
        end = text.find("-->", start)
        if end < 0:
            return "".join(parts)
        position = end + len("-->")
    return "".join([*parts, text[position:]])
