"""Contract suite for collection stores."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

from ...contracts.collection import TenantScope
from ...contracts.export_row import row_digest
from ...errors import ConfigError, StoreError

if TYPE_CHECKING:
    from pathlib import Path

from .collection_filters import NarrowingContract
from .crawls import CrawlsContract
from .listing import ListingContract
from .questions import QuestionsContract
from .reembedding import ReembeddingContract
from .removal import RemovalContract
from .suite import LEASE_S, MINE, THEIRS, axes, chunks, document


class CollectionStoreContract(
    ReembeddingContract,
    RemovalContract,
    NarrowingContract,
    QuestionsContract,
    CrawlsContract,
    ListingContract,
):
    """Tests of what retrieval needs: subclass it and define `storage`."""

    def test_words_find_chunks(self) -> None:
        """Chunks that share words with the question come back whole, best first."""
        self._put("tea", "Green tea from Japan.", "Steaming the leaves keeps green tea green.")
        self._put("coffee", "Coffee from Brazil.")
        found = self._found("green leaves")
        assert [one.chunk.ordinal for one in found] == [1, 0]
        assert found[0].score >= found[1].score
        assert found[0].document == document(
            "tea", "Green tea from Japan.Steaming the leaves keeps green tea green."
        )
        assert found[0].chunk == chunks("x" * 21, "Steaming the leaves keeps green tea green.")[1]

    def test_titles_count(self) -> None:
        """A word that stands in the title alone finds the chunk."""
        self._put("rooibos", "Brewed for five minutes.")
        assert self._texts("rooibos") == ["Brewed for five minutes."]

    def test_the_limit_holds(self) -> None:
        """A search never returns more chunks than `limit`."""
        self._put("tea", *(f"tea number {n}" for n in range(20)))
        assert len(self._found("tea", limit=7)) == 7  # noqa: PLR2004

    @pytest.mark.parametrize(
        "question",
        ['tea" OR "x', "tea AND", "NEAR(tea", "tea*", "part : c1", "-", "", "the of", "('"],
    )
    def test_questions_are_no_syntax(self, question: str) -> None:
        """Any text is a question; a text without words finds nothing."""
        self._put("page", "green")
        assert self._texts(question) == []

    def test_a_document_is_replaced_whole(self) -> None:
        """No chunk of the old text stays, however many chunks the new text has."""
        self._put("tea", "old tea", "more old tea")
        self._put("tea", "new tea")
        assert self._texts("tea") == ["new tea"]
        (info,) = self.store.collections.collections(MINE.tenant_id)
        assert (info.documents, info.chunks) == (1, 1)

    @pytest.mark.parametrize(
        "other", [THEIRS, TenantScope("tenant one", "docs2"), TenantScope("tenant", "one docs")]
    )
    def test_scopes_share_nothing(self, other: TenantScope) -> None:
        """Neither another tenant's nor another collection's content is found or changed."""
        self._put("a", "my tea")
        self._put("a", "their tea", scope=other)
        assert self._texts("tea") == ["my tea"]
        assert self._texts("tea", other) == ["their tea"]
        assert self.store.collections.delete_document(other, "example.com/a")
        assert self._texts("tea") == ["my tea"]
        assert self._texts("tea", other) == []

    def test_an_unknown_collection_is_empty(self) -> None:
        """Reading creates nothing."""
        assert self._texts("tea") == []
        assert list(self.store.collections.export(MINE)) == []
        assert self.store.collections.embedder(MINE) is None
        assert self.store.collections.delete_collection(MINE) == 0
        assert not self.store.collections.delete_document(MINE, "example.com/a")
        assert self.store.collections.collections(MINE.tenant_id) == []

    def test_vectors_find_without_common_words(self) -> None:
        """The nearest chunk comes first, with its vector."""
        self.store.collections.bind_embedder(MINE, "model:4")
        self._put("tea", "one", "two", "three", vectors=axes(0, 1, 2))
        found = self._found("something else", vector=axes(1))
        assert found[0].chunk.text == "two"
        assert found[0].chunk.vector is not None
        assert found[0].chunk.vector.tolist() == [0, 1, 0, 0]

    def test_words_and_vectors_order_together(self) -> None:
        """Among equally near chunks the one that shares words comes first."""
        self.store.collections.bind_embedder(MINE, "model:4")
        self._put("tea", "black", "green", "white", vectors=axes(0, 0, 1))
        assert self._texts("green", vector=axes(0)) == ["green", "black", "white"]

    def test_vectors_follow_every_change(self) -> None:
        """A search after a change, made here or elsewhere, sees the new vectors."""
        self.store.collections.bind_embedder(MINE, "model:4")
        self._put("tea", "old", vectors=axes(0))
        assert self._texts("tea", vector=axes(0)) == ["old"]
        self._put("tea", "new", "newer", vectors=axes(2, 0))
        assert self._texts("-", vector=axes(0)) == ["newer", "new"]
        self.store.collections.delete_document(MINE, "example.com/tea")
        assert self._texts("-", vector=axes(0)) == []

    def test_a_collection_keeps_its_embedder(self) -> None:
        """The first embedder is stored; the same is accepted, and another is refused by name."""
        self.store.collections.bind_embedder(MINE, "model:4")
        self.store.collections.bind_embedder(MINE, "model:4")
        assert self.store.collections.embedder(MINE) == "model:4"
        assert self.store.collections.embedder(THEIRS) is None
        with pytest.raises(ConfigError, match=r"model:4.*other:4.*collections reembed 'docs'"):
            self.store.collections.bind_embedder(MINE, "other:4")

    def test_a_collection_without_a_model_stays_so(self) -> None:
        """Vectors never mix with documents that have none."""
        self._put("tea", "tea")
        self.store.collections.bind_embedder(MINE, "model:4")
        assert self.store.collections.embedder(MINE) is None

    @pytest.mark.parametrize("size", [None, 3])
    def test_vectors_that_do_not_fit_are_refused(self, size: int | None) -> None:
        """Missing or differently sized vectors change nothing."""
        self.store.collections.bind_embedder(MINE, "model:4")
        self._put("tea", "one", vectors=axes(0))
        with pytest.raises(StoreError):
            self._put("tea", "two", vectors=None if size is None else axes(0)[:, :size])
        assert self._texts("-", vector=axes(0)) == ["one"]

    def test_vectors_without_an_embedder_are_refused(self) -> None:
        """Nobody could know which model made them."""
        with pytest.raises(StoreError):
            self._put("tea", "one", vectors=axes(0))
        assert self.store.collections.collections(MINE.tenant_id) == []

    def test_a_deleted_page_can_come_back(self) -> None:
        """Its ledger row is deleted too; otherwise the same text would count as stored."""
        self._enqueue("a")
        self._finish(self._claim())
        assert self.store.collections.delete_document(MINE, "example.com/a")
        assert not self.store.collections.delete_document(MINE, "example.com/a")
        assert self._texts("tea") == []
        self._enqueue("a")
        assert self._finish(self._claim())
        assert self._texts("tea") == ["tea"]

    def test_deleting_a_page_deletes_its_staged_text(self) -> None:
        """A deleted page that was waiting leaves no staged text."""
        (ref,) = self.store.staging.put(MINE.tenant_id, ["text of a"])
        self._enqueue("a")
        self.store.collections.delete_document(MINE, "example.com/a")
        assert self.store.staging.get(MINE.tenant_id, ref) is None

    def test_a_collection_is_deleted_whole(self) -> None:
        """Documents and ledger rows are deleted; other collections stay."""
        self._put("a", "my tea")
        self._put("a", "their tea", scope=THEIRS)
        self._enqueue("b")
        assert self.store.collections.delete_collection(MINE) == 1
        assert self.store.collections.collections(MINE.tenant_id) == []
        assert self.store.ledger.claim("worker", lease_s=LEASE_S) is None
        assert self._texts("tea", THEIRS) == ["their tea"]
        self._put("c", "new tea")
        assert self._texts("tea") == ["new tea"]

    def test_collections_are_counted(self) -> None:
        """Documents, chunks, and waiting or failed rows are counted, sorted by collection."""
        self._put("a", "one", "two")
        self.store.collections.bind_embedder(TenantScope(MINE.tenant_id, "and more"), "model:4")
        self._enqueue("b", "c")
        self.store.ledger.fail(self._claim(), "bad page", retry_in_s=None)
        more, docs = self.store.collections.collections(MINE.tenant_id)
        assert (more.collection, more.embedder, more.documents) == ("and more", "model:4", 0)
        assert (docs.documents, docs.chunks, docs.waiting, docs.failed) == (1, 2, 1, 1)
        assert self.store.collections.collections(THEIRS.tenant_id) == []

    def test_the_export_is_canonical(self) -> None:
        """Rows are sorted by key and equal for two runs over the same pages."""
        put = self.store.collections.replace_document
        put(
            MINE, document("b", rank=2, run_id="r", fetched_at="now", took_ms=3), chunks("b1", "b2")
        )
        put(MINE, document("a", trace_id="t", invocation_id="i", ticket_id="x"), chunks("a1"))
        first, second = self.store.collections.export(MINE)
        assert (first["url_key"], second["url_key"]) == ("example.com/a", "example.com/b")
        assert (first["provenance"], second["provenance"]) == ({}, {"rank": 2})
        assert (first["embedder"], first["digest"]) == (None, row_digest(first))
        assert second["chunks"] == [
            {"ordinal": 0, "start": 0, "end": 2, "text": "b1", "vector": None},
            {"ordinal": 1, "start": 2, "end": 4, "text": "b2", "vector": None},
        ]

    def test_chunks_keep_their_place(self) -> None:
        """Headings, page and table header come back; an export names what is known."""
        plain, placed = chunks("tea", "black tea")
        placed = replace(
            placed, headings=("Tea", "Größe \ud83c"), page=3, table_header="| Sort | Colour |"
        )
        self.store.collections.replace_document(MINE, document("a"), [plain, placed])
        (stored,) = self.store.collections.get(MINE, ["example.com/a"])
        expected = replace(placed, headings=("Tea", "Größe ?"))
        assert stored.chunks == [plain, expected]
        (found,) = self._found("black")
        assert found.chunk == expected
        (row,) = self.store.collections.export(MINE)
        assert row["chunks"][1]["headings"] == ["Tea", "Größe ?"]
        assert row["chunks"][1]["page"] == 3  # noqa: PLR2004
        assert row["chunks"][1]["table_header"] == "| Sort | Colour |"
        assert not {"headings", "page", "table_header"} & set(row["chunks"][0])

    def test_the_words_of_a_tables_header_find_its_rows(self) -> None:
        """Each chunk of a table is found by the names of its columns."""
        first, later = chunks(
            "| Sort | Colour |\n|---|---|\n| Assam | dark |", "| Sencha | green |"
        )
        later = replace(later, table_header="| Sort | Colour |")
        self.store.collections.replace_document(MINE, document("a"), [first, later])
        assert sorted(self._texts("colour")) == sorted([first.text, later.text])

    def test_words_of_all_scripts_are_found(self) -> None:
        """Without spaces between them, with marks in them, inflected, and single characters."""
        texts = {
            "富士山に登る": ("富士山", "山"),
            "北京的猫": ("猫", "北京"),
            "서울의 지하철": ("지하철", "서울"),
            "ช้างป่าในประเทศไทย": ("ช้าง", "ประเทศ"),
            "हिन्दी की लड़कियाँ": ("हिन्दी", "लड़की"),
            "Деревья в лесу": ("дерево", "лес"),
            "المكتبة في المدينة": ("مكتبة", "مدينة"),
        }
        for n, text in enumerate(texts):
            self._put(f"page{n}", text)
        for text, questions in texts.items():
            for question in questions:
                assert self._texts(question) == [text]

    def test_documents_are_read_by_key(self) -> None:
        """Documents come whole, once each, in the given order, without unknown ones."""
        self._put("a", "one", "two")
        self._put("b", "three")
        self._put("b", "theirs", scope=THEIRS)
        keys = ["example.com/b", "unknown", "example.com/a", "example.com/b"]
        first, second = self.store.collections.get(MINE, keys)
        assert first == (document("b", "three"), chunks("three"))
        assert second.chunks == chunks("one", "two")
        assert self.store.collections.get(TenantScope("tenant one", "other"), keys) == []
        hashes = self.store.collections.hashes(MINE)
        assert hashes["example.com/b"] == document("b", "three").content_hash
        assert len(hashes) == 2  # noqa: PLR2004

    def test_what_is_no_number_is_stored_as_unknown(self) -> None:
        """A score of NaN or infinity is stored as null."""
        page = document("a", score=float("nan"), parts=[float("inf"), {"x": 1.5}])
        self.store.collections.replace_document(MINE, page, chunks("tea"))
        (found,) = self._found("tea")
        assert found.document.provenance == {"score": None, "parts": [None, {"x": 1.5}]}

    def test_writers_do_not_disturb_each_other(self, tmp_path: Path) -> None:
        """Two handles can write at the same time, and readers see whole documents."""
        other = self._reopened(tmp_path)

        def write(n: int) -> None:
            store = self.store if n % 2 else other
            store.collections.replace_document(MINE, document(f"p{n}"), chunks("tea", "tea"))
            assert len(self._found("tea")) % 2 == 0

        with ThreadPoolExecutor(4) as pool:
            list(pool.map(write, range(12)))
        other.close()
        (info,) = self.store.collections.collections(MINE.tenant_id)
        assert (info.documents, info.chunks) == (12, 24)
