"""What is counted beside a search: quotas, answers that need not be paid twice, and money.

One Protocol per need. They are synchronous and safe for many threads and processes at once: a
coroutine reaches them through a worker thread, where nothing else is said. All raise StoreError.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from decimal import Decimal
from typing import TYPE_CHECKING, Final, Literal, Protocol, TypeAlias, runtime_checkable

from ..errors import InputError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

SpendKind = Literal["search", "chat", "embedding", "crawl"]
SpendGroup = Literal["day", "run", "name"]

Payload: TypeAlias = "bytes | Callable[[], bytes]"
"""An answer as it is kept, or what makes it: a store calls that when it gets to it, in a thread."""

MAX_COUNT: Final = 10**15
"""Requests or tokens of one entry; sums of them stay whole numbers in every database."""


@runtime_checkable
class QuotaStore(Protocol):
    """Requests counted per (provider, key id, period), for all processes together.

    A reservation whose process died stays counted: a quota is never overrun. `period` names a
    month or a day, "2026-11" or "2026-11-21". The key id is a hash, never the key.
    """

    def reserve(
        self, provider: str, key_id: str, *, period: str, limit: int, count: int = 1
    ) -> bool:
        """Count `count` requests before they are made; False, and nothing counted, at the limit."""
        ...

    def settle(
        self, provider: str, key_id: str, *, period: str, used: int, reserved: int = 1
    ) -> int:
        """Replace a reservation by what was used, and return the count of the period after it."""
        ...

    def used(self, provider: str, key_id: str, *, period: str) -> int:
        """Return the requests that are counted, open reservations included."""
        ...


@runtime_checkable
class AnswerCache(Protocol):
    """Answers by tenant, kind ("search", "plan" ...) and key, never read across tenants.

    What was put is found at once by every store of this process. It may be kept a moment later,
    at the latest by `flush`, and when the process ends; what could not be kept is in the log.
    """

    def get(self, tenant_id: str, kind: str, key: str, *, max_age_s: float) -> bytes | None:
        """Return the payload if it is younger than `max_age_s`, else None."""
        ...

    def put(self, tenant_id: str, kind: str, key: str, payload: Payload) -> None:
        """Keep a payload in place of the one with the same key."""
        ...

    def get_many(
        self, tenant_id: str, kind: str, keys: Sequence[str], *, max_age_s: float
    ) -> dict[str, bytes]:
        """Return the payloads that `get` would return, by key, in one read."""
        ...

    def lacks(self, tenant_id: str, kind: str, keys: Sequence[str]) -> bool:
        """Return whether none of the keys is kept; False also where that is not known.

        It waits for no disk: a coroutine may call it. What another process kept in the last
        seconds it may not know of.
        """
        ...

    def put_many(self, tenant_id: str, kind: str, payloads: Mapping[str, Payload]) -> None:
        """Keep all payloads, by key. It waits for no disk: a coroutine may call it."""
        ...

    def flush(self) -> None:
        """Return when what was put before is kept, for other processes as well."""
        ...

    def prune(self, older_than_s: float, *, tenant_id: str | None = None) -> int:
        """Drop the answers of that age, of one tenant or of all; return how many."""
        ...

    def delete_tenant(self, tenant_id: str) -> int:
        """Drop all answers of a tenant; return how many."""
        ...


@dataclass(frozen=True, slots=True)
class SpendEntry:
    """One thing that a run paid for, or was spared.

    Raises InputError for a time, cost or count that is no finite number from 0.
    """

    tenant_id: str
    run_id: str
    at: float
    """Seconds since 1970."""
    kind: SpendKind
    name: str
    """The provider, or the model."""
    requests: int = 1
    """Requests that were billed; of a cached answer those that it spared."""
    input_tokens: int = 0
    output_tokens: int = 0
    cost_usd: Decimal | float | None = None
    """None: not known. A float counts as the shortest decimal number that it stands for."""
    cached: bool = False

    def __post_init__(self) -> None:
        counts = (self.requests, self.input_tokens, self.output_tokens)
        if not all(0 <= count <= MAX_COUNT for count in counts):
            raise InputError(f"Requests and tokens must be 0 to {MAX_COUNT}, got {counts}.")
        if not 0 <= self.at < math.inf:
            raise InputError(f"A time must be seconds since 1970, got {self.at}.")
        cost = self.exact_cost
        if cost is not None and not (cost.is_finite() and cost >= 0):
            raise InputError(f"A cost must be a finite amount from 0, got {cost}.")

    @property
    def exact_cost(self) -> Decimal | None:
        """Return the cost without a rounding error.

        >>> SpendEntry("t", "r", 0, "search", "tavily", cost_usd=0.008).exact_cost
        Decimal('0.008')
        """
        cost = self.cost_usd
        if cost is None:
            return None
        return Decimal(repr(cost)) if isinstance(cost, float) else Decimal(cost)


@dataclass(frozen=True, slots=True)
class SpendTotal:
    """What the entries of one group come to."""

    group: str
    """The UTC day, the run's id, or the provider's or model's name."""
    first_at: float | None = None
    """Seconds since 1970, of the group's oldest entry; None without entries."""
    kind: SpendKind | None = None
    """Where totals are by name."""
    requests: int = 0
    """Without those that were spared."""
    input_tokens: int = 0
    output_tokens: int = 0
    cost_usd: Decimal = Decimal(0)
    """Sum of the known costs."""
    unpriced: int = 0
    """Entries whose cost is not known: the bill is higher than `cost_usd` if this is not 0."""
    cached_requests: int = 0
    """Requests that a cached answer spared."""


@runtime_checkable
class SpendLedger(Protocol):
    """What was spent, by tenant and run."""

    def add(self, entries: Iterable[SpendEntry]) -> None:
        """Keep the entries in one transaction."""
        ...

    def totals(
        self, tenant_id: str, *, since: float | None = None, by: SpendGroup = "day"
    ) -> list[SpendTotal]:
        """Return sums per UTC day, run, or kind and name, of entries not older than `since`.

        `since` is in seconds since 1970. Days and runs come oldest first, names by kind and name.
        """
        ...

    def run_total(self, tenant_id: str, run_id: str) -> SpendTotal:
        """Return what one run came to; zeros when nothing is known of it."""
        ...

    def forget(self, older_than_s: float) -> int:
        """Drop the entries of that age, of all tenants; return how many."""
        ...

    def forget_tenant(self, tenant_id: str) -> int:
        """Drop all entries of a tenant; return how many."""
        ...


@runtime_checkable
class UsageStore(QuotaStore, AnswerCache, SpendLedger, Protocol):
    """All three in one place."""
