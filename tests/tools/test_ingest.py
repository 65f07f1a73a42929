"""Ingestion: a trigger that returns at once, workers that finish the job, a wait for it."""

from __future__ import annotations

import asyncio
import sqlite3
import subprocess
import sys
import threading
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import pytest
from support.leases import LEASE_S, outlast_leases
from support.waiting import wait_until, wait_until_async

from collection_search import Settings
from collection_search.adapters.stores.sqlite import SQLiteStore
from collection_search.context import SearchContext
from collection_search.contracts.collection import Embedded, TenantScope
from collection_search.contracts.embedded_text import titled_fingerprint
from collection_search.contracts.ingestion import IngestionItem, IngestionRequest, PageDone, Ticket
from collection_search.errors import IngestError, InputError, ModelError, StoreError
from collection_search.testing import FakeClock
from collection_search.testing.embeddings import ScriptedEmbedder
from collection_search.tools.ingest import LedgerTrigger, staged_items
from collection_search.tools.ingestion.engine import IngestionEngine
from collection_search.tools.ingestion.ownership import is_gone, this_host
from collection_search.tools.ingestion.process_engines import engine_of
from collection_search.tools.tickets import wait

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from collection_search.contracts.ingestion import TicketStatus

SCOPE = TenantScope("local", "docs")


@pytest.fixture
def settings(tmp_path: Path) -> Settings:
    return Settings(home=tmp_path, ingest_workers=2, ingest_lease_s=60, chunk_chars=200)


@pytest.fixture
def context(settings: Settings, store: SQLiteStore) -> SearchContext:
    return SearchContext(settings=settings, store=store)


def request(store: SQLiteStore, *texts: str, scope: TenantScope = SCOPE) -> IngestionRequest:
    refs = store.staging.put(scope.tenant_id, texts)
    items = [
        IngestionItem(f"https://example.com/{n}", f"example.com/{n}", f"Page {n}", ref)
        for n, ref in enumerate(refs)
    ]
    return IngestionRequest(scope, items, question="What is tea?", run_id="run-1")


def enqueue(store: SQLiteStore, *texts: str, scope: TenantScope = SCOPE) -> Ticket:
    return store.ledger.enqueue(request(store, *texts, scope=scope))


def status(store: SQLiteStore, ticket: Ticket) -> TicketStatus:
    found = store.ledger.status(ticket.tenant_id, ticket.ticket_id)
    assert found is not None
    return found


class SlowEmbedder(ScriptedEmbedder):
    """Holds every call until `free` is set, and counts how many texts it holds at once."""

    def __init__(self, **options: Any) -> None:
        super().__init__(**options)
        self.free = threading.Event()
        self.busy = threading.Event()
        self.holding = self.most = 0

    async def embed(self, texts: Sequence[str]) -> Embedded:
        self.holding += len(texts)
        self.most = max(self.most, self.holding)
        self.busy.set()
        await wait_until_async(self.free.is_set)
        self.holding -= len(texts)
        return await super().embed(texts)


async def test_a_trigger_wakes_workers(
    store: SQLiteStore, settings: Settings, context: SearchContext
) -> None:
    """A caller needs no further step: the pages of the ticket become searchable."""
    ticket = await LedgerTrigger(store, settings).trigger(request(store, "green tea", "black tea"))
    settled = await asyncio.to_thread(wait, ticket, 60, context=context, work=False)
    assert (ticket.count, settled.stored) == (2, 2)
    found = store.collections.search(SCOPE, "green")
    assert [one.chunk.text for one in found] == ["green tea"]
    provenance = found[0].document.provenance
    assert provenance["question"] == "What is tea?"
    assert (provenance["run_id"], provenance["ticket_id"]) == ("run-1", ticket.ticket_id)


@pytest.mark.slow
async def test_waking_can_be_switched_off(
    store: SQLiteStore, settings: Settings, context: SearchContext
) -> None:
    """The pages then wait in the ledger until somebody works."""
    trigger = LedgerTrigger(store, settings, wake=False)
    ticket = await trigger.trigger(request(store, "green tea"))
    idle = await asyncio.to_thread(wait, ticket, 0.2, context=context, work=False)
    assert (idle.pending, idle.settled) == (1, False)
    done = await asyncio.to_thread(wait, ticket, 60, context=context)
    assert (done.stored, done.settled) == (1, True)


async def test_a_trigger_from_settings_uses_their_database(settings: Settings) -> None:
    """What the registry builds writes where the settings say."""
    trigger = await asyncio.to_thread(LedgerTrigger.from_settings, settings, wake=False)
    ticket = await trigger.trigger(IngestionRequest(SCOPE, []))
    store = SQLiteStore.from_settings(settings)
    assert status(store, ticket).settled
    store.close()


async def test_a_trigger_that_cannot_write_says_so(tmp_path: Path, settings: Settings) -> None:
    """Every cause is an IngestError, which keeps the sentence of the store."""
    store = SQLiteStore(tmp_path / "busy.db", busy_timeout_s=0.01)
    pages = request(store, "green tea")
    holder = sqlite3.connect(tmp_path / "busy.db", isolation_level=None)
    holder.execute("BEGIN IMMEDIATE")
    with pytest.raises(IngestError, match=r"could not be started.*held by another process"):
        await LedgerTrigger(store, settings).trigger(pages)
    holder.close()
    store.close()


def test_staged_pages_have_the_keys_of_today() -> None:
    """Those of earlier versions were looser; a caller's own stays."""
    url = "http://www.example.com/tea/"
    page = {"url": url, "title": "Tea", "content_ref": None, "provenance": {}}
    items = staged_items([{**page, "url_key": key} for key in ("example.com/tea", "mine")], {})
    assert [item.url_key for item in items] == ["http://www.example.com/tea/", "mine"]


def test_waiting_reports_progress(store: SQLiteStore, context: SearchContext) -> None:
    """Each new status is told once, up to everything stored."""
    told: list[TicketStatus] = []
    ticket = enqueue(store, *(f"tea number {n}" for n in range(5)))
    done = wait(ticket, 60, context=context, on_progress=told.append)
    stored = [status.stored for status in told]
    assert (sorted(stored), stored[-1]) == (stored, 5)
    assert told[-1] == done
    assert all(one != other for one, other in pairwise(told))


def test_a_ticket_may_be_given_by_its_id(store: SQLiteStore, context: SearchContext) -> None:
    """The graph's output names the ticket by its id: it is the settings' tenant's, if none is given."""
    ticket = enqueue(store, "tea")
    assert wait(ticket.ticket_id, 60, tenant=ticket.tenant_id, context=context).stored == 1
    assert wait(ticket.ticket_id, 60, context=context).stored == 1
    with pytest.raises(InputError, match="There is no ticket"):
        wait(ticket.ticket_id, 60, tenant="somebody else", context=context)


def test_an_unknown_ticket_is_refused(context: SearchContext) -> None:
    """One sentence says what may have happened."""
    ticket = Ticket(ticket_id="ticket-x", tenant_id="local", collection="docs", count=1)
    with pytest.raises(InputError, match="There is no ticket ticket-x"):
        wait(ticket, 1, context=context)


def test_waiting_ends_when_the_workers_cannot_work(tmp_path: Path, settings: Settings) -> None:
    """A database that nobody can write is an error, not an endless wait."""
    store = SQLiteStore(tmp_path / "busy.db", busy_timeout_s=0.01)
    ticket = enqueue(store, "green tea")
    holder = sqlite3.connect(tmp_path / "busy.db", isolation_level=None)
    holder.execute("BEGIN IMMEDIATE")
    with pytest.raises(StoreError, match="held by another process"):
        wait(ticket, 60, context=SearchContext(settings=settings, store=store))
    holder.close()
    store.close()


def test_chunks_are_parts_of_the_text(store: SQLiteStore, settings: Settings) -> None:
    """Offsets lead from a chunk back into the text, and sizes follow the settings."""
    text = "  First sentence about tea. " + "Another sentence about tea. " * 30
    enqueue(store, text)
    assert IngestionEngine(store, settings).drain(timeout_s=60)
    (exported,) = store.collections.export(SCOPE)
    assert len(exported["chunks"]) > 3
    for chunk in exported["chunks"]:
        assert text[chunk["start"] : chunk["end"]] == chunk["text"]
        assert len(chunk["text"]) <= settings.chunk_chars


@pytest.mark.parametrize(
    ("ref", "cause"), [("0" * 64, "no longer staged"), (None, "holds no text")]
)
def test_what_cannot_succeed_is_a_dead_letter_at_once(
    store: SQLiteStore, settings: Settings, ref: str | None, cause: str
) -> None:
    """A missing or blank text is not tried five times."""
    ref = ref or store.staging.put("local", [" \n "])[0]
    item = IngestionItem("https://example.com/a", "example.com/a", "A", ref)
    ticket = store.ledger.enqueue(IngestionRequest(SCOPE, [item]))
    assert IngestionEngine(store, settings).drain(timeout_s=60)
    (row,) = status(store, ticket).rows
    assert (row.state, row.attempts) == ("dead", 1)
    assert cause in (row.error or "")


def test_a_passing_failure_is_tried_again(store: SQLiteStore, settings: Settings) -> None:
    """A model that comes back finds the page waiting."""
    embedder = ScriptedEmbedder(errors=[ModelError("overloaded"), TimeoutError()])
    store.collections.bind_embedder(SCOPE, embedder.fingerprint)
    ticket = enqueue(store, "green tea")
    assert IngestionEngine(store, settings, embedder=embedder, backoff_s=0.01).drain(timeout_s=60)
    (row,) = status(store, ticket).rows
    assert (row.state, row.attempts, row.error) == ("stored", 3, None)


@pytest.mark.slow
def test_a_lasting_failure_is_a_dead_letter_with_its_cause(
    store: SQLiteStore, settings: Settings
) -> None:
    """After the last attempt the ticket says what went wrong, without secrets."""
    errors = [RuntimeError("refused api_key=sk-1234567890abcdef")] * settings.ingest_max_attempts
    embedder = ScriptedEmbedder(errors=errors)
    store.collections.bind_embedder(SCOPE, embedder.fingerprint)
    ticket = enqueue(store, "green tea")
    assert IngestionEngine(store, settings, embedder=embedder, backoff_s=0.001).drain(timeout_s=60)
    (row,) = status(store, ticket).rows
    assert (row.state, row.attempts) == ("dead", settings.ingest_max_attempts)
    assert "RuntimeError: refused" in (row.error or "")
    assert "sk-1234567890abcdef" not in (row.error or "")


class ShortEmbedder(ScriptedEmbedder):
    """Loses the last text."""

    async def embed(self, texts: Sequence[str]) -> Embedded:
        return Embedded((await super().embed(texts)).vectors[:-1])


def test_missing_vectors_are_a_failure(store: SQLiteStore, settings: Settings) -> None:
    """Texts and vectors are never paired by chance."""
    embedder = ShortEmbedder()
    store.collections.bind_embedder(SCOPE, embedder.fingerprint)
    ticket = enqueue(store, "green tea")
    IngestionEngine(store, settings, embedder=embedder, backoff_s=0.001).drain(timeout_s=60)
    assert "0 vectors for 1 texts" in (status(store, ticket).rows[0].error or "")


async def test_a_new_collection_is_bound_to_the_embedder(
    store: SQLiteStore, settings: Settings, context: SearchContext
) -> None:
    """Its chunks have that embedder's vectors."""
    embedder = ScriptedEmbedder()
    trigger = LedgerTrigger(store, settings, embedder=embedder)
    ticket = await trigger.trigger(request(store, "green tea"))
    await asyncio.to_thread(wait, ticket, 60, context=context, work=False)
    assert store.collections.embedder(SCOPE) == titled_fingerprint(embedder.fingerprint)
    (exported,) = store.collections.export(SCOPE)
    expected = (await embedder.embed([f"{exported['title']}\ngreen tea"])).vectors
    assert exported["chunks"][0]["vector"] == expected[0].tolist()


async def test_another_embedder_is_refused_before_anything_is_accepted(
    store: SQLiteStore, settings: Settings
) -> None:
    """The sentence names both, and the ledger stays empty."""
    store.collections.bind_embedder(SCOPE, "first:64")
    pages = request(store, "green tea")
    for embedder in (ScriptedEmbedder(fingerprint="second:64"), None):
        trigger = LedgerTrigger(store, settings, embedder=embedder)
        with pytest.raises(IngestError, match="filled with the embedder first:64"):
            await trigger.trigger(pages)
    assert store.ledger.pending_in_s() is None


@pytest.mark.slow
def test_a_worker_without_the_embedder_says_which(store: SQLiteStore, settings: Settings) -> None:
    """A page that another process accepted is a dead letter with the way out, after every attempt."""
    store.collections.bind_embedder(SCOPE, "first:64")
    ticket = enqueue(store, "green tea")
    IngestionEngine(store, settings, backoff_s=0.001).drain(timeout_s=60)
    (row,) = status(store, ticket).rows
    assert (row.state, row.attempts) == ("dead", settings.ingest_max_attempts)
    assert "first:64" in (row.error or "")


@pytest.mark.slow
def test_a_worker_with_the_embedder_takes_over(store: SQLiteStore, settings: Settings) -> None:
    """A page that one without it tried in vain is left to it."""
    embedder = ScriptedEmbedder(fingerprint="first:64")
    store.collections.bind_embedder(SCOPE, embedder.fingerprint)
    ticket = enqueue(store, "green tea")
    without, done = IngestionEngine(store, settings, backoff_s=1), list[PageDone]()
    without.equip(on_page_done=done.append)
    without.start()
    wait_until(lambda: status(store, ticket).rows[0].error)
    without.stop()
    (row,) = status(store, ticket).rows
    assert (row.state, done) == ("waiting", [])
    assert IngestionEngine(store, settings, embedder=embedder).drain(timeout_s=60)
    assert status(store, ticket).stored == 1


async def test_a_collection_filled_by_words_goes_on_so(
    store: SQLiteStore, settings: Settings, context: SearchContext
) -> None:
    """A model that is configured later does not split the collection in two."""
    enqueue(store, "green tea")
    assert IngestionEngine(store, settings).drain(timeout_s=60)
    trigger = LedgerTrigger(store, settings, embedder=ScriptedEmbedder())
    ticket = await trigger.trigger(request(store, "green tea", "black tea"))
    settled = await asyncio.to_thread(wait, ticket, 60, context=context, work=False)
    assert settled.stored == 2
    assert store.collections.embedder(SCOPE) is None


@pytest.mark.slow
def test_workers_are_bounded_per_process(store: SQLiteStore, settings: Settings) -> None:
    """However often it is woken, a process works on `ingest_workers` pages at once.

    Each page is one text; two of them may be in one request.
    """
    embedder = SlowEmbedder()
    store.collections.bind_embedder(SCOPE, embedder.fingerprint)
    ticket = enqueue(store, *(f"tea {n}" for n in range(6)))
    engine = engine_of(store, settings, embedder)
    for _ in range(5):
        assert engine_of(store, settings) is engine
        engine.start()
    wait_until(lambda: embedder.holding == settings.ingest_workers)
    assert not engine.drain(timeout_s=0.2)
    embedder.free.set()
    assert engine.drain(timeout_s=60)
    assert embedder.most == settings.ingest_workers
    assert status(store, ticket).stored == 6


@pytest.mark.slow
def test_a_page_that_comes_anew_while_it_is_worked_on_is_ingested_once(
    store: SQLiteStore, settings: Settings
) -> None:
    """Two workers of one process then hold the same row, and the newer text wins."""
    embedder = SlowEmbedder()
    store.collections.bind_embedder(SCOPE, embedder.fingerprint)
    enqueue(store, "old tea")
    engine = IngestionEngine(store, settings, embedder=embedder)
    engine.start()
    assert embedder.busy.wait(60)
    embedder.busy.clear()
    ticket = enqueue(store, "new tea")
    assert embedder.busy.wait(60)
    embedder.free.set()
    assert engine.drain(timeout_s=60)
    assert status(store, ticket).stored == 1
    (exported,) = store.collections.export(SCOPE)
    assert [chunk["text"] for chunk in exported["chunks"]] == ["new tea"]


@pytest.mark.slow
def test_a_slow_page_keeps_its_lease(tmp_path: Path) -> None:
    """A worker that is alive is not overtaken, however long the page takes."""
    settings, clock = Settings(home=tmp_path, ingest_lease_s=LEASE_S), FakeClock()
    store = SQLiteStore(tmp_path / "leases.db", clock=clock.time)
    embedder, usual = SlowEmbedder(), ScriptedEmbedder()
    store.collections.bind_embedder(SCOPE, embedder.fingerprint)
    ticket = enqueue(store, "green tea")
    slow = IngestionEngine(store, settings, embedder=embedder)
    other = IngestionEngine(store, settings, embedder=usual)
    slow.start()
    assert embedder.busy.wait(60)
    outlast_leases(tmp_path / "leases.db", clock)
    assert not other.drain(timeout_s=0.5)
    embedder.free.set()
    assert slow.drain(timeout_s=60)
    assert [(row.state, row.attempts) for row in status(store, ticket).rows] == [("stored", 1)]
    assert usual.calls == []
    other.stop()
    store.close()


@pytest.mark.slow
def test_stopping_finishes_what_is_in_hand(store: SQLiteStore, settings: Settings) -> None:
    """No further row is taken; the next start continues."""
    embedder = SlowEmbedder()
    store.collections.bind_embedder(SCOPE, embedder.fingerprint)
    ticket = enqueue(store, *(f"tea {n}" for n in range(6)))
    engine = IngestionEngine(store, settings, embedder=embedder)
    engine.start()
    assert embedder.busy.wait(60)

    def go_on_once_it_stops() -> None:
        wait_until(lambda: not engine._leases.is_open)
        embedder.free.set()

    going_on = threading.Thread(target=go_on_once_it_stops)
    going_on.start()
    engine.stop(timeout_s=60)
    going_on.join()
    assert 1 <= status(store, ticket).stored <= settings.ingest_workers
    assert {row.state for row in status(store, ticket).rows} == {"stored", "waiting"}
    assert engine.drain(timeout_s=60)
    assert status(store, ticket).stored == 6


def test_stopping_in_a_hurry_gives_rows_back(store: SQLiteStore, settings: Settings) -> None:
    """What is not done in time is free at once, and the late worker has no effect."""
    embedder = SlowEmbedder()
    store.collections.bind_embedder(SCOPE, embedder.fingerprint)
    ticket = enqueue(store, "green tea")
    engine = IngestionEngine(store, settings, embedder=embedder)
    engine.start()
    assert embedder.busy.wait(60)
    engine.stop(timeout_s=0)
    (row,) = status(store, ticket).rows
    assert (row.state, row.attempts) == ("waiting", 0)
    embedder.free.set()
    engine.stop(timeout_s=60)
    assert status(store, ticket).stored == 0


@pytest.mark.slow
def test_a_stop_gives_back_the_row_that_is_just_being_taken(
    store: SQLiteStore, settings: Settings
) -> None:
    """However the threads interleave, no row stays with a worker that was stopped."""
    taking, go_on = threading.Event(), threading.Event()
    claim = store.ledger.claim

    def slow_claim(owner: str, *, lease_s: float) -> Any:
        taking.set()
        assert go_on.wait(60)
        return claim(owner, lease_s=lease_s)

    embedder = SlowEmbedder()
    store.collections.bind_embedder(SCOPE, embedder.fingerprint)
    ticket = enqueue(store, "green tea")
    store.ledger.claim = slow_claim  # type: ignore[method-assign]
    engine = IngestionEngine(store, settings, embedder=embedder)
    engine.start()
    assert taking.wait(60)
    stopping = threading.Thread(target=engine.stop, kwargs={"timeout_s": 0})
    stopping.start()
    stopping.join(0.2)
    go_on.set()
    stopping.join(60)
    (row,) = status(store, ticket).rows
    assert (row.state, row.attempts) == ("waiting", 0)
    embedder.free.set()
    engine.stop(timeout_s=60)
    assert status(store, ticket).stored == 0


@pytest.mark.slow
def test_a_start_while_the_work_is_being_stopped_begins_other_work(
    store: SQLiteStore, settings: Settings
) -> None:
    """The work that ends takes nothing more, so no row stays with it; nothing is left undone."""
    looking, look_on, take_on = (threading.Event() for _ in range(3))
    sweep, claim = store.ledger.sweep, store.ledger.claim

    def slow_sweep(**how: Any) -> int:
        looking.set()
        assert look_on.wait(60)
        return sweep(**how)

    def slow_claim(owner: str, *, lease_s: float) -> Any:
        taken = claim(owner, lease_s=lease_s)
        assert not looking.is_set() or take_on.wait(60)
        return taken

    store.ledger.sweep = slow_sweep  # type: ignore[method-assign]
    store.ledger.claim = slow_claim  # type: ignore[method-assign]
    embedder = SlowEmbedder()
    store.collections.bind_embedder(SCOPE, embedder.fingerprint)
    enqueue(store, "green tea")
    engine = IngestionEngine(store, settings, embedder=embedder)
    engine.start()
    assert embedder.busy.wait(60)
    assert looking.wait(60)
    ticket = enqueue(store, "green tea", "black tea")
    stopping = threading.Thread(target=engine.stop, kwargs={"timeout_s": 1})
    stopping.start()
    wait_until(lambda: not engine._leases.is_open)
    engine.start()
    look_on.set()
    stopping.join(60)
    take_on.set()
    embedder.free.set()
    assert engine.drain(timeout_s=60)
    assert status(store, ticket).stored == 2


def test_a_start_while_the_work_fails_begins_other_work(
    store: SQLiteStore, settings: Settings
) -> None:
    """Nobody waits for work that has ended."""
    failing, fail_on = threading.Event(), threading.Event()
    release, sweep = store.ledger.release, store.ledger.sweep

    def broken_sweep(**_: Any) -> int:
        raise StoreError("broken")

    def slow_release(claim: Any) -> None:
        failing.set()
        assert fail_on.wait(60)
        release(claim)

    embedder = SlowEmbedder()
    store.collections.bind_embedder(SCOPE, embedder.fingerprint)
    ticket = enqueue(store, "green tea")
    store.ledger.sweep = broken_sweep  # type: ignore[method-assign]
    store.ledger.release = slow_release  # type: ignore[method-assign]
    engine = IngestionEngine(store, settings, embedder=embedder)
    engine.start()
    assert failing.wait(60)
    store.ledger.sweep = sweep  # type: ignore[method-assign]
    engine.start()
    fail_on.set()
    embedder.free.set()
    assert engine.drain(timeout_s=60)
    assert status(store, ticket).stored == 1


@pytest.mark.slow
def test_the_rows_of_a_dead_process_are_taken_at_once(
    store: SQLiteStore, settings: Settings
) -> None:
    """Nobody waits for the lease of a worker that was killed on this computer."""
    script = (
        "import os, sys; from pathlib import Path;"
        "from collection_search.adapters.stores.sqlite import SQLiteStore;"
        "from collection_search.tools.ingestion.ownership import this_process;"
        "store = SQLiteStore(Path(sys.argv[1]));"
        "store.ledger.claim(this_process(), lease_s=1000);"
        "os._exit(9)"
    )
    ticket = enqueue(store, "green tea")
    subprocess.run([sys.executable, "-c", script, str(settings.collections_path)], check=False)
    assert status(store, ticket).rows[0].state == "working"
    assert IngestionEngine(store, settings).drain(timeout_s=60)
    assert [(row.state, row.attempts) for row in status(store, ticket).rows] == [("stored", 2)]


@pytest.mark.parametrize("owner", ["", "somebody", "other-host:1:x", "a:b:c", f"{this_host()}:1:x"])
def test_doubt_speaks_for_the_owner(owner: str) -> None:
    """Only a process of this host can be known to have ended."""
    assert not is_gone(owner)


@pytest.mark.slow
def test_two_stores_share_the_work(
    store: SQLiteStore, settings: Settings, context: SearchContext
) -> None:
    """Two engines on one file store every page once."""
    ticket = enqueue(store, *(f"tea number {n}" for n in range(30)))
    other = SQLiteStore.from_settings(settings)
    engines = IngestionEngine(store, settings), IngestionEngine(other, settings)
    for engine in engines:
        engine.start()
    assert all(engine.drain(timeout_s=60) for engine in engines)
    other.close()
    settled = wait(ticket, 0, context=context, work=False)
    assert [(row.state, row.attempts) for row in settled.rows] == [("stored", 1)] * 30
    assert store.collections.collections("local")[0].chunks == 30
