"""Two servers on one PostgreSQL database: each goes on with what the other began."""

from __future__ import annotations

import logging
import time
from contextlib import contextmanager
from typing import TYPE_CHECKING, NamedTuple
from urllib.parse import urlsplit

import pytest
from support.page_api import PageApi
from support.page_hosts import variables_for
from support.page_world import HELD_PAGES, PageWorld
from support.postgres_server import NEEDS_POSTGRES, postgres_server
from support.served_app import ServedApp, can_name_hosts, served_app
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
        yield Pair(first, one_api, other_api)


def test_a_gate_of_one_is_answered_on_the_other(tmp_path: Path, database_url: str) -> None:
    """It is listed there, and both tell the run's end."""
    with PageWorld() as world, two_servers(tmp_path, database_url, world) as (_, one, other):
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
    """Nothing is doubled: no event, no page and no cost."""
    if all(hosts) and not can_name_hosts():
        pytest.skip("needs the right to name a host: unshare --uts")
    collection = f"birds-{hosts[0]}"
    with PageWorld() as world, two_servers(tmp_path, database_url, world, hosts) as pair:
        world.hold()
        given = {"question": HELD_HERONS, "collection_scope": collection, "auto_ingest": True}
        begun = pair.one.post("/runs", input=given, context=CONTEXT)
        world.wait_until_held()
        pair.first.process.kill()
        killed_at = time.monotonic()
        world.release()
        ended = pair.other.ended(begun["run_id"])
        logger.info("The run ended %.1f s after the kill.", time.monotonic() - killed_at)
        assert (ended["status"], ended["outcome"]) == ("done", "auto_ingest_triggered")
        logger.info("X %s", ended["output"]["telemetry"])
        import psycopg
        with psycopg.connect(database_url) as connection:
            connection.execute("SELECT set_config('collection_search.tenant', 'local', false)")
            logger.info("X %s", connection.execute("SELECT * FROM collection_search.spend WHERE run_id=%s", [begun["run_id"]]).fetchall())
        ticket = ended["output"]["ingestion"]["ticket"]
        wait_until(lambda: not pair.other.get(f"/tickets/{ticket}")["pending"])
        stored = [page["url"] for page in pair.other.documents(collection)]
        assert len(stored) == len(set(stored))
        assert {urlsplit(page).path for page in stored} >= {page.path for page in HELD_PAGES}
