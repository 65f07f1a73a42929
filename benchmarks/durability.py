"""Whether a crawl forgets anything: 2,000 pages of 50 hosts, killed ten times, and with outages.

Usage: durability.py [--pages 2000] [--hosts 50] [--kills 10] [--outage-s 20]. Prints how long the
undisturbed and the disturbed crawls took, what the sites saw, and whether they left the same
behind; the exit code is 1 if not.

The crawl that is killed has 1 % faults. The other one meets a site that refuses connections at
first, hosts that leave the first request for each page without an answer, a network, an embedder
and a disk that fail for a while each; it gets no command afterwards.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))

from support.crawl_through_outages import (  # pyright: ignore[reportMissingImports]
    KINDS,
    crawled_through_outages,
)
from support.crawl_under_fire import (  # pyright: ignore[reportMissingImports]
    Sites,
    crawled,
    crawled_under_kills,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

FAULT_RATE = 0.01
MAX_OPEN = 2
MAX_REQUESTS = 1.3
"""For a page, on the average, through all outages."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Return the exit code."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0] if __doc__ else None)
    parser.add_argument("--pages", type=int, default=2000)
    parser.add_argument("--hosts", type=int, default=50)
    parser.add_argument("--kills", type=int, default=10, help="0: only the outages")
    parser.add_argument("--outage-s", type=float, default=20.0, help="0: only the kills")
    wanted = parser.parse_args(arguments)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        with Sites(wanted.hosts, wanted.pages, fault_rate=0.0) as calm:
            began = time.monotonic()
            undisturbed = crawled(calm, folder / "calm")
            calm_s = time.monotonic() - began
            print(
                f"undisturbed: {calm_s:.1f} s, {wanted.pages / calm_s:.0f} pages/s,"
                f" {calm.counts()['requests']} requests"
            )
        missed = []
        if wanted.kills:
            missed += _killed(calm.ports, folder, wanted, undisturbed, calm_s)
        if wanted.outage_s:
            missed += _through_outages(calm.ports, folder, wanted, undisturbed)
    for line in missed:
        print(f"MISSED: {line}")
    return 1 if missed else 0


def _killed(
    ports: list[int], folder: Path, wanted: argparse.Namespace, undisturbed: Any, calm_s: float
) -> list[str]:
    """Crawl, be killed and start again; return what does not hold."""
    with Sites(wanted.hosts, wanted.pages, fault_rate=FAULT_RATE, ports=ports) as wild:
        began, within_s = time.monotonic(), 2 * calm_s / wanted.kills
        disturbed = crawled_under_kills(
            wild, folder / "wild", kills=wanted.kills, within_s=within_s
        )
        seconds, counts = time.monotonic() - began, wild.counts()
    print(
        f"{wanted.kills} kills: {seconds:.1f} s, {counts['requests']} requests, faults"
        f" {counts['faults']}, connections to a host at once: {counts['most_open']}"
    )
    missed = [] if disturbed == undisturbed else ["after the kills the content is another one"]
    is_polite = counts["most_open"] <= MAX_OPEN
    return missed if is_polite else [*missed, f"more than {MAX_OPEN} connections to a host"]


def _through_outages(
    ports: list[int], folder: Path, wanted: argparse.Namespace, undisturbed: Any
) -> list[str]:
    """Crawl through the outages; return what does not hold."""
    with Sites(wanted.hosts, wanted.pages, fault_rate=0.0, ports=ports) as sites:
        found = crawled_through_outages(sites, folder / "outages", outage_s=wanted.outage_s)
    print(
        f"outages of {wanted.outage_s:g} s: {found.seconds:.1f} s,"
        f" {len(found.content.export)} of {wanted.pages} pages stored, requests for a page:"
        f" {found.requests:.2f} (at most {MAX_REQUESTS}), of slow hosts {found.slow_requests:.2f}"
    )
    missed = [f"the crawl noticed no outage of: {kind}" for kind in KINDS - found.seen]
    if found.content != undisturbed:
        missed.append("after the outages the content is another one")
    if found.requests > MAX_REQUESTS:
        missed.append(f"more than {MAX_REQUESTS} requests for a page")
    return missed + [f"not stored: {line}" for line in found.lost[:20]]


if __name__ == "__main__":
    sys.exit(main())
