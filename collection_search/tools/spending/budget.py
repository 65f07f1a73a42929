"""The limit of a run's cost: a call that could exceed it is not made."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING

from ...contracts.prices import MOST_USD, format_usd, parse_usd, to_decimal
from ...errors import CostLimitReached, InputError

if TYPE_CHECKING:
    from decimal import Decimal


def cost_of_failure(error: Exception) -> float | None:
    """Return what a call that failed cost: 0 where it was not made or not answered, else unknown.

    >>> cost_of_failure(CostLimitReached("too dear")), cost_of_failure(TimeoutError())
    (0.0, None)
    """
    is_billed = getattr(error, "may_be_billed", True) and not isinstance(error, CostLimitReached)
    return None if is_billed else 0.0


class RunBudget:
    """The budget of all of a run's calls; `limit_usd` None is no limit.

    Safe for threads; sums are exact.

    >>> budget = RunBudget(0.02)
    >>> budget.reserve(0.008), budget.reserve(0.008), budget.settle(0.008, 0.0)
    (None, None, None)
    >>> budget.spent_usd
    0.008
    """

    def __init__(self, limit_usd: float | None, spent_usd: float = 0.0) -> None:
        self.limit_usd = limit_usd
        self.is_reached = False
        """True once a call was refused."""
        self.has_unknown = False
        """True once a call was allowed whose price is not known: a limit did not count it."""
        self._limit = None if limit_usd is None else to_decimal(limit_usd)
        self._spent = to_decimal(spent_usd)
        self._lock = threading.Lock()

    @property
    def spent_usd(self) -> float:
        """Return the amount that was spent or is reserved."""
        return float(self._spent)

    def reserve(self, price_usd: float | None) -> None:
        """Reserve the price of a call before it is made; None, an unknown one, is always allowed.

        Raises CostLimitReached where the call could exceed the limit, InputError for no amount.
        """
        with self._lock:
            if price_usd is None:
                self.has_unknown = True
                return
            price = _amount(price_usd)
            if self._limit is not None and price and self._spent + price > self._limit:
                self.is_reached = True
                raise CostLimitReached(
                    f"The ceiling of {format_usd(self._limit)} does not allow a call of about"
                    f" {format_usd(float(f'{price:.2g}'))} after {format_usd(self._spent)}:"
                    " raise max_cost_usd, in the command --max-cost."
                )
            self._spent += price

    def settle(self, reserved: float | None, actual: float | None) -> None:
        """Replace the reserved amount by the actual one; None: keep it reserved.

        Raises InputError, and keeps it reserved, for no amount.
        """
        with self._lock:
            if actual is not None:
                self._spent += _amount(actual) - _amount(reserved or 0.0)


def _amount(given: float) -> Decimal:
    if parse_usd(given) is None:
        raise InputError(f"A cost must be an amount from 0 to {MOST_USD:.0f}, got {given!r}.")
    return to_decimal(given)
