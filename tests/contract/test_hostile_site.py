"""Every hostile page ends as it is documented, within bounds of time and memory."""

from __future__ import annotations

import asyncio
import json
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from support.waiting import wait_until_async

from collection_search.testing.hostile_site import Case, HostileSite, ScriptedResolver, cases

pytestmark = pytest.mark.slow

PROGRAM = Path(__file__).with_name("read_hostile_site.py")
MAX_MIB = 64


@dataclass(frozen=True)
class Visit:
    """What one process made of the whole site."""

    ends: dict[str, dict[str, Any]]
    grown_mib: float
    forbidden: list[str]
    requests: list[tuple[str, str, Any]]


async def visit(chosen: tuple[Case, ...]) -> Visit:
    async with HostileSite(chosen) as site:
        order = {
            "cases": [
                {"name": case.name, "url": site.url(case.name), "slow": case.slow,
                 "known": case.known, "times": case.times}
                for case in chosen
            ],
            "names": site.names,
            "addresses": [site.address(case.name) for case in chosen],
            "forbidden": site.forbidden_port,
        }  # fmt: skip
        process = await asyncio.create_subprocess_exec(
            sys.executable, str(PROGRAM), stdin=subprocess.PIPE, stdout=subprocess.PIPE
        )
        answer, _ = await process.communicate(json.dumps(order).encode())
    assert process.returncode == 0
    told = json.loads(answer)
    ends = {end["name"]: end for end in told["ends"]}
    return Visit(ends, told["grown_mib"], site.forbidden, site.requests)


def is_as_documented(case: Case, end: dict[str, Any]) -> bool:
    if end["outcome"] != "read" or case.outcome != "read":
        return bool(end["outcome"] == case.outcome)
    return case.text in end["text"] and not (case.not_text and case.not_text in end["text"])


async def test_every_case_ends_as_documented_and_costs_nothing_but_its_request() -> None:
    """One visit, three promises: outcomes, memory, and nobody inside was asked."""
    every = cases()
    if sys.platform != "linux":  # only there the memory of a document's parser is limited
        every = tuple(case for case in every if case.outcome != "extraction_killed")
    seen = await visit(every)
    wrong = {
        case.name: (case.outcome, seen.ends[case.name])
        for case in every
        if not is_as_documented(case, seen.ends[case.name])
    }
    assert wrong == {}
    killed = [case.name for case in every if case.outcome == "extraction_killed"]
    assert {name for name in killed if seen.ends[name]["retryable"]} == set()
    assert seen.forbidden == []
    assert seen.grown_mib <= MAX_MIB
    assert_nothing_was_revealed(seen)


def assert_nothing_was_revealed(seen: Visit) -> None:
    for name, target, headers in seen.requests:
        assert not {"authorization", "cookie", "referer"} & headers.keys(), (name, target)
        assert "collection-search" in headers["user-agent"].lower()
        assert headers["accept-encoding"] == "gzip, deflate"


def test_there_are_many_cases_and_each_has_a_name_of_its_own() -> None:
    every = cases()
    assert len(every) >= 200
    assert len({case.name for case in every}) == len(every)
    assert len({case.outcome for case in every}) >= 20
    assert all(case.does for case in every)


async def test_the_forbidden_listener_tells_of_every_connection() -> None:
    """Else its silence would prove nothing."""
    async with HostileSite(cases()[:1]) as site:
        _, writer = await asyncio.open_connection("127.0.0.1", site.forbidden_port)
        writer.close()
        await writer.wait_closed()
        await wait_until_async(lambda: site.forbidden)
    assert len(site.forbidden) == 1


async def test_names_change_their_address_by_script() -> None:
    resolver = ScriptedResolver({"a.net": ("1.1.1.1,::1", "2.2.2.2")})
    answers = [await resolver.resolve("a.net", 80) for _ in range(3)]
    found = [[answer["host"] for answer in each] for each in answers]
    assert found == [["1.1.1.1", "::1"], ["2.2.2.2"], ["2.2.2.2"]]
    with pytest.raises(OSError, match="no such name"):
        await resolver.resolve("b.net", 80)
    await resolver.close()
