"""`collection-search ingest`."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from collection_search.adapters.stores.sqlite import SQLiteStore
from collection_search.contracts.collection import TenantScope
from collection_search.contracts.ingestion import IngestionItem, IngestionRequest
from collection_search.settings.process_defaults import process_settings

if TYPE_CHECKING:
    from collections.abc import Iterator

    from support.command_line import Invoke


@pytest.fixture
def store() -> Iterator[SQLiteStore]:
    """The command's database, in which two pages were given up."""
    store = SQLiteStore.from_settings(process_settings())
    refs = store.staging.put("local", ["Green tea.", "Black tea."])
    items = [IngestionItem(f"https://e.com/{n}", f"{n}", "Tea", ref) for n, ref in enumerate(refs)]
    store.ledger.enqueue(IngestionRequest(TenantScope("local", "py"), items))
    while claim := store.ledger.claim("test", lease_s=60):
        store.ledger.fail(claim, "no answer", retry_in_s=None)
    yield store
    store.close()


@pytest.mark.slow
@pytest.mark.usefixtures("store")
def test_failed_pages_are_listed_and_tried_again(command: Invoke) -> None:
    """With their cause; afterwards a worker ingests them."""
    listed = command("ingest", "failed")
    assert listed.code == 0
    assert listed.out.startswith("Collection py: 2 given up\npages  why, what to do, and where\n")
    assert "    2  no answer\n" in listed.out
    assert {line.strip() for line in listed.out.splitlines()[4:] if line} == {
        "https://e.com/0",
        "https://e.com/1",
    }
    told = command("ingest", "failed", "--json")
    assert (told.code, told.json["tenant"]) == (0, "local")
    assert {page["url"] for page in told.json["pages"]} == {"https://e.com/0", "https://e.com/1"}
    assert told.json["pages"][0].keys() == {
        *("collection", "url", "title", "attempts", "error", "failed_at")
    }
    for action in ("failed", "retry-failed"):
        other = command("ingest", action, "--collection", "other")
        assert (other.code, other.out) == (2, "")
        assert "no collection 'other'. Known: py." in other.complaints[0]
    none = command("ingest", "retry-failed", "--tenant", "acme")
    assert none.out == "Pages put back into the queue: 0.\n"
    again = command("ingest", "retry-failed", "--collection", "py")
    assert again.out == "Pages put back into the queue: 2.\n"
    assert "worker --once" in again.err
    assert command("worker", "--once").code == 0
    assert command("collections").out.splitlines()[1].split()[:2] == ["py", "2"]


def test_no_failed_pages_is_no_error(command: Invoke) -> None:
    """Nothing is printed where a program would read."""
    ended = command("ingest", "failed")
    assert (ended.code, ended.out) == (0, "")
    assert "No page was given up." in ended.err
    ended = command("ingest", "failed", "--json")
    assert (ended.json["pages"], ended.err) == ([], "")
