"""Title and text of a feed of RSS or Atom: each entry with its title, address, date and content."""

from __future__ import annotations

import re
from html import unescape
from html.entities import html5
from importlib import import_module
from itertools import islice
from typing import TYPE_CHECKING, Any, Final

from ....errors import ExtractionError
from ....text.clean import to_unicode
from ....text.headings import heading_mark
from .extracted import Extracted
from .html_document import fragment_lines, with_headings
from .html_tree import refuse_endless
from .xml_beginning import declares_entities

if TYPE_CHECKING:
    from collections.abc import Iterator

ENTRIES: Final = 1_000
"""Further entries are not read; feeds have the newest first."""

_FEED_LEVEL: Final = 1
_ENTRY_LEVEL: Final = 2
_NAMED: Final = re.compile(r"&([A-Za-z][A-Za-z0-9]{1,31});")
_MARKUP: Final = frozenset("<>&\"'")
_DOCUMENT_TYPE: Final = re.compile(r"<!DOCTYPE[^<>\[\]]{0,1000}+>", re.IGNORECASE)
_CONTROLS: Final = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\ufffe\uffff]")
_CONTENT: Final = ("content", "encoded", "summary", "description")
"""Elements with the text of an entry; the first ones have all of it."""
_DATES: Final = ("published", "pubDate", "date", "updated")
_ENTRY: Final = ("item", "entry")
_PLAIN: Final = frozenset({"text", "text/plain"})
_MARKED: Final = frozenset({"html", "xhtml", "text/html", "application/xhtml+xml"})
_NAMESPACES: Final = frozenset({
    "", "http://www.w3.org/2005/Atom", "http://purl.org/atom/ns#", "http://purl.org/rss/1.0/",
    "http://purl.org/rss/1.0/modules/content/", "http://purl.org/dc/elements/1.1/",
})  # fmt: skip
"""Other namespaces have elements of the same names, for pictures and films."""
_UNDECLARED: Final = {"content:encoded": "encoded", "dc:date": "date"}
"""Names whose prefix a feed may have forgotten to declare."""
_ADDRESS_CHARS: Final = 2_000
_LINE_CHARS: Final = 1_000


def read_feed(text: str) -> Extracted:
    """Return title and text of a feed; each entry begins with a heading, if it has a title.

    Raises ExtractionError for a feed that would hang a parser or that declares entities.
    """
    if declares_entities(text):
        raise ExtractionError("The feed declares entities of its own, which are not read.")
    refuse_endless(text)
    root = _parsed(text)
    channel = next((one for one in root if _name(one) == "channel"), root)
    title = _line(channel, "title")
    # entries of RSS 1.0 stand beside the channel
    entries = (one for top in {root: 0, channel: 0} for one in top if _name(one) in _ENTRY)
    parts = [part for entry in islice(entries, ENTRIES) if (part := _entry_text(entry))]
    if parts and title:
        parts.insert(0, f"{heading_mark(_FEED_LEVEL)}{title}")
    return Extracted(to_unicode(title), with_headings("\n\n".join(parts)))


def _parsed(text: str) -> Any:
    """Return the root; nothing outside of the feed is read, and no entity is replaced."""
    etree: Any = import_module("lxml.etree")
    parser = etree.XMLParser(
        encoding="utf-8",  # whatever the feed was in before
        recover=True,
        resolve_entities=False,
        load_dtd=False,
        no_network=True,
        huge_tree=False,
        remove_comments=True,
        remove_pis=True,
        collect_ids=False,
    )
    plain = _DOCUMENT_TYPE.sub("", _NAMED.sub(_character, text), count=1)
    plain = _CONTROLS.sub("", plain).strip("\ufeff \t\r\n")
    try:
        root = etree.fromstring(plain.encode("utf-8", "replace"), parser)
    except etree.XMLSyntaxError as error:
        raise ExtractionError("The feed cannot be read as XML.") from error
    if root is None:
        raise ExtractionError("The feed cannot be read as XML.")
    return root


def _character(entity: re.Match[str]) -> str:
    """Return the character for an entity that HTML has and XML has not."""
    characters = html5.get(f"{entity[1]};", "")
    return entity[0] if not characters or _MARKUP.intersection(characters) else characters


def _entry_text(entry: Any) -> str:
    title = _line(entry, "title")
    facts = (_address(entry), next(filter(None, (_line(entry, name) for name in _DATES)), ""))
    content = next(filter(None, (_content(entry, name) for name in _CONTENT)), "")
    if not title and not content:
        return ""
    heading = f"{heading_mark(_ENTRY_LEVEL)}{title}" if title else ""
    return "\n".join(filter(None, (heading, *facts, content)))


def _content(entry: Any, name: str) -> str:
    found = _child(entry, name)
    if found is None:
        return ""
    kind = (found.get("type") or "html").lower()
    if kind in _PLAIN:
        return "".join(found.itertext()).strip()
    return fragment_lines(_markup(found), below=_ENTRY_LEVEL) if kind in _MARKED else ""


def _markup(element: Any) -> str:
    """Return the markup of a content, which is escaped or consists of elements."""
    etree: Any = import_module("lxml.etree")
    parts = [element.text or ""]
    parts += [etree.tostring(child, encoding="unicode") for child in element]
    return "".join(parts)


def _address(entry: Any) -> str:
    for link in _children(entry, "link"):
        if (link.get("rel") or "alternate") == "alternate":
            address = (link.get("href") or link.text or "").strip()
            if address.startswith(("http://", "https://")) and len(address) <= _ADDRESS_CHARS:
                return "".join(address.split())
    return ""


def _line(parent: Any, name: str) -> str:
    """Return the text of a child in one line, without markup where its type says it has some."""
    found = _child(parent, name)
    if found is None:
        return ""
    is_markup = (found.get("type") or "").lower() in _MARKED
    text = fragment_lines(_markup(found), below=0) if is_markup else "".join(found.itertext())
    return " ".join(unescape(text[:_LINE_CHARS]).split())


def _child(parent: Any, name: str) -> Any | None:
    """Return the first child of this name that has something in it."""
    children = _children(parent, name)
    return next((one for one in children if len(one) or (one.text or "").strip()), None)


def _children(parent: Any, name: str) -> Iterator[Any]:
    return (one for one in parent if _name(one) == name)


def _name(element: Any) -> str:
    """Return the name of an element of feeds, or an empty text for others and for an entity."""
    if not isinstance(element.tag, str):
        return ""
    namespace, _, name = element.tag.removeprefix("{").rpartition("}")
    if namespace in _NAMESPACES or namespace == _namespace_of(element.getparent()):
        return _UNDECLARED.get(name, name)
    return ""


def _namespace_of(parent: Any) -> str | None:
    return None if parent is None else parent.tag.removeprefix("{").rpartition("}")[0]
