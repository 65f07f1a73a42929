"""Records about live objects, which end with their objects."""

from __future__ import annotations

import weakref
from typing import TYPE_CHECKING, Generic, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable

Learnt = TypeVar("Learnt")


class Memory(Generic[Learnt]):
    """One record per object, by identity: chat models are often not hashable.

    It does not prevent an object's deletion.
    """

    def __init__(self, new: Callable[[], Learnt]) -> None:
        self._new = new
        self._records: dict[int, Learnt] = {}

    def of(self, owner: object) -> Learnt:
        """Return the owner's record, always a new one where weak references are impossible."""
        known = self._records.get(id(owner))
        if known is not None:
            return known
        try:
            forget = weakref.finalize(owner, self._records.pop, id(owner), None)
        except TypeError:
            return self._new()
        forget.atexit = False
        return self._records.setdefault(id(owner), self._new())
