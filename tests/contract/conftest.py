"""The slowest tests of the shipped suites, which cannot name this project's markers."""

from __future__ import annotations

import pytest

SLOW = {
    "test_a_failure_is_a_typed_error",
    "test_a_process_that_ends_has_written_its_answers",
    "test_costs_are_exact",
    "test_odd_fields_lose_their_row_at_most",
    "test_processes_share_one_quota",
    "test_retry_after_is_understood",
    "test_searches_at_the_same_time_do_not_mix",
    "test_the_rows_are_those_that_the_vendor_chose",
    "test_the_worker_retries_as_the_failure_allows",
}


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark them `slow`, for `make quick`: pytest passes the items of the whole session."""
    for item in items:
        if getattr(item, "originalname", None) in SLOW:
            item.add_marker(pytest.mark.slow)
