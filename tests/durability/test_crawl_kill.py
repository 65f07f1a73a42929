"""A crawl that is killed again and again, on sites that fail now and then, ends as if undisturbed.

`benchmarks/durability.py` runs the same in its full size.
"""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

import pytest
from support.crawl_under_fire import Sites, crawled, crawled_under_kills

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = pytest.mark.slow
PAGES, HOSTS, KILLS = 200, 10, 4


def test_a_crawl_survives_kills_and_faults(tmp_path: Path) -> None:
    """Nothing is lost, nothing doubled, and no host ever sees more than two connections."""
    with Sites(HOSTS, PAGES, fault_rate=0.0) as calm:
        began = time.monotonic()
        undisturbed = crawled(calm, tmp_path / "calm")
        seconds = time.monotonic() - began
        assert len(undisturbed.export) == PAGES
        assert calm.counts()["most_open"] <= 2
    with Sites(HOSTS, PAGES, fault_rate=0.02, ports=calm.ports) as wild:
        disturbed = crawled_under_kills(wild, tmp_path / "wild", kills=KILLS, within_s=seconds / 3)
        counts = wild.counts()
        assert counts["most_open"] <= 2
        assert sum(counts["faults"].values()) > 0
    assert disturbed == undisturbed
