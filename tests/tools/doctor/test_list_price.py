"""How the doctor tells a price."""

from __future__ import annotations

from datetime import date

from collection_search.tools.doctor.finding import ListPrice


def test_a_price_tells_its_day_or_that_it_is_one_s_own() -> None:
    """A user's own has no day."""
    listed = ListPrice.of(0.005, "a search", date(2026, 11, 21))
    assert str(listed) == "$0.005 a search (2026-11-21)"
    assert str(ListPrice.of(0.003, "a search", None)) == "$0.003 a search (your own price)"
    assert ListPrice.of(None, "a search", None) is None
