"""Ingestions over the API: by hand, from a run's results, followed, and failing."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

import pytest
from support.loopback_site import LoopbackSite, article, essay
from support.scripted_world import INPUT
from support.served_runs import API, Served, read_events, served
from support.waiting import wait_until_async

from collection_search import SearchContext, Settings, aingest
from collection_search.contracts.collection import TenantScope
from collection_search.contracts.ingestion import RowStatus, TicketStatus
from collection_search.server.places import Places
from collection_search.server.routes.ingestions import view_ticket
from collection_search.tools.ingest import engine_for

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Iterator
    from pathlib import Path


@pytest.fixture
def site() -> Iterator[LoopbackSite]:
    with LoopbackSite() as site:
        yield site


@pytest.fixture
async def server(tmp_path: Path, site: LoopbackSite) -> AsyncIterator[Served]:
    settings = Settings(
        home=tmp_path, provider="offline", fetch_allowed=site.allowed, fetch_delay_s=0
    )
    async with served(SearchContext(settings=settings)) as server:
        yield server


async def ingest(server: Served, **order: Any) -> dict[str, Any]:
    """Start an ingestion and return its ticket when its pages are done."""
    answer = await server.client.post(f"{API}/ingestions", json=order)
    assert answer.status_code == 201, answer.text
    followed = await server.client.get(f"{API}/tickets/{answer.json()['ticket_id']}/events")
    *_, end = read_events(followed.text)
    assert end.kind == "end"
    ticket: dict[str, Any] = end.data
    return ticket


async def test_pages_by_hand(server: Served, site: LoopbackSite) -> None:
    """Good pages are stored, and a bad one says why it is not; another try is possible."""
    good = site.put("/tea", article("Tea", essay("green tea")))
    bad = good.replace("/tea", "/nothing")
    ticket = await ingest(server, collection="tea", urls=[good, bad])
    assert (ticket["stored"], ticket["failed"], ticket["pending"]) == (1, 1, 0)
    by_url = {row["url"]: row for row in ticket["documents"]}
    assert by_url[good]["state"] == "stored"
    assert by_url[bad]["error"]
    store = await server.app.state.context.storage()
    (page,) = [row for row in store.collections.export(TenantScope("local", "tea")) if "url" in row]
    assert page["provenance"]["approved_by"] == "local"
    site.put("/nothing", article("Now", essay("black tea")))
    path = f"{API}/tickets/{ticket['ticket_id']}"
    assert (await server.client.post(f"{path}/retry")).status_code == 200
    *_, end = read_events((await server.client.get(f"{path}/events")).text)
    assert (end.data["stored"], end.data["failed"]) == (2, 0)


@pytest.mark.slow
async def test_pages_that_another_process_left_are_taken(
    server: Served, site: LoopbackSite
) -> None:
    """Within seconds, though the server's own work has ended: one that is killed leaves pages."""
    engine = await engine_for(server.app.state.context)
    await wait_until_async(lambda: not engine.is_at_work)
    page = site.put("/tea", article("Tea", essay("green tea")))
    settings = server.app.state.context.using()
    ticket = await aingest(
        [page], collection="tea", context=SearchContext(settings=settings), work=False
    )
    store = await server.app.state.context.storage()

    def is_stored() -> bool:
        status = store.ledger.status("local", ticket.ticket_id)
        return status is not None and status.stored == 1

    await wait_until_async(is_stored, timeout_s=30)


async def test_another_try_is_for_the_ticket_s_own_pages(
    server: Served, site: LoopbackSite
) -> None:
    """What failed in other ingestions of the collection stays as it is."""
    mine, other = site.address("/mine"), site.address("/other")
    tickets = [
        (await ingest(server, collection="tea", urls=[url]))["ticket_id"] for url in (mine, other)
    ]
    for path in ("/mine", "/other"):
        site.put(path, article("Now", essay(f"black tea {path}")))
    path = f"{API}/tickets/{tickets[0]}"
    assert (await server.client.post(f"{path}/retry")).status_code == 200
    *_, end = read_events((await server.client.get(f"{path}/events")).text)
    assert (end.data["stored"], end.data["failed"]) == (1, 0)
    left = (await server.client.get(f"{API}/tickets/{tickets[1]}")).json()
    assert (left["stored"], left["failed"]) == (0, 1)


@pytest.mark.usefixtures("offline_index")
async def test_results_of_a_run_keep_their_texts(server: Served) -> None:
    """The staged text is stored without a fetch, with what the run knew of the page."""
    run = await server.end_of((await server.start(**INPUT))["run_id"])
    urls = [one["url"] for one in run["output"]["results"][:2]]
    ticket = await ingest(server, collection="chosen", urls=urls, run_id=run["run_id"])
    assert ticket["stored"] == 2
    store = await server.app.state.context.storage()
    pages = [
        row for row in store.collections.export(TenantScope("local", "chosen")) if "url" in row
    ]
    assert sorted(page["url"] for page in pages) == sorted(urls)
    for page in pages:
        told = page["provenance"]
        assert told["approved_by"] == "local"
        assert (told["question"], told["provider"]) == (run["question"], "offline")
        assert told["embedding_rank_score"] > 0
    dashboard = (await server.client.get(f"{API}/collections/chosen/coverage")).json()
    (question,) = dashboard["questions"]
    assert question["question"] == run["question"]
    assert question["unverified"] == len(run["output"]["strategy"]["queries"])


@pytest.mark.usefixtures("offline_index")
@pytest.mark.parametrize("field", ["question", "purpose"])
async def test_a_question_that_the_run_has_masked_is_not_asked_again(
    server: Served, field: str
) -> None:
    """A refresh would search for the mark; the pages are ingested all the same."""
    given = INPUT | {field: "How does api_key=abcdef1 cancel an asyncio task?"}
    run = await server.end_of((await server.start(**given))["run_id"])
    urls = [run["output"]["results"][0]["url"]]
    ticket = await ingest(server, collection="chosen", urls=urls, run_id=run["run_id"])
    assert ticket["stored"] == 1
    store = await server.app.state.context.storage()
    assert store.collections.questions(TenantScope("local", "chosen")) == []


@pytest.mark.usefixtures("offline_index")
async def test_pages_that_the_run_has_not(server: Served) -> None:
    """They are refused, and nothing is ingested."""
    run = await server.end_of((await server.start(**INPUT))["run_id"])
    order = {"collection": "c", "urls": ["https://else.example/"], "run_id": run["run_id"]}
    answer = await server.client.post(f"{API}/ingestions", json=order)
    assert (answer.status_code, answer.json()["error"]["type"]) == (422, "InputError")
    order["run_id"] = "run-unknown"
    assert (await server.client.post(f"{API}/ingestions", json=order)).status_code == 404
    assert (await server.client.get(f"{API}/tickets/ticket-unknown")).status_code == 404


async def test_addresses_that_are_none(server: Served) -> None:
    """The error names what the caller gave, not an input of the graph behind it."""
    order = {"collection": "c", "urls": ["https://example.com/", "ftp://example.com/"]}
    answer = await server.client.post(f"{API}/ingestions", json=order)
    error = answer.json()["error"]
    assert answer.status_code == 422
    assert [one["field"] for one in error["fields"]] == ["urls.1"]


async def test_options_and_caller(server: Served) -> None:
    """What a run may choose: never a key, and the offline corpus is always there."""
    options = (await server.client.get(f"{API}/options")).json()
    offline = options["providers"][0]
    assert (offline["name"], offline["configured"], offline["is_default"]) == (
        "offline",
        True,
        True,
    )
    assert options["defaults"]["max_candidates"] == 20
    nodes = [one["node"] for one in options["stages"]["collection_review"]]
    assert nodes[0] == "k_generate_strategy"
    assert "k_hitl_gate" in nodes
    me = (await server.client.get(f"{API}/me")).json()
    assert (me["user"], me["role"], me["auth"]) == ("local", "admin", False)
    metrics = await server.client.get(f"{API}/metrics")
    assert (metrics.status_code, metrics.json()["error"]["type"]) == (400, "ConfigError")


async def test_a_ticket_that_goes_ends_its_stream(server: Served, site: LoopbackSite) -> None:
    """With an event, not with a broken connection: its collection was deleted."""
    site.slow.add(0)
    page = site.put("/tea", article("Tea", essay("green tea")))
    order = {"collection": "tea", "urls": [page]}
    ticket = (await server.client.post(f"{API}/ingestions", json=order)).json()
    path = f"{API}/tickets/{ticket['ticket_id']}/events"
    following = asyncio.create_task(server.client.get(path))
    await wait_until_async(lambda: site.asked("/tea"))
    assert (await server.client.delete(f"{API}/collections/tea")).status_code == 200
    *_, last = read_events((await following).text)
    assert (last.kind, last.data["error"]["type"]) == ("error", "NotFound")


def test_a_ticket_names_no_place(settings: Settings) -> None:
    """The ledger keeps whole errors, which the operator reads."""
    error = f"{settings.home}/collections.db is damaged."
    row = RowStatus(url="https://example.com/", title="Tea", state="dead", error=error)
    status = TicketStatus(ticket_id="ticket-1", collection="docs", count=1, failed=1, rows=[row])
    for places, told in (
        (Places(settings), "(data folder)/collections.db is damaged."),
        (Places(), error),
    ):
        (shown,) = view_ticket(status, places)["documents"]
        assert shown["error"] == told
