"""A crawl whose sites, network, embedder and disk fail for a while each, one after the other."""

from __future__ import annotations

import sqlite3
import time
from contextlib import closing, contextmanager, suppress
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from .crawl_under_fire import END_S, HERE, Sites, content, started

if TYPE_CHECKING:
    import subprocess
    from collections.abc import Iterator
    from pathlib import Path

    from .crawl_under_fire import Content

PROGRAM: Final = HERE.parent / "durability" / "crawl_through_outages.py"
DISK_REFUSED: Final = "disk_refused"
"""File that tells of a write for which there was no room."""
LATE: Final = 0
"""The host that refuses connections at first."""
KINDS: Final = frozenset({"host", "network", "embedder", "disk"})
"""Of the outages."""
SLOW: Final = (1, 2)
"""Hosts of which the first request for each page takes longer than its time limit."""


class Survived(NamedTuple):
    """What a crawl left behind after the outages."""

    content: Content
    seen: set[str]
    """Kinds of outages that the crawl noticed: `host`, `network`, `embedder`, `disk`."""
    lost: list[str]
    """Pages that are not stored, with the reason."""
    requests: float
    """Requests for a page on the average, of all hosts that are not slow."""
    slow_requests: float
    """The same of the slow hosts."""
    seconds: float


def crawled_through_outages(sites: Sites, folder: Path, *, outage_s: float) -> Survived:
    """Crawl through an outage of each kind, and return what is stored in the end.

    Each begins when a further share of the pages is stored. Nothing is restarted or retried.
    """
    began, pages = time.monotonic(), len(sites.given["urls"])
    hosts, seen = range(len(sites.given["allowed"])), set[str]()
    sites.tell("slow", *SLOW)
    sites.tell("refuse", LATE)
    with started(sites, folder, PROGRAM) as child:
        seen |= _causes(child, folder, outage_s, "host")
        sites.tell("accept", LATE)
        _wait_for_pages(child, folder, pages * 0.1)
        sites.tell("refuse", *hosts)
        seen |= _causes(child, folder, outage_s, "network")
        sites.tell("accept", *hosts)
        for share, name in ((0.2, "embedder_down"), (0.45, "disk_full")):
            _wait_for_pages(child, folder, pages * share)
            with _file(folder / name):
                wanted = "embedder" if name == "embedder_down" else "disk"
                seen |= _causes(child, folder, outage_s, wanted)
        output, errors = child.communicate(timeout=END_S)
    lines = output.splitlines()
    if not lines or not lines[-1].startswith("done"):
        raise AssertionError(errors)
    by_host = sites.counts()["by_host"]
    slow = sum(by_host[host] for host in SLOW)
    slow_pages = sum(n % len(hosts) in SLOW for n in range(pages))
    return Survived(
        content(folder),
        seen,
        lines[1:-1],
        (sum(by_host) - slow) / (pages - slow_pages),
        slow / slow_pages,
        time.monotonic() - began,
    )


def _causes(child: subprocess.Popen[str], folder: Path, outage_s: float, wanted: str) -> set[str]:
    """Let an outage last, and return for what kinds of causes the work paused meanwhile.

    It lasts longer where the `wanted` one was not seen yet.
    """
    seen, ends_at = set[str](), time.monotonic() + outage_s
    while child.poll() is None and (time.monotonic() < ends_at or wanted not in seen):
        seen |= {cause.partition(":")[0] for cause in _column(folder, "SELECT cause FROM pauses")}
        seen |= {"disk"} if (folder / DISK_REFUSED).exists() else set()
        time.sleep(0.05)
    return seen


@contextmanager
def _file(path: Path) -> Iterator[None]:
    path.touch()
    try:
        yield
    finally:
        path.unlink()


def _wait_for_pages(child: subprocess.Popen[str], folder: Path, count: float) -> None:
    """Wait until so many pages are stored, or the program has ended."""
    query = "SELECT count(*) FROM ledger WHERE state = 'stored'"
    while child.poll() is None and sum(_column(folder, query)) < count:
        time.sleep(0.05)


def _column(folder: Path, query: str) -> list[Any]:
    """Return what the query finds in the crawl's database; nothing while there is none."""
    path = f"file:{folder / 'collections.db'}?mode=ro"
    with suppress(sqlite3.Error), closing(sqlite3.connect(path, uri=True)) as connection:
        return [row[0] for row in connection.execute(query)]
    return []
