"""The limit of a run's cost: a call that could exceed it is not made."""

from __future__ import annotations

import threading
from collections import defaultdict
from decimal import Decimal
from typing import TYPE_CHECKING

from ...contracts.price_list import plain_name
from ...contracts.prices import MAX_USD, format_usd, parse_usd, to_decimal
from ...errors import CostLimitReached, InputError

if TYPE_CHECKING:
    from ...contracts.price_list import PriceKind


class RunSpending:
    """What a run has spent or reserved, in exact US dollars; its budgets share it.

    Other processes may spend for the run as well: the books tell what. Safe for threads.
    """

    def __init__(self, spent_usd: Decimal | float = 0.0) -> None:
        self._spent = to_decimal(spent_usd)
        self._written: defaultdict[str, Decimal] = defaultdict(Decimal)
        """What this process has written into the books, by run."""
        self._others: defaultdict[str, Decimal] = defaultdict(Decimal)
        """What others have written into them, as far as it was read."""
        self._lock = threading.Lock()

    @property
    def total(self) -> Decimal:
        """Return the amount that was spent or is reserved."""
        return self._spent

    def add(self, amount: Decimal) -> None:
        """Add an amount, a negative one for a correction."""
        with self._lock:
            self._spent += amount

    def note_written(self, run_id: str, amount: Decimal) -> None:
        """Note that this amount, which counts already, stands in the books of the run."""
        with self._lock:
            self._written[run_id] += amount

    def note_booked(self, run_id: str, total: Decimal) -> None:
        """Count what others have spent; `total` is what the books of the run have by now.

        What `note_written` was not told of yet must not be in it: see `SpendWriter.between_writes`.
        Books that were emptied meanwhile give nothing back.
        """
        with self._lock:
            more = total - self._written[run_id] - self._others[run_id]
            if more > 0:
                self._others[run_id] += more
                self._spent += more

    def try_add(self, amount: Decimal, limit: Decimal | None) -> bool:
        """Add the amount unless the sum would exceed the limit; return whether it was added."""
        with self._lock:
            if limit is not None and amount and self._spent + amount > limit:
                return False
            self._spent += amount
            return True


class RunBudget:
    """The budget of a part of a run's calls; `limit_usd` None is no limit.

    All budgets with the same `spending` have the limit together. Safe for threads; sums are exact.

    >>> budget = RunBudget(0.02)
    >>> budget.reserve(0.008), budget.reserve(0.008), budget.settle(0.008, 0.0)
    (None, None, None)
    >>> budget.spent_usd
    0.008
    """

    def __init__(
        self,
        limit_usd: float | None,
        spent_usd: float = 0.0,
        *,
        spending: RunSpending | None = None,
        requires_prices: bool = False,
    ) -> None:
        self.limit_usd = limit_usd
        self.requires_prices = requires_prices
        """True: a limit refuses calls whose price is not known."""
        self.is_reached = False
        """True once a call was refused."""
        self.has_unknown = False
        """True once a call was allowed whose price is not known: a limit did not count it."""
        self._limit = None if limit_usd is None else to_decimal(limit_usd)
        self._spending = RunSpending(spent_usd) if spending is None else spending

    @property
    def spent_usd(self) -> float:
        """Return the amount that the whole run has spent or reserved."""
        return float(self._spending.total)

    def reserve(
        self, price_usd: float | None, kind: PriceKind | None = None, name: str = ""
    ) -> None:
        """Reserve the price of a call before it is made; None: the price is not known.

        `kind` and `name` tell whose price it is. Raises CostLimitReached where the call could
        exceed the limit, and for an unknown price where they are required; InputError for no
        amount.
        """
        if price_usd is None:
            self._allow_unknown(kind, name)
            return
        price = _amount(price_usd)
        if not self._spending.try_add(price, self._limit):
            self.is_reached = True
            raise CostLimitReached(
                f"The ceiling of {format_usd(self._limit or 0)} does not allow a call of about"
                f" {format_usd(float(f'{price:.2g}'))} after {format_usd(self._spending.total)}:"
                " raise max_cost_usd, in the command --max-cost."
            )

    def require(
        self, price_usd: float | None, kind: PriceKind | None = None, name: str = ""
    ) -> None:
        """Raise CostLimitReached where `reserve` would for calls of this price."""
        self.reserve(price_usd, kind, name)
        self.settle(price_usd, 0.0)

    def _allow_unknown(self, kind: PriceKind | None, name: str) -> None:
        if self._limit is None or not self.requires_prices:
            self.has_unknown = True
            return
        self.is_reached = True
        setting = f"prices.{kind}.{plain_name(kind, name)}" if kind else "prices"
        raise CostLimitReached(
            f"The price of {name or 'a call'} is not known, and under the ceiling of"
            f" {format_usd(self._limit)} require_prices refuses what has none: set {setting}, or"
            " switch require_prices off."
        )

    def settle(self, reserved: float | None, actual: float | None) -> None:
        """Replace the reserved amount by the actual one; None: keep it reserved.

        Raises InputError, and keeps it reserved, for no amount.
        """
        if actual is not None:
            self._spending.add(_amount(actual) - _amount(reserved or 0.0))


def _amount(given: float) -> Decimal:
    if parse_usd(given) is None:
        raise InputError(f"A cost must be an amount from 0 to {MAX_USD:.0f}, got {given!r}.")
    return to_decimal(given)
