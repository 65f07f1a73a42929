"""Contract suite for ledgers with pages that have several addresses."""

from __future__ import annotations

import hashlib
from itertools import permutations
from typing import TYPE_CHECKING, Any, Final, TypeAlias

import pytest

from ...contracts.collection import Document
from ...contracts.crawl_record import CrawlRecord
from ...contracts.ingestion import IngestionItem, IngestionRequest
from ...contracts.page import Validators
from ...ports.collections import find_page
from ...text.urls import url_key
from .ledger_fetching import FetchingContract
from .suite import MINE, chunks

if TYPE_CHECKING:
    from ...contracts.ingestion import Claim, Ticket

ONE = "https://example.com/tea"
OTHER = "https://example.com/tea?print=1"
FOLDER = "https://example.com/tea/"
HTTP = "http://example.com/tea"
Site: TypeAlias = "dict[str, tuple[str, dict[str, Any]]]"
"""The text of each page, and the facts of its fetch."""
ONE_TEXT: Final[Site] = {
    ONE: ("green tea", {"final_url": FOLDER}),
    FOLDER: ("green tea", {"canonical_url": FOLDER}),
    OTHER: ("green tea", {"canonical_url": FOLDER}),
    HTTP: ("green tea", {"final_url": ONE}),
}
CHANGING_TEXTS: Final[Site] = {
    ONE: ("one o'clock", {"final_url": FOLDER}),
    FOLDER: ("two o'clock", {"canonical_url": FOLDER}),
    HTTP: ("three o'clock", {"canonical_url": FOLDER}),
    OTHER: ("one o'clock", {}),
    "https://example.com/tea?print=2": ("one o'clock", {"canonical_url": FOLDER}),
}


class AddressesContract(FetchingContract):
    """Tests of equal texts, redirects and canonical links within one collection."""

    def _ask_for(self, *urls: str) -> Ticket:
        items = [IngestionItem(url, url_key(url), "Tea") for url in urls]
        return self.store.ledger.enqueue(IngestionRequest(MINE, items))

    def _ingest(self, url: str, text: str = "green tea", **facts: Any) -> Ticket:
        ticket = self._ask_for(url)
        self._end(self._take(), text, **facts)
        return ticket

    def _end(self, claim: Claim, text: str = "green tea", **facts: Any) -> None:
        text_hash = hashlib.sha256(text.encode()).hexdigest()
        page = Document(claim.url, claim.url_key, claim.url, text_hash, claim.provenance)
        fetched = self._got(**{"final_url": claim.url, **facts})
        assert self.store.ledger.finish(claim, page, chunks(text), fetched=fetched)

    def _refresh(self, url: str) -> Claim:
        """Claim a stored page for a fetch, alone."""
        self.store.ledger.refetch(MINE, url_keys=[url_key(url)])
        while (claim := self._take()).url != url:
            assert self.store.ledger.unchanged(claim, self._got(final_url=claim.url))
        return claim

    def _pages(self) -> dict[str, tuple[str, ...]]:
        """Return the further URLs of each stored document by its URL."""
        return {row["url"]: tuple(row.get("also_at", ())) for row in self._rows()}

    def _rows(self) -> list[dict[str, Any]]:
        return list(self.store.collections.export(MINE))

    @pytest.mark.parametrize("urls", [(ONE, OTHER), (OTHER, ONE)])
    def test_an_equal_text_is_stored_once(self, urls: tuple[str, str]) -> None:
        """With both addresses, in whatever order they came; both pages count as stored."""
        tickets = [self._ingest(url) for url in urls]
        assert self._pages() == {ONE: (OTHER,)}
        assert [self._state(ticket) for ticket in tickets] == ["stored", "stored"]
        (found,) = self._found("tea")
        assert (found.document.url, found.document.also_at) == (ONE, (OTHER,))
        changes = {row.url: row.change for ticket in tickets for row in self._status(ticket).rows}
        assert changes == {ONE: "new", OTHER: "duplicate"}
        assert self.store.collections.hashes(MINE).keys() == {url_key(ONE), url_key(OTHER)}
        (info,) = self.store.collections.collections(MINE.tenant_id)
        assert (info.documents, info.chunks, info.waiting) == (1, 1, 0)

    @pytest.mark.parametrize("pages", [ONE_TEXT, CHANGING_TEXTS])
    def test_the_export_does_not_depend_on_the_order(self, pages: Site) -> None:
        """Redirects, canonical links and equal texts give the same rows in every order."""
        exports = []
        for order in permutations(pages):
            for url in order:
                text, facts = pages[url]
                self._ingest(url, text, **facts)
            exports.append(self._rows())
            self.store.collections.delete_collection(MINE)
        assert all(export == exports[0] for export in exports)
        homes = {row["url"]: set(row.get("also_at", ())) for row in exports[0]}
        if pages is ONE_TEXT:
            assert homes == {FOLDER: {HTTP, ONE, OTHER}}
        else:
            assert homes == {FOLDER: {ONE, HTTP}, OTHER: {"https://example.com/tea?print=2"}}

    def test_a_redirect_is_an_address(self) -> None:
        """Its target is found as the page; if it is asked for itself, it has the document."""
        self._ingest("http://example.com/tea", final_url=ONE)
        assert self._pages() == {"http://example.com/tea": (ONE,)}
        (stored,) = self.store.collections.get(MINE, [url_key(ONE)])
        assert stored.document.url == "http://example.com/tea"
        self._ask_for(ONE)
        target = self._take()
        assert (target.text_hash, target.validators) == (None, Validators())
        self._end(target, "green tea, and the time of day")
        assert self._pages() == {ONE: ("http://example.com/tea",)}

    def test_a_canonical_link_needs_a_second_witness(self) -> None:
        """The further pages of a list name the first one, and have texts of their own."""
        self._ingest(FOLDER, "first page", canonical_url=FOLDER)
        self._ingest(OTHER, "second page", canonical_url=FOLDER)
        assert self._pages() == {FOLDER: (), OTHER: ()}
        self._ingest(ONE, "first page, an hour later", canonical_url=FOLDER)
        assert self._pages() == {FOLDER: (ONE,), OTHER: ()}

    def test_a_page_cannot_take_the_place_of_another(self) -> None:
        """A page that names another as itself changes nothing of that one."""
        self._ingest(ONE, "green tea")
        self._ingest(OTHER, "advertisement", canonical_url=ONE)
        self._ingest(FOLDER, "more advertisement", canonical_url=ONE)
        assert self._pages() == {ONE: (), FOLDER: (), OTHER: ()}
        assert self._texts("green") == ["green tea"]

    def test_likely_addresses_of_one_page_stay_apart(self) -> None:
        """Slash, scheme and `www.` are no proof while the texts differ."""
        urls = [ONE, FOLDER, "http://example.com/tea", "https://www.example.com/tea"]
        for url in urls:
            self._ingest(url, f"the text at {url}")
        assert self._pages().keys() == set(urls)

    def test_a_page_that_differs_again_gets_its_own_document(self) -> None:
        """As soon as its fetch says so."""
        self._ingest(ONE)
        self._ingest(OTHER)
        self._end(self._refresh(OTHER), "black tea")
        assert self._pages() == {ONE: (), OTHER: ()}
        assert sorted(self._texts("tea")) == ["black tea", "green tea"]

    def test_the_other_address_keeps_the_text_of_before(self) -> None:
        """When the page that has the document changes, is retired or deleted."""
        self._ingest(ONE)
        self._ingest(OTHER)
        self._end(self._refresh(ONE), "black tea")
        assert {row["url"]: row["chunks"][0]["text"] for row in self._rows()} == {
            ONE: "black tea",
            OTHER: "green tea",
        }
        self._end(self._refresh(ONE), "green tea")
        assert self._pages() == {ONE: (OTHER,)}
        assert self.store.ledger.retire(self._refresh(ONE), "gone: 404")
        assert self._pages() == {OTHER: ()}
        self._ingest(ONE)
        assert self.store.collections.delete_document(MINE, url_key(ONE))
        assert self._pages() == {OTHER: ()}
        assert self._texts("green") == ["green tea"]

    def test_an_address_that_vanishes_takes_nothing_with_it(self) -> None:
        """Nor does one that is deleted."""
        self._ingest(ONE)
        self._ingest(OTHER)
        assert self.store.ledger.retire(self._refresh(OTHER), "gone: 404")
        assert self._pages() == {ONE: ()}
        self._ingest(OTHER)
        assert self._pages() == {ONE: (OTHER,)}
        assert self.store.collections.delete_document(MINE, url_key(OTHER))
        assert self._pages() == {ONE: ()}
        assert not self.store.collections.delete_document(MINE, url_key(OTHER))

    def test_a_redirect_whose_target_vanished_is_fetched_again(self) -> None:
        """It may lead elsewhere now."""
        self._ingest(FOLDER)
        ticket = self._ingest(ONE, final_url=FOLDER)
        assert self.store.ledger.retire(self._refresh(FOLDER), "gone: 404")
        assert self._rows() == []
        assert self._state(ticket) == "to_fetch"

    def test_nothing_brings_back_what_a_person_deleted(self) -> None:
        """Addresses that lead to the page go with it; crawls leave all of them out."""
        crawl = CrawlRecord(starts=["https://example.com/"], depth=1, max_pages=10)
        self.store.collections.remember_crawl(MINE, crawl)
        self._ingest(FOLDER, canonical_url=FOLDER)
        self._ingest(ONE, final_url=FOLDER)
        self._ingest(OTHER, "tea with milk", final_url="https://example.com/milk")
        self._ingest("https://example.com/tea/index.html", "tea at noon", canonical_url=FOLDER)
        assert self.store.collections.delete_document(MINE, url_key(FOLDER))
        assert self._pages() == {OTHER: ("https://example.com/milk",)}
        assert self.store.collections.delete_document(MINE, url_key(OTHER))
        assert (self._rows(), self.store.ledger.pending_in_s(fetch=True)) == ([], None)
        assert self.store.ledger.refetch(MINE).count == 0
        (record,) = self.store.collections.crawls(MINE)
        names = {"tea", "tea/", "tea/index.html", "tea?print=1", "milk"}
        assert set(record.removed) == {f"example.com/{name}" for name in names}
        self._ingest(ONE, final_url=FOLDER)
        assert self._pages() == {ONE: (FOLDER,)}

    def test_an_equal_text_stays_with_what_leads_to_it(self) -> None:
        """What leads to the deleted page goes, also where that was an address itself."""
        moved = "https://example.com/moved"
        for deleted, left in ((ONE, OTHER), (OTHER, ONE)):
            self._ingest(ONE)
            self._ingest(OTHER)
            self._ingest(HTTP, final_url=ONE)
            self._ingest(moved, final_url=OTHER)
            assert self.store.collections.delete_document(MINE, url_key(deleted))
            assert self._pages() == {left: (moved if left == OTHER else HTTP,)}
            assert self.store.ledger.pending_in_s(fetch=True) is None
            self.store.collections.delete_collection(MINE)

    def test_both_addresses_are_refreshed(self) -> None:
        """A refresh of the document asks for both, conditionally, and both may be unchanged."""
        self._ingest(ONE)
        self._ingest(OTHER)
        ticket = self.store.ledger.refetch(MINE, url_keys=[url_key(ONE)])
        claims = [self._take(), self._take()]
        assert {claim.url for claim in claims} == {ONE, OTHER}
        for claim in claims:
            assert claim.validators
            assert claim.text_hash is not None
            assert self.store.ledger.unchanged(claim, self._got(final_url=claim.url))
        assert self._changes(ticket) == ["unchanged", "unchanged"]
        assert self._pages() == {ONE: (OTHER,)}

    def test_a_person_need_not_know_the_exact_address(self) -> None:
        """A further address leads to its page; so does a likely one if no other page has it."""
        www = "https://www.example.org/tea/"
        self._ingest(www)
        find = self.store.collections
        assert find_page(find, MINE, "http://example.org/tea") == url_key(www)
        self._ingest("https://example.org/tea", "another text")
        assert find_page(find, MINE, "https://example.org/tea") == "example.org/tea"
        assert find_page(find, MINE, "http://example.org/tea") == "http://example.org/tea"
        self._ingest(ONE, "moved tea", final_url="https://example.net/tea")
        assert find_page(find, MINE, "https://example.net/tea") == url_key(ONE)
        self._ask_for("https://example.net/tea")
        assert find_page(find, MINE, "https://example.net/tea") == "example.net/tea"

    def test_texts_of_callers_stay_apart(self) -> None:
        """A document with a key of its own is neither merged nor replaced."""
        text_hash = hashlib.sha256(b"green tea").hexdigest()
        mine = [
            Document(ONE, "my id", "Tea", text_hash),
            Document("langchain:b", "b", "", text_hash),
        ]
        for page in mine:
            self.store.collections.replace_document(MINE, page, chunks("green tea"))
        self._ingest(OTHER)
        assert len(self._rows()) == 3  # noqa: PLR2004
        assert all(also == () for also in self._pages().values())

    def test_an_export_has_all_addresses(self) -> None:
        """An imported document gets them, too, and gives the text to them when it changes."""
        page = Document(ONE, url_key(ONE), "Tea", "0" * 64, {}, (FOLDER, OTHER))
        self.store.collections.replace_document(MINE, page, chunks("green tea"))
        (stored,) = self.store.collections.get(MINE, [url_key(OTHER)])
        assert stored.document == page
        self._end(self._refresh(ONE), "black tea")
        assert self._pages() == {FOLDER: (OTHER,), ONE: ()}

    def test_a_purge_leaves_no_address_behind(self) -> None:
        """Old documents go with their further addresses."""
        self._ingest(ONE)
        self._ingest(OTHER)
        self.clock.advance(100)
        assert self.store.collections.purge(MINE.tenant_id, 50).documents == 1
        assert self.store.collections.pages_at(MINE, [url_key(ONE), url_key(OTHER)]) == {}
