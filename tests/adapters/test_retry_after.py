"""How a server's wish to be left alone is read."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from collection_search.adapters.retry_after import LONGEST_WAIT_S, retry_after_s

NOW = datetime(2026, 11, 21, 10, tzinfo=UTC).timestamp()


@pytest.mark.parametrize(
    ("value", "seconds"),
    [
        ("7", 7), (" 7 ", 7), ("1.5", 1.5), ("0", 0), ("-5", 0), ("86400", 86400),
        ("1e300", LONGEST_WAIT_S), ("9" * 400, None), ("inf", None), ("nan", None), ("", None),
        ("soon", None), ("Wed, 99 Foo 2026 25:61:61 GMT", None), (None, None), ("7 seconds", None),
        ("Sat, 21 Nov 2026 10:00:45 GMT", 45), ("Sat, 21 Nov 2026 09:00:00 GMT", 0),
        ("Sat, 21 Nov 2026 11:00:45 +0100", 45), ("Saturday, 21-Nov-26 10:00:45 GMT", 45),
        ("Sat Nov 21 10:00:45 2026", 45), ("Sat, 21 Nov 2026 10:00:45 -0000", 45),
    ],
)  # fmt: skip
def test_retry_after_in_every_form(value, seconds):
    """Numbers and dates of every spelling are read; all else asks for nothing."""
    assert retry_after_s(value, now=NOW) == seconds


@pytest.mark.slow
@settings(deadline=None)
@given(st.text(max_size=40) | st.floats().map(str) | st.integers().map(str))
def test_any_retry_after_is_a_time_or_nothing(value):
    """No header makes the reader fail."""
    wait = retry_after_s(value, now=NOW)
    assert wait is None or 0 <= wait <= LONGEST_WAIT_S


def test_a_longest_wait_of_the_caller_s_own():
    """It bounds numbers and dates alike."""
    assert retry_after_s("86400", now=NOW, longest_s=60) == 60
    assert retry_after_s("Sun, 22 Nov 2026 10:00:00 GMT", now=NOW, longest_s=60) == 60
