"""Whether a crawl forgets anything: 2,000 pages of 50 hosts, 1 % faults, ten times kill -9.

Usage: durability.py [PAGES HOSTS KILLS]. Prints how long the undisturbed and the disturbed crawl
took, what the sites saw, and whether both left the same behind; the exit code is 1 if not.
"""

from __future__ import annotations

import sys
import tempfile
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))

from support.crawl_under_fire import (  # pyright: ignore[reportMissingImports]
    Sites,
    crawled,
    crawled_under_kills,
)

FAULT_RATE = 0.01
MOST_OPEN = 2


def main(pages: int, hosts: int, kills: int) -> int:
    """Return the exit code."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        with Sites(hosts, pages, fault_rate=0.0) as calm:
            began = time.monotonic()
            undisturbed = crawled(calm, folder / "calm")
            calm_s = time.monotonic() - began
            print(f"undisturbed: {calm_s:.1f} s, {pages / calm_s:.0f} pages/s, {calm.counts()}")
        with Sites(hosts, pages, fault_rate=FAULT_RATE, ports=calm.ports) as wild:
            began = time.monotonic()
            wanted = {"kills": kills, "within_s": 2 * calm_s / kills}
            disturbed = crawled_under_kills(wild, folder / "wild", **wanted)  # type: ignore[arg-type]
            seconds, counts = time.monotonic() - began, wild.counts()
            print(f"{kills} kills: {seconds:.1f} s, {counts}")
    is_same, is_polite = disturbed == undisturbed, counts["most_open"] <= MOST_OPEN
    print(f"documents: {len(disturbed.export)} of {pages}; same content: {is_same}")
    print(f"connections to a host at once: {counts['most_open']} (at most {MOST_OPEN} allowed)")
    return 0 if is_same and is_polite else 1


if __name__ == "__main__":
    sizes = [int(text) for text in sys.argv[1:]] or [2000, 50, 10]
    raise SystemExit(main(*sizes))
