"""Ports of quotas, cached answers and spending.

They are synchronous and safe for many threads and processes: a coroutine calls them through a
worker thread unless a method says otherwise. All raise StoreError.
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
"""An answer as it is stored, or a function that a store calls for it in a thread."""

MAX_COUNT: Final = 10**15
"""Most requests or tokens of one entry; sums stay whole numbers in every database."""


@runtime_checkable
class QuotaStore(Protocol):
    """Requests counted per (provider, key id, period), for all processes together.

    A reservation of a dead process stays counted, so that a quota is never exceeded. `period` is a
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
        """Replace a reservation by what was used; return the new count of the period."""
        ...

    def used(self, provider: str, key_id: str, *, period: str) -> int:
        """Return the requests that are counted, open reservations included."""
        ...


@runtime_checkable
class AnswerCache(Protocol):
    """Answers by tenant, kind ("search", "plan" ...) and key, never read across tenants.

    Every store of this process finds a new answer at once. It may be written a moment later, at the
    latest by `flush` or the end of the process; failed writes are logged.
    """

    def get(self, tenant_id: str, kind: str, key: str, *, max_age_s: float) -> bytes | None:
        """Return the payload if it is younger than `max_age_s`, else None."""
        ...

    def put(self, tenant_id: str, kind: str, key: str, payload: Payload) -> None:
        """Store a payload in place of the one with the same key."""
        ...

    def get_many(
        self, tenant_id: str, kind: str, keys: Sequence[str], *, max_age_s: float
    ) -> dict[str, bytes]:
        """Return the payloads that `get` would return, by key, in one read."""
        ...

    def lacks(self, tenant_id: str, kind: str, keys: Sequence[str]) -> bool:
        """Return whether none of the keys is stored; False also when that is not known.

        A coroutine may call it, since it does not wait for the disk. It may miss answers that
        another process stored in the last seconds.
        """
        ...

    def put_many(self, tenant_id: str, kind: str, payloads: Mapping[str, Payload]) -> None:
        """Store all payloads, by key. A coroutine may call it: it does not wait for the disk."""
        ...

    def flush(self) -> None:
        """Wait until all payloads are written, for other processes as well."""
        ...

    def prune(self, older_than_s: float, *, tenant_id: str | None = None) -> int:
        """Delete the answers of that age, of one tenant or of all; return how many."""
        ...

    def delete_tenant(self, tenant_id: str) -> int:
        """Delete all answers of a tenant; return how many."""
        ...


@runtime_checkable
class RunAnswerCache(Protocol):
    """A cache that knows which runs began before their tenant was deleted."""

    def put_of_run(
        self, tenant_id: str, kind: str, payloads: Mapping[str, Payload], *, began_at: float
    ) -> None:
        """Do what `put_many` does, unless the tenant was deleted after the run began."""
        ...


@dataclass(frozen=True, slots=True)
class SpendEntry:
    """A paid call of a run, or one that a cached answer saved.

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
    """Billed requests; for a cached answer the saved ones."""
    input_tokens: int = 0
    output_tokens: int = 0
    cost_usd: Decimal | float | None = None
    """None: not known. A float counts as the shortest decimal number that it stands for."""
    cached: bool = False
    question: str | None = None
    """What the run was asked, as the setting `capture_query` lets it be told; of the first entry
    of a run that has one it is kept, once."""
    began_at: float | None = None
    """When the run began, by default `at`. Where its tenant was deleted since then, its question
    is left out."""

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
    """The sums of the entries of one group."""

    group: str
    """The UTC day, the run's id, or the provider's or model's name."""
    first_at: float | None = None
    """Seconds since 1970, of the group's oldest entry; None without entries."""
    kind: SpendKind | None = None
    """Set when totals are by name."""
    requests: int = 0
    """Without the saved ones."""
    input_tokens: int = 0
    output_tokens: int = 0
    cost_usd: Decimal = Decimal(0)
    """Sum of the known costs."""
    unpriced: int = 0
    """Entries whose cost is not known: the bill is higher than `cost_usd` if this is not 0."""
    cached_requests: int = 0
    """Requests that a cached answer saved."""
    question: str | None = None
    """What the run was asked, where totals are by run and it was kept."""


@runtime_checkable
class SpendLedger(Protocol):
    """Spending by tenant and run."""

    def add(self, entries: Iterable[SpendEntry]) -> None:
        """Store the entries in one transaction."""
        ...

    def totals(
        self, tenant_id: str, *, since: float | None = None, by: SpendGroup = "day"
    ) -> list[SpendTotal]:
        """Return sums per UTC day, run, or kind and name, of entries not older than `since`.

        `since` is in seconds since 1970. Days and runs come oldest first, names by kind and name.
        """
        ...

    def run_total(self, tenant_id: str, run_id: str) -> SpendTotal:
        """Return the sums of one run; zeros when nothing is known of it."""
        ...

    def forget(self, older_than_s: float) -> int:
        """Delete the entries of that age, of all tenants; return how many."""
        ...

    def forget_tenant(self, tenant_id: str) -> int:
        """Delete all entries of a tenant; return how many."""
        ...


@runtime_checkable
class UsageStore(QuotaStore, AnswerCache, SpendLedger, Protocol):
    """Quotas, cached answers and spending in one store."""
