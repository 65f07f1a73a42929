"""Contract suite for crawls: a collection remembers where it is filled from."""

from __future__ import annotations

from ...contracts.collection import Deleted, TenantScope
from ...contracts.crawl_record import CrawlRecord
from .suite import MINE, THEIRS, StoreContract

START = "https://example.com/"
OTHER = TenantScope(MINE.tenant_id, "other")
DAY_S = 86_400.0


def crawl(*names: str, start: str = START, max_pages: int = 10) -> CrawlRecord:
    """Return a crawl that found these pages."""
    keys = [f"example.com/{name}" for name in names]
    return CrawlRecord(starts=[start], depth=2, max_pages=max_pages, url_keys=keys)


class CrawlsContract(StoreContract):
    """Tests of the crawls of a collection."""

    def test_crawls_are_remembered(self) -> None:
        """Each crawl once by its starts, with its last rules and its first and last time."""
        remember, began = self.store.collections.remember_crawl, self.clock.time()
        remember(MINE, crawl(max_pages=5))
        self.clock.advance(60)
        other = crawl(start=f"{START}b").model_copy(update={"include": ["/b*"], "is_pdf": True})
        remember(MINE, other)
        remember(MINE, crawl(max_pages=7))
        first, second = self.store.collections.crawls(MINE)
        assert (first.starts, first.depth, first.max_pages) == ([START], 2, 7)
        assert (first.first_run_at, first.last_run_at) == (began, began + 60)
        assert (second.starts, second.include, second.is_pdf) == ([f"{START}b"], ["/b*"], True)
        assert self.store.collections.crawls(THEIRS) == []
        assert not self.store.collections.forget_crawl(THEIRS, [START])
        assert self.store.collections.forget_crawl(MINE, [START])
        assert not self.store.collections.forget_crawl(MINE, [START])
        assert self.store.collections.crawls(MINE) == [second]

    def test_a_repeated_crawl_stores_its_pages(self) -> None:
        """Unless it was forgotten or run anew meanwhile, or its collection was deleted."""
        store = self.store.collections
        assert not store.refresh_crawl(MINE, crawl("a"))
        assert store.collections(MINE.tenant_id) == []
        store.remember_crawl(MINE, crawl("a"))
        (record,) = store.crawls(MINE)
        self.clock.advance(60)
        assert store.refresh_crawl(MINE, record)
        (again,) = store.crawls(MINE)
        assert again.last_run_at == record.last_run_at + 60
        assert not store.refresh_crawl(MINE, record)
        assert store.forget_crawl(MINE, record.starts)
        assert not store.refresh_crawl(MINE, again)
        assert store.crawls(MINE) == []

    def test_a_crawl_knows_the_pages_that_are_left_of_it(self) -> None:
        """Stored, waiting and failed ones; a page that vanished is none any more."""
        self._put("stored", "tea")
        self._enqueue("dead", "gone", "waits")
        self.store.ledger.fail(self._claim(), "bad", retry_in_s=None)
        assert self.store.ledger.retire(self._claim(), "gone")
        names = ("stored", "unknown", "dead", "gone", "waits")
        self.store.collections.remember_crawl(MINE, crawl(*names))
        (record,) = self.store.collections.crawls(MINE)
        assert record.url_keys == crawl("stored", "dead", "waits").url_keys

    def test_a_page_that_was_deleted_is_remembered_as_such(self) -> None:
        """By every crawl of the collection, also when that runs again; only if it was there."""
        remember = self.store.collections.remember_crawl
        for scope, start in ((MINE, START), (MINE, f"{START}b"), (OTHER, START)):
            remember(scope, crawl("a", "b", start=start))
        self._put("a", "tea")
        self._enqueue("b")
        for name in ("a", "b", "b", "never"):
            self.store.collections.delete_document(MINE, f"example.com/{name}")
        remember(MINE, crawl("a", "c"))
        assert [one.removed for one in self.store.collections.crawls(MINE)] == [
            ["example.com/a", "example.com/b"],
            ["example.com/a", "example.com/b"],
        ]
        assert [one.url_keys for one in self.store.collections.crawls(MINE)] == [[], []]
        (other,) = self.store.collections.crawls(OTHER)
        assert other.removed == []

    def test_crawls_go_with_their_collection(self) -> None:
        """With its tenant, and when they have not run for long."""
        remember = self.store.collections.remember_crawl
        for scope in (MINE, OTHER, THEIRS):
            remember(scope, crawl())
        self.store.collections.delete_collection(OTHER)
        assert self.store.collections.crawls(OTHER) == []
        self.clock.advance(DAY_S)
        remember(MINE, crawl(start=f"{START}young"))
        assert self.store.collections.purge(MINE.tenant_id, DAY_S) == Deleted(crawls=1)
        assert len(self.store.collections.crawls(MINE)) == 1
        deleted = self.store.collections.delete_tenant(MINE.tenant_id)
        assert (deleted.collections, deleted.crawls) == (1, 1)
        assert len(self.store.collections.crawls(THEIRS)) == 1
