"""What a worker did with the pages that it took, counted while it works."""

from __future__ import annotations

import threading
from collections import Counter
from typing import TYPE_CHECKING, Any, Final, cast

if TYPE_CHECKING:
    from ...contracts.ingestion import Claim
    from ...ports import Ledger, Storage
    from .terminal import Screen

_ENDS: Final = ("new", "changed", "unchanged", "gone", "failed")


class Tally:
    """Counts the ends of pages since it was told last; names each that failed at once."""

    def __init__(self, screen: Screen) -> None:
        self._screen = screen
        self._lock = threading.Lock()
        self._counts: Counter[str] = Counter()

    def ended(self, how: str) -> None:
        """Count a page."""
        with self._lock:
            self._counts[how] += 1

    def failed(self, claim: Claim, error: str) -> None:
        """Count and name a page that was given up."""
        self.ended("failed")
        self._screen.warn(f"{claim.scope.collection}: {claim.url} was not ingested: {error}")

    def tell(self) -> None:
        """Print the sum since the last one; nothing where nothing was done."""
        with self._lock:
            counts, self._counts = self._counts, Counter()
        if counts:
            parts = [f"{counts[how]} {how}" for how in _ENDS if counts[how]]
            total = counts.total()
            self._screen.note(f"{total} {'page' if total == 1 else 'pages'}: {', '.join(parts)}.")

    def watching(self, store: Storage) -> Storage:
        """Return the same store, whose ledger reports each end of a page here."""
        return cast("Storage", _Watched(store, ledger=_WatchedLedger(store.ledger, self)))


class _Watched:
    """Something with a part of it replaced."""

    def __init__(self, whole: object, **parts: object) -> None:
        self._whole = whole
        vars(self).update(parts)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._whole, name)


class _WatchedLedger(_Watched):
    _whole: Ledger

    def __init__(self, ledger: Ledger, tally: Tally) -> None:
        super().__init__(ledger)
        self._tally = tally

    def finish(self, claim: Claim, *given: Any, **named: Any) -> bool:
        is_ours = self._whole.finish(claim, *given, **named)
        if is_ours:
            self._tally.ended("new" if claim.text_hash is None else "changed")
        return is_ours

    def unchanged(self, claim: Claim, *given: Any, **named: Any) -> bool:
        is_ours = self._whole.unchanged(claim, *given, **named)
        if is_ours:
            self._tally.ended("unchanged")
        return is_ours

    def retire(self, claim: Claim, *given: Any, **named: Any) -> bool:
        is_ours = self._whole.retire(claim, *given, **named)
        if is_ours:
            self._tally.ended("gone")
        return is_ours

    def fail(self, claim: Claim, error: str, *, retry_in_s: float | None) -> bool:
        is_over = self._whole.fail(claim, error, retry_in_s=retry_in_s)
        if is_over:
            self._tally.failed(claim, error)
        return is_over
