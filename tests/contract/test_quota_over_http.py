"""A quota that several processes share is used up to the last request, and never overrun."""

from __future__ import annotations

import json
import re
import subprocess
import sys
import time
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Self

import pytest
from support.waiting import wait_until

from collection_search.adapters.stores.sqlite.usage import SQLiteUsage
from collection_search.resilience.quota import period_name
from collection_search.testing import ProviderServer
from collection_search.testing.providers.wire import KEY
from collection_search.text.known_secrets import key_id

if TYPE_CHECKING:
    from collections.abc import Sequence

SEARCHER: Final = Path(__file__).with_name("search_within_quota.py")
PATIENCE_S: Final = 180.0
METHODS: Final = ("run", "arun", "service", "run", "arun", "service", "run", "service")


class Searcher:
    """One process, held back until it gets the word."""

    def __init__(self, home: Path, server: ProviderServer, quota: int, **given: Any) -> None:
        access = {"api_key": KEY, "base_url": server.base_url, "quota": quota}
        told = json.dumps({"home": str(home), "access": access, **given})
        self.process = subprocess.Popen(
            [sys.executable, str(SEARCHER), told],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exc_info: object) -> None:
        self.process.kill()
        self.process.communicate()

    def wait_until_ready(self) -> None:
        assert self.process.stdout
        assert self.process.stdout.readline() == "ready\n"

    def go(self) -> None:
        assert self.process.stdin
        self.process.stdin.write("go\n")
        self.process.stdin.flush()

    def told(self) -> list[dict[str, Any]]:
        """Return how the searches ended."""
        out, _ = self.process.communicate(timeout=PATIENCE_S)
        assert self.process.returncode == 0
        return [json.loads(line) for line in out.splitlines()]


def searchers(stack: ExitStack, faces: Sequence[str], searches: int, *where: Any) -> list[Searcher]:
    """Start all processes and return them once they are ready."""
    started = [
        stack.enter_context(Searcher(*where, name=number, method=method, searches=searches))
        for number, method in enumerate(faces)
    ]
    for searcher in started:
        searcher.wait_until_ready()
    return started


def counted(home: Path, server: ProviderServer) -> int:
    """Return what the file holds against the quota of this month."""
    source = f"tavily@{server.base_url}#{key_id(KEY)}"
    period = period_name(time.time(), "month")
    return SQLiteUsage(home / "usage.db").used("tavily", key_id(source), period=period)


@pytest.mark.slow
def test_eight_processes_and_a_quota_of_100(tmp_path: Path) -> None:
    """Exactly 100 requests of 168 searches; the rest is refused with the quota and its renewal."""
    with ProviderServer("tavily") as server, ExitStack() as stack:
        started = searchers(stack, METHODS, 21, tmp_path, server, 100)
        for searcher in started:
            searcher.go()
        ended = [one for searcher in started for one in searcher.told()]
        requests = [server.dialect.query(request) for request in server.requests]
        assert counted(tmp_path, server) == 100
    assert len(ended) == 168
    answered = [one for one in ended if one["code"] == "ok"]
    refused = [one for one in ended if one["code"] != "ok"]
    assert len(requests) == len(set(requests)) == len(answered) == 100
    assert {one["code"] for one in refused} == {"quotaExceeded"}
    assert {one["attempts"] for one in refused} == {0}
    told = re.compile(
        r"tavily is not asked: the 100 searches of this month are used up\."
        r" It is asked again (at \d{4}-\d\d-01 00:00 UTC|in \d+ s)\."
    )
    assert all(told.match(one["message"]) for one in refused)
    warned = {notice for one in answered for notice in one["notices"]}
    left = {
        int(re.fullmatch(r"tavily: (\d+) of 100 searches left this month", n)[1]) for n in warned
    }
    assert 0 in left
    assert max(left) <= 20


@pytest.mark.slow
@pytest.mark.parametrize("method", ["run", "arun", "service"])
def test_a_process_that_is_killed_in_a_request(tmp_path: Path, method: str) -> None:
    """Nobody can know whether its request was billed: it stays counted, and no other is added."""
    with ProviderServer("tavily") as server, ExitStack() as stack:
        server.fail("held", times=1)
        [victim] = searchers(stack, [method], 5, tmp_path, server, 10)
        victim.go()
        wait_until(lambda: server.requests or victim.process.poll() is not None)
        assert victim.process.poll() is None
        victim.process.kill()
        victim.process.wait()
        assert counted(tmp_path, server) == 1
        others = searchers(stack, ["run", "service"], 8, tmp_path, server, 10)
        for searcher in others:
            searcher.go()
        ended = [one for searcher in others for one in searcher.told()]
        assert len(server.requests) == counted(tmp_path, server) == 10
    assert [one["code"] for one in ended].count("ok") == 9
    assert [one["code"] for one in ended].count("quotaExceeded") == 7


@pytest.mark.slow
def test_one_process_that_fails_leaves_the_quota_to_the_others(tmp_path: Path) -> None:
    """What the vendor refused is not counted; what may have been worked on is."""
    with ProviderServer("tavily") as server, ExitStack() as stack:
        server.fail("invalid_list", times=3)
        [searcher] = searchers(stack, ["run"], 10, tmp_path, server, 5)
        searcher.go()
        codes = [one["code"] for one in searcher.told()]
        assert codes == ["invalidQuery"] * 3 + ["ok"] * 5 + ["quotaExceeded"] * 2
        assert len(server.requests) == 8
        assert counted(tmp_path, server) == 5
