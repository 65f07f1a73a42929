"""Words that were divided at the end of a line, joined again."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Set as AbstractSet

_SOFT: Final = "\N{SOFT HYPHEN}"
_DIVIDED: Final = "\ufffe"
"""What PDFium writes for a hyphen at the end of a line, whose end it leaves out."""
_BREAK = re.compile(
    rf"""(?P<before>-)?(?P<left>[^\W_]+)
        (?:{_DIVIDED}[ \t]*\n?|-[ \t]*\n(?=[ \t]*[^\W\d_])|{_SOFT}[ \t]*\n)[ \t]*
        (?P<right>[^\W_]+)(?P<after>-(?=\w))?""",
    re.VERBOSE,
)
_WORD = re.compile(r"[^\W\d_]+(?:-[^\W\d_]+)*")
_CONJUNCTIONS: Final = frozenset({"and", "or", "und", "oder", "bzw", "sowie", "et", "ou", "y", "e"})
"""Words after the first half of `Haupt- und Nebensatz`."""
_FIRST_PARTS: Final = frozenset({
    "all", "cross", "double", "ever", "ex", "five", "four", "full", "half", "hand", "high", "ill",
    "large", "left", "long", "low", "mid", "multi", "near", "non", "one", "open", "quasi", "real",
    "right", "second", "self", "semi", "short", "single", "small", "state", "third", "three", "top",
    "two", "well", "wide",
})  # fmt: skip
"""First parts of compounds that are written with a hyphen."""


def join_hyphenated(text: str) -> str:
    r"""Return the text with divided words joined; a compound keeps its hyphen.

    How the document writes a word elsewhere decides first. Soft hyphens inside lines go.

    >>> join_hyphenated("many appli\ufffecations, a well-\nknown COVID\ufffe19 wave")
    'many applications, a well-known COVID-19 wave'
    """
    if not (_DIVIDED in text or _SOFT in text or "-\n" in text or "- \n" in text):
        return text
    known = {word.lower() for word in _WORD.findall(_BREAK.sub(" ", text))}
    joined = _BREAK.sub(lambda found: _joined(found, known), text)
    if _DIVIDED in joined or "-\n" in joined:  # the second half of one is the first of the next
        joined = _BREAK.sub(lambda found: _joined(found, known), joined)
    return joined.replace(_SOFT, "").replace(_DIVIDED, "-")


def _joined(found: re.Match[str], known: AbstractSet[str]) -> str:
    before, left, right, after = (found[name] or "" for name in _BREAK.groupindex)
    if _SOFT in found[0]:
        between = ""
    elif right.lower() in _CONJUNCTIONS:
        between = "- "
    elif before or after or _is_compound(left, right, known):
        between = "-"
    else:
        between = ""
    return f"{before}{left}{between}{right}{after}"


def _is_compound(left: str, right: str, known: AbstractSet[str]) -> bool:
    one, compound = f"{left}{right}".lower(), f"{left}-{right}".lower()
    if one in known or compound in known:
        return one not in known
    if left.isupper() and len(left) > 1:
        return not right.isupper()
    return not right[0].islower() or left[-1].isdigit() or left.lower() in _FIRST_PARTS
