"""The garbage collector of a process that serves."""

from __future__ import annotations

import gc

import pytest

from collection_search.runtime.gc import THRESHOLD, relieve_collector


@pytest.mark.slow
def test_what_lives_is_not_looked_at_again() -> None:
    before, frozen = gc.get_threshold(), gc.get_freeze_count()
    try:
        relieve_collector()
        assert gc.get_freeze_count() > frozen
        assert gc.get_threshold()[0] == THRESHOLD
        assert gc.isenabled()
    finally:
        gc.unfreeze()
        gc.set_threshold(*before)
