"""A scanned PDF becomes a document by the parser that the settings name."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from support.loopback_site import LoopbackSite
from support.own_parsers import SAID

from collection_search import SearchContext, Settings, ingest, refresh, retrieve, wait
from collection_search.adapters.stores.sqlite import SQLiteStore
from collection_search.runtime.concurrency import run_blocking
from collection_search.settings.adapter_factory import make_adapter
from collection_search.settings.page_parsers import PageParsers
from collection_search.testing.hostile_site.file_types import pdf

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from collection_search.contracts.ingestion import RowStatus

    Opened = Callable[[str], SearchContext]

pytestmark = pytest.mark.slow


@pytest.fixture
def site() -> Iterator[LoopbackSite]:
    with LoopbackSite() as site:
        site.put("/scan", pdf(b"q Q"), headers={"Content-Type": "application/pdf"})
        yield site


@pytest.fixture
def opened(site: LoopbackSite, tmp_path: Path) -> Iterator[Opened]:
    """Contexts whose settings name a parser for PDF, as of processes that come one after another."""
    made: list[tuple[Settings, SQLiteStore]] = []

    def context(name: str = "") -> SearchContext:
        settings = Settings(
            home=tmp_path,
            fetch_allowed=site.allowed,
            fetch_delay_s=0,
            extract_processes=1,
            parsers=PageParsers(pdf=f"support.own_parsers:{name}") if name else None,
        )
        store = SQLiteStore(settings.collections_path)
        made.append((settings, store))
        return SearchContext(settings=settings, store=store)

    yield context
    for settings, store in made:
        run_blocking(make_adapter(settings, "readers", "web").aclose())
        store.close()


def row(context: SearchContext, url: str) -> RowStatus:
    ticket = ingest([url], collection="invoices", context=context)
    (row,) = wait(ticket, timeout_s=60, context=context).rows
    return row


def found(context: SearchContext) -> list[str]:
    passages = retrieve("chairs of beech", collection="invoices", context=context)
    return [passage.text for passage in passages]


def test_a_scan_is_found_by_what_the_parser_read(site: LoopbackSite, opened: Opened) -> None:
    """The built-in reader finds no text in it: the page was given up, and is tried again."""
    url = site.address("/scan")
    before = row(opened(""), url)
    assert (before.state, before.error) == ("dead", "empty: The document holds no text.")
    context = opened("read")
    assert row(context, url).state == "stored"
    assert found(context) == [SAID]


def test_a_refresh_reads_with_another_parser_what_has_not_changed(
    site: LoopbackSite, opened: Opened
) -> None:
    """Once; then a conditional request is enough."""
    url = site.address("/scan")
    row(opened("read"), url)
    assert refresh("invoices", context=opened("read")).unchanged == [url]
    context = opened("read_on_loop")
    assert refresh("invoices", context=context).changed == [url]
    assert found(context) == [f"{SAID} It was read on the loop."]
    assert refresh("invoices", context=opened("read_on_loop")).unchanged == [url]
    asked = [headers.get("if-none-match") is not None for headers in site.asked("/scan")]
    assert asked == [False, True, False, True]


def test_a_parser_that_fails_leaves_what_is_stored(site: LoopbackSite, opened: Opened) -> None:
    """The row has the reason, and the worker goes on with the next page."""
    url = site.address("/scan")
    row(opened("read"), url)
    context = opened("leave_program")
    assert refresh("invoices", context=context).failed
    (failed,) = run_blocking(context.storage()).ledger.dead_letters("local")
    assert failed.error == (
        "extraction_failed: The parser support.own_parsers:leave_program failed."
        " It raised SystemExit."
    )
    assert found(context) == [SAID]
    other = site.put("/other", pdf(b"q Q"), headers={"Content-Type": "application/pdf"})
    assert row(context, other).state == "dead"
