"""A crawl whose sites, network, embedder and disk fail for a while ends as if undisturbed.

`benchmarks/durability.py` runs the same in its full size.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from support.crawl_through_outages import KINDS, crawled_through_outages
from support.crawl_under_fire import Sites, crawled

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = pytest.mark.slow
PAGES, HOSTS, OUTAGE_S = 120, 12, 3.0


def test_a_crawl_survives_outages_without_a_command(tmp_path: Path) -> None:
    """Everything is stored, and nothing is fetched twice for the fault of another."""
    with Sites(HOSTS, PAGES, fault_rate=0.0) as calm:
        undisturbed = crawled(calm, tmp_path / "calm")
    with Sites(HOSTS, PAGES, fault_rate=0.0, ports=calm.ports) as sites:
        found = crawled_through_outages(sites, tmp_path / "outages", outage_s=OUTAGE_S)
    assert found.seen == KINDS
    assert found.lost == []
    assert found.content == undisturbed
    assert found.requests <= 1.3
    assert found.slow_requests <= 2.3
