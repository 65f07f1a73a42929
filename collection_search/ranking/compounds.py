"""Words that are made of two others, as German makes them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from .stemming import STEMS

if TYPE_CHECKING:
    from collections.abc import Callable

SHORTEST_PART: Final = 4
"""Characters of a word that stands inside another."""
_LONGEST: Final = 40
"""Characters of a compound."""
_BEYOND_LATIN: Final = "\u0250"


def split_compound(stem: str, is_known: Callable[[str], bool]) -> tuple[str, ...]:
    """Return the two known stems of which an unknown one is made; nothing where there are none.

    The shortest second part counts.

    >>> split_compound("sauerteigansatz", {"sauerteig", "ansatz"}.__contains__)
    ('sauerteig', 'ansatz')
    >>> split_compound("sonnenbrill", {"sonn", "brill"}.__contains__)
    ('sonn', 'brill')
    >>> split_compound("ansatz", {"sauerteig", "satz"}.__contains__)
    ()
    """
    if not 2 * SHORTEST_PART <= len(stem) <= _LONGEST or not stem.isalpha():
        return ()
    if max(stem) >= _BEYOND_LATIN or is_known(stem):
        return ()
    for place in range(len(stem) - SHORTEST_PART, SHORTEST_PART - 1, -1):
        tail = stem[place:]
        if is_known(tail):
            for head in _forms(stem[:place]):
                if is_known(head):
                    return head, tail
    return ()


def _forms(head: str) -> list[str]:
    """Return the stems that a first part may stand for, as `sonnen` does for `sonn`."""
    plain = head.removesuffix("s")
    forms = head, STEMS["de"][head], plain, STEMS["de"][plain]
    return [form for form in dict.fromkeys(forms) if len(form) >= SHORTEST_PART]
