"""Contract suite for ledgers with pages whose titles change, and with imported addresses."""

from __future__ import annotations

import hashlib

from ...contracts.collection import Document
from ...contracts.page import Validators
from ...text.urls import url_key
from .ledger_addresses import ONE, OTHER, AddressesContract
from .ledger_fetching import VERSION
from .suite import MINE, chunks


class TitlesContract(AddressesContract):
    """Tests of the title of a document beside those of its addresses."""

    def _title(self, url: str) -> str:
        (stored,) = self.store.collections.get(MINE, [url_key(url)])
        return stored.document.title

    def test_a_title_that_was_fetched_is_known(self) -> None:
        """A page that is stored under it is asked for conditionally."""
        self._ingest(ONE, title=ONE)
        claim = self._refresh(ONE)
        assert (claim.document_title, claim.fetched_title) == (ONE, ONE)
        assert (claim.validators, claim.content_hash) == (VERSION, "b" * 64)

    def test_another_title_is_a_change(self) -> None:
        """Also of the same text."""
        ticket = self._ingest(ONE, title="Tea")
        claim = self._refresh(ONE)
        assert (claim.document_title, claim.fetched_title) == (ONE, "Tea")
        assert (claim.validators, claim.content_hash) == (Validators(), None)
        assert claim.text_hash is not None
        page = Document(ONE, url_key(ONE), "Tea", claim.text_hash, claim.provenance)
        fetched = self._got(final_url=ONE, title="Tea")
        assert self.store.ledger.finish(claim, page, chunks("green tea"), fetched=fetched)
        assert (self._changes(ticket), self._title(ONE)) == (["changed"], "Tea")
        assert self._refresh(ONE).validators == VERSION

    def test_the_heir_of_a_text_brings_its_own_title(self) -> None:
        """It is fetched whole: what it has is the title of the page that is gone."""
        for title in (OTHER, None):  # earlier versions stored none
            self._ingest(ONE, title=ONE)
            self._ingest(OTHER, title=title)
            claim = self._refresh(OTHER)
            assert (claim.document_title, claim.fetched_title) == (None, title)
            assert claim.validators == VERSION
            fetched = self._got(final_url=OTHER, title=title)
            assert self.store.ledger.unchanged(claim, fetched)
            assert self.store.collections.delete_document(MINE, url_key(ONE))
            heir = self._refresh(OTHER)
            assert (heir.document_title, heir.validators) == (ONE, Validators())
            assert heir.content_hash is None
            self._end(heir, title=OTHER)
            assert self._title(OTHER) == OTHER
            assert self._refresh(OTHER).validators == VERSION
            self.store.collections.delete_collection(MINE)

    def test_all_addresses_of_an_imported_page_are_fetched(self) -> None:
        """They have a text already, which stays with those that still have it."""
        text_hash = hashlib.sha256(b"green tea").hexdigest()
        facts = {"page_kind": "html", "final_url": ONE, "canonical_url": ONE}
        page = Document(ONE, url_key(ONE), "Tea", text_hash, facts, (OTHER,))
        self.store.collections.replace_document(MINE, page, chunks("green tea"))
        keys = {url_key(ONE), url_key(OTHER)}
        assert self.store.collections.hashes(MINE).keys() == keys
        ticket = self.store.ledger.refetch(MINE, url_keys=[url_key(ONE)])
        claims = {claim.url: claim for claim in (self._take(), self._take())}
        assert claims.keys() == {ONE, OTHER}
        assert {claim.text_hash for claim in claims.values()} == {text_hash}
        assert claims[OTHER].provenance == {"page_kind": "html"}
        assert self.store.ledger.unchanged(claims[ONE], self._got(final_url=ONE))
        self._end(claims[OTHER], "black tea")
        assert self._pages() == {ONE: (), OTHER: ()}
        assert sorted(map(str, self._changes(ticket))) == ["changed", "unchanged"]

    def test_addresses_of_texts_that_were_never_fetched_are_left_alone(self) -> None:
        """As their documents are by a refresh."""
        page = Document(ONE, url_key(ONE), "Tea", "0" * 64, {}, (OTHER,))
        self.store.collections.replace_document(MINE, page, chunks("green tea"))
        assert self.store.ledger.refetch(MINE, url_keys=[url_key(ONE)]).count == 1
