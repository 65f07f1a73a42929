"""Two servers on one PostgreSQL database: each goes on with what the other began."""

from __future__ import annotations

from typing import TYPE_CHECKING
from urllib.parse import urlsplit

import pytest
from support.page_api import PageApi
from support.page_hosts import variables_for
from support.page_world import HELD_PAGES, PageWorld
from support.postgres_server import NEEDS_POSTGRES, postgres_server
from support.served_app import served_app
from support.waiting import wait_until

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

pytestmark = NEEDS_POSTGRES

HERONS = "How do herons catch fish?"
HELD_HERONS = "How do herons with patience catch fish?"
CONTEXT = {"provider": "searxng"}


@pytest.fixture(scope="module")
def database_url() -> Iterator[str]:
    with postgres_server() as server:
        yield server.url


def test_the_other_server_answers_and_takes_over(tmp_path: Path, database_url: str) -> None:
    """A gate of the first is decided on the second, which also ends a run of the killed first."""
    folders = [tmp_path / "first", tmp_path / "second"]
    for folder in folders:
        folder.mkdir()
    with PageWorld() as world:
        variables = {**variables_for(world), "COLLECTION_SEARCH_DATABASE_URL": database_url}
        with (
            served_app(folders[1], **variables) as second,
            served_app(folders[0], **variables) as first,
            PageApi(first.url) as one,
            PageApi(second.url) as other,
        ):
            waiting = one.run("birds", HERONS, graph="collection_review", context=CONTEXT)
            gate = other.get(f"/gates/{waiting['gate_id']}")
            urls = [page["url"] for page in gate["candidates"]][:2]
            decision = {"status": "partial", "approved_urls": urls}
            other.post(f"/gates/{gate['gate_id']}/decision", **decision)
            for api in (one, other):
                assert api.ended(waiting["run_id"])["status"] == "done"

            world.hold()
            given = {"question": HELD_HERONS, "collection_scope": "birds", "auto_ingest": True}
            begun = one.post("/runs", input=given, context=CONTEXT)
            world.wait_until_held()
            first.process.kill()
            world.release()
            ended = other.ended(begun["run_id"])
            assert (ended["status"], ended["outcome"]) == ("done", "auto_ingest_triggered")
            ticket = ended["output"]["ingestion"]["ticket"]
            wait_until(lambda: not other.get(f"/tickets/{ticket}")["pending"])
            stored = [page["url"] for page in other.documents("birds")]
            assert len(stored) == len(set(stored))
            assert {urlsplit(page).path for page in stored} >= {page.path for page in HELD_PAGES}
