"""Quota of requests that a key may make in a day or month (UTC)."""

from __future__ import annotations

import math
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Final, Literal, NamedTuple

from ..errors import SearchProviderQuotaExceeded
from .cooldown import format_moment

if TYPE_CHECKING:
    from ..ports.usage import QuotaStore

Period = Literal["day", "month"]

LOW_SHARE: Final = 0.2
LOW_COUNT: Final = 20
"""A quota is low below this share of its limit, or this count where the limit is unknown."""


class Reservation(NamedTuple):
    """Requests that are counted before they are made."""

    period: str
    requests: int


@dataclass(frozen=True, slots=True)
class Quota:
    """The limit of a key's requests per period, counted for all processes together.

    `reserve` and `settle` work on a file and may raise StoreError.
    """

    store: QuotaStore
    key_id: str
    limit: int
    period: Period = "month"

    def reserve(self, provider: str, requests: int, *, least: int, now: float) -> Reservation:
        """Count that many requests, or as many as are left.

        Raises SearchProviderQuotaExceeded where fewer than `least` are left.
        """
        period = period_name(now, self.period)
        while not self.store.reserve(
            provider, self.key_id, period=period, limit=self.limit, count=requests
        ):
            used = self.store.used(provider, self.key_id, period=period)
            requests = min(requests - 1, self.limit - used)
            if requests < least:
                raise self.used_up(provider, now)
        return Reservation(period, requests)

    def settle(self, provider: str, reserved: Reservation, used: int) -> int:
        """Count `used` requests instead of the reserved ones; return how many are left."""
        counted = self.store.settle(
            provider, self.key_id, period=reserved.period, used=used, reserved=reserved.requests
        )
        return max(0, self.limit - counted)

    def used_up(self, provider: str, now: float) -> SearchProviderQuotaExceeded:
        """Return the error for a request that is too many."""
        wait_s = seconds_left(now, self.period)
        return SearchProviderQuotaExceeded(
            f"{provider} is not asked: the {self.limit} searches of this {self.period} are used"
            f" up. It is asked again {format_moment(wait_s, now)}. Raise the quota, or choose"
            " another provider.",
            code="quotaExceeded",
            retry_in_ms=math.ceil(wait_s * 1000),
        )


def low_quota_notice(
    provider: str, quota: Quota | None, *, left: int | None, reported: int | None
) -> list[str]:
    """Return a notice where few requests are left; none where many are, or the number is unknown.

    `left` is our own count, `reported` the provider's; the smaller one counts.
    """
    least = min((number for number in (left, reported) if number is not None), default=None)
    if least is None:
        return []
    if quota is None:
        return [f"{provider}: {least} searches left"] if least <= LOW_COUNT else []
    if least > LOW_SHARE * quota.limit:
        return []
    return [f"{provider}: {least} of {quota.limit} searches left this {quota.period}"]


def period_name(at: float, period: Period) -> str:
    """Return the name of the period that contains a time, in seconds since 1970.

    >>> period_name(1_795_219_200, "month"), period_name(1_795_219_200, "day")
    ('2026-11', '2026-11-21')
    """
    return datetime.fromtimestamp(at, UTC).strftime("%Y-%m" if period == "month" else "%Y-%m-%d")


def seconds_left(at: float, period: Period) -> float:
    """Return the seconds until the next period begins.

    >>> seconds_left(1_795_219_200, "day"), seconds_left(1_795_219_200, "month")
    (86400.0, 864000.0)
    """
    now = datetime.fromtimestamp(at, UTC)
    today = now.replace(hour=0, minute=0, second=0, microsecond=0)
    tomorrow = today + timedelta(days=1)
    next_month = (today.replace(day=1) + timedelta(days=32)).replace(day=1)
    return ((next_month if period == "month" else tomorrow) - now).total_seconds()
