"""Tags of an untrusted page, found without a parser, in time proportional to the page's size."""

from __future__ import annotations

import re
from functools import cache
from html import unescape
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Iterator

_WITHOUT_TAGS: Final = "script|style|textarea|title"
"""Elements whose text is no markup."""
_ATTRIBUTES = re.compile(r"""(?:[^>=]++|=\s*+(?:"[^"]*+"|'[^']*+')?+)*+""")
"""All up to the end of a tag; a bracket in a quoted value is not its end."""
_ATTRIBUTE = re.compile(r"""([^\s=/]++)(?:\s*+=\s*+(?:"([^"]*+)"|'([^']*+)'|([^\s"']\S*+)))?+""")
_VALUE_CHARS: Final = 2_000
"""The value of an attribute that is longer is left out."""


def tags_in(text: str, name: str) -> Iterator[dict[str, str]]:
    """Yield the attributes of each tag of this name, which stands in no comment and no script.

    >>> list(tags_in('<!-- <a href="/x"> --><a title="a > b" HREF=/y>', "a"))
    [{'title': 'a > b', 'href': '/y'}]
    """
    position = 0
    beginning = _beginning(name)
    while found := beginning.search(text, position):
        if found["raw"] is None and found["tag"] is None:
            end = text.find("-->", found.end() - 2)
            if end < 0:
                return
            position = end + len("-->")
            continue
        attributes = _ATTRIBUTES.match(text, found.end())
        position = attributes.end() if attributes else found.end()
        if position == len(text):
            return
        if found["tag"] is not None:
            yield _values(text[found.end() : position])
        elif text[position - 1] != "/":  # XHTML has scripts without text
            closing = _closing(found["raw"].lower()).search(text, position)
            if closing is None:
                return
            position = closing.end()


@cache
def _beginning(name: str) -> re.Pattern[str]:
    return re.compile(
        rf"<(?:!--|(?P<raw>{_WITHOUT_TAGS})(?=[\s/>])|(?P<tag>{name})(?=[\s/]))", re.IGNORECASE
    )


@cache
def _closing(name: str) -> re.Pattern[str]:
    return re.compile(rf"</{name}(?=[\s/>])", re.IGNORECASE)


def _values(attributes: str) -> dict[str, str]:
    """Return the first value of each attribute that has one, without blanks around it."""
    values: dict[str, str] = {}
    for found in _ATTRIBUTE.finditer(attributes):
        value = found[2] or found[3] or found[4] or ""
        if len(value) <= _VALUE_CHARS:
            values.setdefault(found[1].lower(), unescape(value).strip())
    return values
