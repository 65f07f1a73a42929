"""Parts of an article that its extraction would take for something beside it, or for nothing."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from collections.abc import Iterator

_HEADINGS: Final = tuple(f"h{level}" for level in range(1, 7))
_PROSE: Final = ("p", "li", "dt", "dd", "td", "th", "blockquote", "address", "figcaption")
_LEFT_OUT: Final = ("time", "label", "output")
"""Elements of forms and bylines, which are words where they stand in a sentence."""
_NOTES: Final = frozenset({
    "admonition", "callout", "caution", "danger", "footnote", "footnote-list", "footnotes", "hint",
    "important", "note", "starlight-aside", "tip", "topic", "warning",
})  # fmt: skip
_NOTE_ROLES: Final = frozenset({"note", "doc-footnote", "doc-endnotes", "doc-tip", "doc-notice"})
_ADDRESSES: Final = ("mailto:", "tel:")
_EDIT_LINKS: Final = "mw-editsection"
_INLINE: Final = frozenset({
    "a", "abbr", "acronym", "b", "bdi", "bdo", "big", "br", "cite", "code", "data", "del", "dfn",
    "em", "font", "i", "img", "ins", "kbd", "mark", "q", "ruby", "s", "samp", "small", "span",
    "strike", "strong", "sub", "sup", "time", "tt", "u", "var", "wbr",
})  # fmt: skip
_PARAGRAPH_CHARS: Final = 80
"""A `div` with less text of its own is taken for a label."""


def keep_parts(tree: Any) -> None:
    """Make ordinary elements of an article's parts, and remove links to its own headings.

    Such a link is a sign without letters: sections with it look as if they were lists of links.
    """
    for link in list(_heading_links(tree)):
        link.drop_tree()
    for part in [*_words(tree), *_buttons(tree)]:
        part.drop_tag()
    for formula in list(_formulas(tree)):
        _spell_out(formula)
    for note in tree.iter("aside"):
        if _is_note(note) and _is_in(note, "main", "article"):
            note.tag = "div"
    for block in tree.iter("div"):
        if _is_paragraph(block):
            block.tag = "p"


def _heading_links(tree: Any) -> Iterator[Any]:
    """Yield the links of headings that lead to themselves, or to the editor of a wiki."""
    for link in tree.iter("a"):
        if (link.get("href") or "").startswith("#") and len(link) == 0:
            text = (link.text or "").strip()
            if text and not any(map(str.isalnum, text)) and _is_in(link, *_HEADINGS):
                yield link
    for span in tree.iter("span"):
        if _EDIT_LINKS in (span.get("class") or "").split():
            yield span


def _words(tree: Any) -> Iterator[Any]:
    """Yield what belongs to a sentence."""
    for part in tree.iter(*_LEFT_OUT):
        if _is_in(part, *_PROSE) and not _is_in(part, "form"):
            yield part
    for link in tree.iter("a"):
        if (link.get("href") or "").lower().startswith(_ADDRESSES) and _is_in(link, *_PROSE):
            yield link


def _buttons(tree: Any) -> Iterator[Any]:
    """Yield buttons that are the text of a heading: they open the part below it."""
    return (button for button in tree.iter("button") if _is_in(button, *_HEADINGS))


def _formulas(tree: Any) -> Iterator[Any]:
    """Yield formulas that have no source in TeX, which an extraction would read."""
    for formula in tree.iter("math"):
        if not formula.get("alttext") and formula.find(".//annotation") is None:
            yield formula


def _spell_out(formula: Any) -> None:
    text = "".join("".join(formula.itertext()).split())
    for child in list(formula):
        formula.remove(child)
    formula.tag, formula.text = "span", text


def _is_note(aside: Any) -> bool:
    names = (aside.get("class") or "").split()
    return aside.get("role") in _NOTE_ROLES or not _NOTES.isdisjoint(names)


def _is_paragraph(block: Any) -> bool:
    own = (block.text or "", *(child.tail or "" for child in block))
    if sum(len(text.strip()) for text in own) < _PARAGRAPH_CHARS:
        return False
    return all(part.tag in _INLINE for part in block.iterdescendants())


def _is_in(element: Any, *names: str) -> bool:
    return next(element.iterancestors(*names), None) is not None
