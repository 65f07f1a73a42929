"""Contract suite for stores of quotas, answers and spending."""
# ruff: noqa: PLR2004 - the numbers are the test

from __future__ import annotations

from decimal import Decimal
from typing import Any

import pytest

from ...errors import InputError
from ...ports.usage import SpendTotal
from .answer_cache import AnswerContract
from .quotas import QuotaContract
from .usage_base import DAY_S


class UsageContract(QuotaContract, AnswerContract):
    """Tests of a usage store: subclass it and define `usage` and `source`."""

    def test_costs_are_exact(self) -> None:
        """A hundred thousand tenths of a cent are a hundred dollars, to the last digit."""
        self.store.add([self._entry(cost_usd=0.001)] * 100_000)
        self.store.add([self._entry(cost_usd=Decimal("0.000000000000000001"))])
        total = self.store.run_total("one", "run")
        assert total.cost_usd == Decimal("100.000000000000000001")
        assert total.requests == 100_001

    def test_an_unknown_cost_is_not_nothing(self) -> None:
        """An unknown cost differs from a cost of zero."""
        self.store.add([self._entry(), self._entry(cost_usd=0.0), self._entry(cost_usd=0.5)])
        total = self.store.run_total("one", "run")
        assert (total.cost_usd, total.unpriced) == (Decimal("0.5"), 1)

    def test_spared_requests_are_counted_apart(self) -> None:
        """A cached answer does not count as a request."""
        self.store.add([self._entry(requests=2), self._entry(requests=3, cached=True, cost_usd=0)])
        total = self.store.run_total("one", "run")
        assert (total.requests, total.cached_requests) == (2, 3)

    def test_a_run_that_is_not_known_cost_nothing(self) -> None:
        """An unknown run has zeros and raises nothing."""
        assert self.store.run_total("one", "other") == SpendTotal("other")
        self.store.add([])
        assert self.store.totals("one") == []

    def test_totals_by_day(self) -> None:
        """Days are UTC days, oldest first."""
        self.store.add([self._entry(at=day * DAY_S - 1, cost_usd=day) for day in (3, 1, 2, 3)])
        assert [(one.group, int(one.cost_usd)) for one in self.store.totals("one")] == [
            ("1970-01-01", 1),
            ("1970-01-02", 2),
            ("1970-01-03", 6),
        ]

    def test_totals_by_run(self) -> None:
        """Runs are sorted by their beginning, not by their ids, and have their tokens."""
        for at, run in ((5, "a"), (1, "b"), (9, "b")):
            tokens = {"input_tokens": at, "output_tokens": 2 * at}
            self.store.add([self._entry(at=at, run_id=run, cost_usd=0.1 * at, **tokens)])
        assert self.store.totals("one", by="run") == [
            SpendTotal("b", 1, None, 2, 10, 20, Decimal("1.0"), 0, 0),
            SpendTotal("a", 5, None, 1, 5, 10, Decimal("0.5"), 0, 0),
        ]

    def test_totals_by_name(self) -> None:
        """A name of a provider and of a model has two totals."""
        for kind, name in (("search", "x"), ("chat", "x"), ("search", "b"), ("search", "x")):
            self.store.add([self._entry(kind=kind, name=name)])
        assert [
            (one.kind, one.group, one.requests) for one in self.store.totals("one", by="name")
        ] == [("chat", "x", 1), ("search", "b", 1), ("search", "x", 2)]

    def test_totals_since(self) -> None:
        """Older entries are left out."""
        self.store.add([self._entry(at=at) for at in (1, 2, 3)])
        (total,) = self.store.totals("one", since=2)
        assert (total.requests, total.first_at) == (2, 2)

    def test_spending_is_private(self) -> None:
        """Another tenant's runs are not counted, even under the same id."""
        self.store.add([self._entry(cost_usd=1), self._entry(tenant_id="two", cost_usd=2)])
        assert self.store.run_total("one", "run").cost_usd == 1
        assert [one.cost_usd for one in self.store.totals("two", by="name")] == [2]

    @pytest.mark.parametrize(
        "wrong",
        [
            {"cost_usd": float("nan")},
            {"cost_usd": float("inf")},
            {"cost_usd": -0.1},
            {"requests": -1},
            {"input_tokens": 10**30},
            {"at": float("nan")},
        ],
    )
    def test_an_impossible_entry_is_refused(self, wrong: dict[str, Any]) -> None:
        """An entry with an impossible number is refused, so that sums stay right."""
        with pytest.raises(InputError):
            self._entry(**wrong)
