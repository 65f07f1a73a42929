"""The leases of this process: the rows of the ledger that it works on."""

from __future__ import annotations

import threading
import weakref
from collections import Counter
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from ...errors import StoreError
from ...ports.ledger import PER_HOST
from .ownership import this_process

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable

    from ...contracts.ingestion import Claim
    from ...ports import Ledger


class Leases:
    """Claimed rows until they are done or released; safe for threads.

    They cannot be opened again: the engine's next start has its own leases. A lease that cannot be
    renewed or released expires.
    """

    def __init__(self, ledger: Ledger, *, lease_s: float) -> None:
        self.is_open = True
        """Whether further rows are claimed."""
        self._ledger = ledger
        self._lease_s = lease_s
        self._claiming = threading.Lock()
        self._claims: dict[tuple[int, int], Claim] = {}
        _leases.add(self)

    def close(self) -> None:
        """Stop claiming; wait for a claim in progress, so that `all` includes it."""
        self.is_open = False
        with self._claiming:
            return

    def claim(
        self,
        *,
        fetch: bool,
        proxies: Collection[str] = ("",),
        owner: str | None = None,
        **choice: Any,
    ) -> Claim | None:
        """Claim a row, with `fetch` also of a page to fetch by one of the proxies.

        The `owner` is by default this process; the `choice` is for the ledger. Raises StoreError.
        """
        with self._claiming:
            if not self.is_open:
                return None
            # A ledger without pages to fetch need not know these arguments.
            more: dict[str, Any] = (
                {"fetch": True, "busy_hosts": self._busy_hosts(), "proxies": proxies}
                if fetch
                else {}
            )
            more |= choice
            claim = self._ledger.claim(owner or this_process(), lease_s=self._lease_s, **more)
            if claim is not None:  # the fence differs from that of an earlier claim of this row
                self._claims[claim.row_id, claim.fence] = claim
            return claim

    def all(self) -> list[Claim]:
        """Return the claims that are neither done nor released."""
        return list(self._claims.values())

    def forget(self, claim: Claim) -> None:
        """Forget the claim: the ledger knows how its page ended."""
        self._claims.pop((claim.row_id, claim.fence), None)

    def renew(self) -> None:
        """Extend all leases: the heartbeat of this process."""
        with suppress(StoreError):
            for claim in self.all():
                self._ledger.renew(claim, lease_s=self._lease_s)

    def release(self, claims: Iterable[Claim]) -> None:
        """Let others take the rows at once."""
        for claim in claims:
            with suppress(StoreError):
                self._ledger.release(claim)
            self.forget(claim)

    def _busy_hosts(self) -> list[str]:
        """Return the hosts with as many claimed pages as are fetched at a time."""
        counts = Counter(netloc(claim.url) for claim in self.all() if claim.needs_fetch)
        return [host for host, count in counts.items() if count >= PER_HOST]


_leases: weakref.WeakSet[Leases] = weakref.WeakSet()


def has_worked() -> bool:
    """Return whether an engine of this process may have claimed rows."""
    return bool(_leases)


def stop_claiming(*, release: bool) -> None:
    """Claim no further rows in this process; release those in hand if wanted.

    This does not wait for the work on them, whose results the ledger refuses after a release.
    """
    for leases in tuple(_leases):
        leases.close()
        if release:
            leases.release(leases.all())


def netloc(url: str) -> str:
    """Return host and port of a normalized URL, the ledger's key of a host.

    >>> netloc("http://a.example:8080?page=2")
    'a.example:8080'
    """
    return url.partition("://")[2].partition("/")[0].partition("?")[0].lower()
