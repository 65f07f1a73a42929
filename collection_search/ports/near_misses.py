"""Names that are probably misspelt."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Iterable

_LEAST_RATIO: Final = 0.85


def find_near_misses(
    names: Iterable[str], known: Iterable[str], *, has_forms: bool = True
) -> dict[str, str]:
    """Return the names that are nearly a known name, with that name.

    A known name that is present too does not count. With `has_forms` a plural, and a longer or
    shorter form of a single word, is a different word.

    >>> find_near_misses(["key_varaible", "pageSize"], ["key_variable", "page_size"])
    {'key_varaible': 'key_variable', 'pageSize': 'page_size'}
    >>> find_near_misses(["resource", "api_keys"], ["source", "api_key"])
    {}
    >>> find_near_misses(["timeout_s"], ["timeout"], has_forms=False)
    {'timeout_s': 'timeout'}
    """
    there = set(names)
    missing = [name for name in known if name not in there]
    return {
        name: meant
        for meant in missing
        for name in sorted(there.difference(known))
        if _is_near(name, meant, has_forms=has_forms)
    }


def _is_near(name: str, meant: str, *, has_forms: bool) -> bool:
    given, right = (one.replace("_", "").lower() for one in (name, meant))
    if given == right:
        return True
    is_longer = "_" not in meant and (given in right or right in given)
    if (has_forms and (is_longer or given == f"{right}s")) or abs(len(given) - len(right)) > 1:
        return False
    from difflib import SequenceMatcher

    return SequenceMatcher(None, given, right).ratio() >= _LEAST_RATIO
