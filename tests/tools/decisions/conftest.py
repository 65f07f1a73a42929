"""A store whose clock moves on request."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from collection_search.adapters.stores.sqlite import SQLiteStore
from collection_search.testing import FakeClock

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


@pytest.fixture
def clock() -> FakeClock:
    return FakeClock()


@pytest.fixture
def store(tmp_path: Path, clock: FakeClock) -> Iterator[SQLiteStore]:
    store = SQLiteStore(tmp_path / "collections.db", clock=clock.time)
    yield store
    store.close()
