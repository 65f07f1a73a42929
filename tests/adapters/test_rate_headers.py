"""The rate limit in a vendor's headers, in the forms that are in use."""

from __future__ import annotations

import pytest

from collection_search.adapters.rate_headers import read_stated_rate
from collection_search.contracts.search import StatedRate

NOW = 1_795_255_200.0


@pytest.mark.parametrize(
    ("headers", "stated"),
    [
        ({"x-ratelimit-policy": "1;w=1, 2000;w=2592000"}, StatedRate(1, 1.0)),
        ({"x-ratelimit-policy": "15000;w=2592000, 20;w=1"}, StatedRate(20, 1.0)),
        ({"ratelimit-policy": '"burst";q=100;w=60'}, StatedRate(100, 60.0)),
        ({"x-ratelimit-policy": "2000;w=2592000"}, None),
        ({"x-ratelimit-policy": "0;w=1"}, None),
        ({"x-ratelimit-policy": "many;w=soon"}, None),
        (
            {"x-ratelimit-remaining": "0", "x-ratelimit-reset": "2"},
            StatedRate(pause_s=2.0),
        ),
        (
            {"x-ratelimit-remaining": "0, 1999", "x-ratelimit-reset": "1, 1419704"},
            StatedRate(pause_s=1.0),
        ),
        (
            {"x-ratelimit-remaining": "0", "x-ratelimit-reset": f"{NOW + 3:.0f}"},
            StatedRate(pause_s=3.0),
        ),
        ({"x-ratelimit-remaining": "0", "x-ratelimit-reset": f"{NOW - 3:.0f}"}, None),
        ({"x-ratelimit-remaining": "0", "x-ratelimit-reset": "86400"}, None),
        ({"x-ratelimit-remaining": "3", "x-ratelimit-reset": "1"}, None),
        ({"x-ratelimit-remaining": "none", "x-ratelimit-reset": ""}, None),
        ({}, None),
    ],
)
def test_the_shortest_time_counts(headers: dict[str, str], stated: StatedRate | None) -> None:
    """A limit of hours or a month is a quota, and nonsense is none."""
    assert read_stated_rate(headers, now=NOW) == stated
