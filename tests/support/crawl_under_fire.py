"""A crawl in a process of its own, over sites in another one, killed at random moments."""

from __future__ import annotations

import json
import random
import sqlite3
import subprocess
import sys
import time
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from collection_search.adapters.stores.sqlite import SQLiteStore
from collection_search.contracts.collection import TenantScope

from .ports import free_port

if TYPE_CHECKING:
    from types import TracebackType
    from typing import Self

HERE = Path(__file__).parent
PROGRAM = HERE.parent / "durability" / "crawl_pages.py"
TIMEOUT_S = 6.0
"""Of one page: a host that hangs holds up the crawl so long. A busy machine is not that slow."""
END_S = 560


class Content(NamedTuple):
    """All that a search could see, and what must be counted beside it."""

    export: list[dict[str, Any]]
    ledger: list[tuple[Any, ...]]
    orphans: list[tuple[Any, ...]]
    integrity: list[tuple[Any, ...]]


class Sites:
    """The sites' process, inside a `with` block; `ports` serves them where others were before."""

    def __init__(
        self, hosts: int, pages: int, *, fault_rate: float, ports: list[int] | None = None
    ) -> None:
        ports = ports or [free_port(f"127.0.0.{host + 1}") for host in range(hosts)]
        self._command = [sys.executable, str(HERE / "loopback_site.py")]
        self._command += [str(hosts), str(pages), str(fault_rate), *map(str, ports)]
        self.given: dict[str, Any] = {}

    def __enter__(self) -> Self:
        self._process = subprocess.Popen(
            self._command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )
        assert self._process.stdout is not None
        self.given = json.loads(self._process.stdout.readline()) | {"timeout_s": TIMEOUT_S}
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self._process.communicate()

    @property
    def ports(self) -> list[int]:
        """Where the hosts listen."""
        return [int(entry.rpartition(":")[2]) for entry in self.given["allowed"]]

    def counts(self) -> dict[str, Any]:
        """Return what the sites have seen."""
        return self.tell("counts")

    def tell(self, command: str, *hosts: int) -> dict[str, Any]:
        """Give a command of `loopback_site.py`, and return what the sites have seen."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write(" ".join([command, *map(str, hosts)]) + "\n")
        self._process.stdin.flush()
        counts: dict[str, Any] = json.loads(self._process.stdout.readline())
        return counts


def crawled(sites: Sites, folder: Path) -> Content:
    """Crawl without a kill and return what is stored."""
    with started(sites, folder) as child:
        output, errors = child.communicate(timeout=END_S)
    assert output.endswith("done\n"), errors
    return content(folder)


def crawled_under_kills(
    sites: Sites, folder: Path, *, kills: int, within_s: float, seed: int = 1
) -> Content:
    """Crawl, be killed at random moments, start again, and return what is stored in the end.

    A kill comes at most `within_s` seconds after the start.
    """
    moments = random.Random(seed)
    for _ in range(kills):
        with started(sites, folder) as child:
            assert child.stdout is not None
            if child.stdout.readline() != "started\n":
                raise AssertionError(child.communicate()[1])
            time.sleep(moments.uniform(0, within_s))
            child.kill()
            child.communicate()
    return crawled(sites, folder)


def content(folder: Path) -> Content:
    """Return what a crawl left behind."""
    path = folder / "collections.db"
    store = SQLiteStore(path)
    exported = list(store.collections.export(TenantScope("local", "tea")))
    store.close()
    with closing(sqlite3.connect(path)) as connection:

        def rows(query: str) -> list[tuple[Any, ...]]:
            return connection.execute(query).fetchall()

        connection.execute("INSERT INTO chunk_words (chunk_words) VALUES ('integrity-check')")
        return Content(
            exported,
            rows("SELECT url_key, state, owner, refresh FROM ledger ORDER BY url_key"),
            rows("SELECT rowid FROM chunk_words WHERE rowid NOT IN (SELECT id FROM chunks)"),
            rows("PRAGMA integrity_check") + rows("PRAGMA foreign_key_check"),
        )


def started(sites: Sites, folder: Path, program: Path = PROGRAM) -> subprocess.Popen[str]:
    """Start a crawl of the sites in a process of its own."""
    folder.mkdir(exist_ok=True)
    given = folder / "sites.json"
    given.write_text(json.dumps(sites.given))
    return subprocess.Popen(
        [sys.executable, str(program), str(folder), str(given)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
