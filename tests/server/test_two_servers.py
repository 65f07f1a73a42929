"""Two servers on one PostgreSQL database: each goes on with what the other began."""

from __future__ import annotations

import logging
import time
from contextlib import contextmanager
from typing import TYPE_CHECKING, NamedTuple
from urllib.parse import urlsplit

import httpx
import pytest
from support.page_api import PageApi
from support.page_hosts import variables_for
from support.page_world import HELD_PAGES, PageWorld
from support.postgres_server import NEEDS_POSTGRES, postgres_server
from support.served_app import ServedApp, can_name_hosts, served_app
from support.served_runs import API, read_events
from support.waiting import wait_until

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

pytestmark = NEEDS_POSTGRES

HERONS = "How do herons catch fish?"
HELD_HERONS = "How do herons with patience catch fish?"
CONTEXT = {"provider": "searxng"}
HOSTS = {
    "one host": ("", ""),
    "two hosts": ("first", "second"),
}

logger = logging.getLogger(__name__)


class Pair(NamedTuple):
    """Two servers and their clients; `first` may be killed."""

    first: ServedApp
    second: ServedApp
    one: PageApi
    other: PageApi


@pytest.fixture(scope="module")
def database_url() -> Iterator[str]:
    with postgres_server() as server:
        yield server.url


@contextmanager
def two_servers(
    folder: Path, database_url: str, world: PageWorld, hosts: tuple[str, str] = ("", "")
) -> Iterator[Pair]:
    """Start two servers, each with a data folder of its own."""
    folders = [folder / "first", folder / "second"]
    for one in folders:
        one.mkdir()
    variables = {**variables_for(world), "COLLECTION_SEARCH_DATABASE_URL": database_url}
    with (
        served_app(folders[1], host=hosts[1], **variables) as second,
        served_app(folders[0], host=hosts[0], **variables) as first,
        PageApi(first.url) as one_api,
        PageApi(second.url) as other_api,
    ):
        yield Pair(first, second, one_api, other_api)


def test_a_gate_of_one_is_answered_on_the_other(tmp_path: Path, database_url: str) -> None:
    """It is listed there, and both tell the run's end."""
    with PageWorld() as world, two_servers(tmp_path, database_url, world) as (_, _, one, other):
        waiting = one.run("herons", HERONS, graph="collection_review", context=CONTEXT)
        listed = [gate["gate_id"] for gate in other.get("/gates")["gates"]]
        assert waiting["gate_id"] in listed
        gate = other.get(f"/gates/{waiting['gate_id']}")
        urls = [page["url"] for page in gate["candidates"]][:2]
        decision = {"status": "partial", "approved_urls": urls}
        other.post(f"/gates/{gate['gate_id']}/decision", **decision)
        ends = [api.ended(waiting["run_id"]) for api in (one, other)]
        assert [end["status"] for end in ends] == ["done", "done"]
        assert ends[0]["output"] == ends[1]["output"]


@pytest.mark.parametrize("hosts", HOSTS.values(), ids=HOSTS)
def test_the_runs_of_a_killed_server_go_on_in_the_other(
    tmp_path: Path, database_url: str, hosts: tuple[str, str]
) -> None:
    """Nothing is doubled: no event, no page and no counted request."""
    if all(hosts) and not can_name_hosts():
        pytest.skip("needs the right to name a host: unshare --uts")
    collection = f"birds-{hosts[0]}"
    with PageWorld() as world, two_servers(tmp_path, database_url, world, hosts) as pair:
        world.hold()
        given = {"question": HELD_HERONS, "collection_scope": collection, "auto_ingest": True}
        begun = pair.one.post("/runs", input=given, context=CONTEXT)
        world.wait_until_held()
        pair.first.process.kill()
        pair.first.process.wait()
        killed_at = time.monotonic()
        world.release()
        ended = pair.other.ended(begun["run_id"])
        logger.info("The run ended %.1f s after the kill.", time.monotonic() - killed_at)
        assert (ended["status"], ended["outcome"]) == ("done", "auto_ingest_triggered")
        searching = ended["output"]["telemetry"]["nodes"]["k_parallel_web_search"]
        assert searching["request_count"] == searching["query_count"]
        events_path = f"{API}/runs/{begun['run_id']}/events"
        text = httpx.get(f"{pair.second.url}{events_path}", trust_env=False).text
        *events, _ = read_events(text)
        assert [one.number for one in events] == list(range(1, len(events) + 1))
        told = [one.data["status"] for one in events if one.kind == "run_status"]
        assert told == ["done"]
        ticket = ended["output"]["ingestion"]["ticket"]
        wait_until(lambda: not pair.other.get(f"/tickets/{ticket}")["pending"])
        stored = [page["url"] for page in pair.other.documents(collection)]
        assert len(stored) == len(set(stored))
        assert {urlsplit(page).path for page in stored} >= {page.path for page in HELD_PAGES}
