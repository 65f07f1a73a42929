"""What is learnt about a live object, for as long as the object lives."""

from __future__ import annotations

import weakref
from typing import TYPE_CHECKING, Generic, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable

Learnt = TypeVar("Learnt")


class Memory(Generic[Learnt]):
    """One record per object, whatever wraps it and however often; it keeps no object alive.

    Objects are told apart by identity: chat models are often neither hashable nor equal to
    themselves alone.
    """

    def __init__(self, new: Callable[[], Learnt]) -> None:
        self._new = new
        self._records: dict[int, Learnt] = {}

    def of(self, owner: object) -> Learnt:
        """Return the owner's record; a new one each time where it takes no weak reference."""
        known = self._records.get(id(owner))
        if known is not None:
            return known
        try:
            forget = weakref.finalize(owner, self._records.pop, id(owner), None)
        except TypeError:
            return self._new()
        forget.atexit = False
        return self._records.setdefault(id(owner), self._new())
