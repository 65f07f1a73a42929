"""The beginning of XML, which decides what it is, whatever its server calls it."""

from __future__ import annotations

import re
from typing import Final, Literal

_DECLARED = re.compile(r"\ufeff?\s*+<\?xml\s", re.IGNORECASE)
_ROOT = re.compile(
    r"""\ufeff?\s*+
    (?:(?:<\?[^<>]{0,1000}+>|<!--(?:[^-]|-(?!->)){0,3000}+-->|<!DOCTYPE[^<>\[\]]{0,1000}+>)\s*+)*+
    <(?P<declares>!DOCTYPE\s++)?(?P<name>[a-z][\w:.-]{0,50})""",
    re.IGNORECASE | re.VERBOSE,
)
_FEEDS: Final = frozenset({"rss", "feed", "atom:feed", "rdf:rdf"})
_SITEMAPS: Final = frozenset({"urlset", "sitemapindex"})
_HTML: Final = frozenset({
    "html", "head", "body", "title", "style", "meta", "link", "table", "div", "span", "center",
    "article", "section", "main", "header", "nav", "form", "ul", "ol", "h1", "h2", "h3", "p", "a",
})  # fmt: skip


def xml_kind(text: str) -> Literal["feed", "other"] | None:
    """Return what the text is if it is XML, but None if it is XHTML or no XML.

    >>> xml_kind('<?xml version="1.0"?><rss version="2.0">'), xml_kind("<urlset>")
    ('feed', 'other')
    >>> xml_kind('<?xml version="1.0"?><!DOCTYPE html><html>'), xml_kind("<p>Words")
    (None, None)
    """
    root = _ROOT.match(text)
    name = root["name"].lower() if root else ""
    if name in _FEEDS:
        return "feed"
    is_other = name in _SITEMAPS or (name and name not in _HTML and _DECLARED.match(text))
    return "other" if is_other else None


def declares_entities(text: str) -> bool:
    """Return whether the text has a document type with declarations of its own.

    >>> declares_entities('<!DOCTYPE rss [<!ENTITY a "b">]><rss>')
    True
    >>> declares_entities('<!DOCTYPE rss PUBLIC "-//Netscape//DTD RSS 0.91//EN" "a.dtd"><rss>')
    False
    """
    root = _ROOT.match(text)
    return root is not None and root["declares"] is not None
