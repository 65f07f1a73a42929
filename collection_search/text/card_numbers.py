"""Numbers of payment cards in a text."""

from __future__ import annotations

import re
from typing import Final

CARD: Final = "[card]"
CARD_FORM: Final = r"(?<![\w+./-])[2-9](?:[ \xa0-]?\d){12,39}(?![\w-])"
"""Digits in groups, among which a card's number may be. Only cards of airlines begin with 1."""

_GROUP: Final = re.compile(r"\d+")
_DOUBLED: Final = {str(digit): sum(divmod(2 * digit, 10)) for digit in range(10)}
"""The digit sum of twice the digit."""
_BOOK: Final = ("978", "979")
_SHORTEST: Final = 13
_LONGEST: Final = 19


def mask_cards(digits: str) -> str:
    """Return groups of digits, divided by blanks or dashes, without the numbers of cards.

    >>> mask_cards("4111 1111 1111 1111 2027"), mask_cards("4111-1111-1111-1112")
    ('[card] 2027', '4111-1111-1111-1112')
    """
    groups = list(_GROUP.finditer(digits))
    shown, done, first = [], 0, 0
    while first < len(groups):
        last = _end_of_card(groups, first)
        if last is not None:
            shown += [digits[done : groups[first].start()], CARD]
            done, first = groups[last].end(), last
        first += 1
    return "".join([*shown, digits[done:]])


def is_card_number(digits: str) -> bool:
    """Return whether 13 to 19 digits have the check digit of a card's number.

    >>> is_card_number("4111111111111111"), is_card_number("4111111111111112")
    (True, False)
    """
    if not _SHORTEST <= len(digits) <= _LONGEST or digits.startswith(("0", "1", *_BOOK)):
        return False
    return (
        sum(map(int, digits[-1::-2])) + sum(map(_DOUBLED.__getitem__, digits[-2::-2]))
    ) % 10 == 0


def _end_of_card(groups: list[re.Match[str]], first: int) -> int | None:
    """Return the last group of the longest card number that begins with this group."""
    number, found = "", None
    for place in range(first, len(groups)):
        number += groups[place][0]
        if len(number) > _LONGEST:
            break
        if is_card_number(number):
            found = place
    return found
