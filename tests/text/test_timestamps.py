"""Dates as people and servers write them."""

from __future__ import annotations

import datetime as dt
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from collection_search.text.timestamps import read_date

TODAY = dt.date(2026, 11, 21)


@pytest.mark.slow
@settings(deadline=None)
@given(
    st.one_of(
        *(st.text(max_size=60), st.integers(), st.none()),
        *(st.datetimes().map(str), st.datetimes(), st.dates()),
    )
)
def test_any_date_is_read_or_left_out(value: Any) -> None:
    """What comes out is ISO 8601 and reads the same again."""
    read = read_date(value, today=TODAY)
    assert read is None or read_date(read, today=TODAY) == read


@pytest.mark.parametrize(
    ("given", "read"),
    [
        (dt.date(2026, 3, 3), "2026-03-03"),
        (dt.datetime(2026, 3, 3, 9, tzinfo=dt.UTC), "2026-03-03T09:00:00+00:00"),
        (20_260_303, None),
        (None, None),
    ],
)
def test_what_is_no_text(given: Any, read: str | None) -> None:
    """Python's own dates are read, numbers are none."""
    assert read_date(given, today=TODAY) == read
