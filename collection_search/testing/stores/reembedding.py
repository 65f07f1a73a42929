"""Contract suite for collections that change their embedder."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest

from ...errors import StoreError
from .suite import MINE, THEIRS, StoreContract, axes, chunks, document

if TYPE_CHECKING:
    from pathlib import Path

    from ...contracts.collection import TenantScope

OLD = "old:4"
NEW = "new:4"
TEXTS = ("one", "two", "three")


class ReembeddingContract(StoreContract):
    """Tests of new vectors that are prepared beside the old ones and replace them at once."""

    def _filled(self, scope: TenantScope = MINE, *, name: str = "tea") -> None:
        self.store.collections.bind_embedder(scope, OLD)
        self._add(name, scope)

    def _add(self, name: str, scope: TenantScope = MINE, *texts: str, size: int = 4) -> None:
        texts = texts or TEXTS
        self.store.collections.replace_document(
            scope, document(name), chunks(*texts, vectors=axes(*range(len(texts)))[:, :size])
        )

    def _prepare(self, scope: TenantScope = MINE, *, limit: int = 64, size: int = 4) -> int:
        """Prepare vectors on the last axis for the next chunks; return how many were left."""
        pending = self.store.collections.pending_vectors(scope, NEW, limit=limit)
        vectors = axes(*[size - 1] * len(pending.chunks))[:, :size]
        self.store.collections.prepare_vectors(scope, NEW, pending.chunks, vectors)
        return pending.left

    def _vectors(self, scope: TenantScope = MINE) -> list[Any]:
        rows = self.store.collections.export(scope)
        return [chunk["vector"] for row in rows for chunk in row["chunks"]]

    def test_a_tables_header_is_embedded_with_its_rows(self) -> None:
        """As when the page was stored."""
        self.store.collections.bind_embedder(MINE, OLD)
        (rows,) = chunks("| Assam | dark |", vectors=axes(0))
        rows = replace(rows, table_header="| Sort | Colour |")
        self.store.collections.replace_document(MINE, document("tea"), [rows])
        (pending,) = self.store.collections.pending_vectors(MINE, NEW).chunks
        assert pending.text == rows.whole_text == "| Sort | Colour |\n| Assam | dark |"
        self._prepare()
        assert self.store.collections.change_embedder(MINE, NEW)
        assert self._vectors() == [[0, 0, 0, 1]]

    def test_old_vectors_serve_until_all_are_prepared(self, tmp_path: Path) -> None:
        """All chunks and the fingerprint change at once, and not before."""
        self._filled()
        before = self._vectors()
        assert self._prepare(limit=2) == len(TEXTS)
        assert not self.store.collections.change_embedder(MINE, NEW)
        assert (self.store.collections.embedder(MINE), self._vectors()) == (OLD, before)
        assert self._texts("-", vector=axes(0))[0] == "one"
        self.store.close()
        self.store = self._reopened(tmp_path)  # as after a crash: what was prepared is still there
        assert self._prepare() == 1
        assert self.store.collections.change_embedder(MINE, NEW)
        assert self.store.collections.embedder(MINE) == NEW
        assert self._vectors() == [[0, 0, 0, 1]] * len(TEXTS)
        assert {one.score for one in self._found("-", vector=axes(3))} == {0.0}

    def test_pending_chunks_are_counted(self) -> None:
        """The answer has its chunks, the number left, and the total."""
        self._filled()
        self._prepare(limit=1)
        pending = self.store.collections.pending_vectors(MINE, NEW, limit=1)
        assert (len(pending.chunks), pending.left, pending.total) == (1, 2, 3)
        assert pending.chunks[0].text in TEXTS
        other = self.store.collections.pending_vectors(MINE, "another:4")
        assert (len(other.chunks), other.left) == (3, 3)

    def test_chunks_that_came_meanwhile_are_pending(self) -> None:
        """Pages that are stored while vectors are prepared are pending too."""
        self._filled()
        self._prepare()
        self._add("coffee", MINE, "four")
        self._add("tea", MINE, "five", "six")
        assert not self.store.collections.change_embedder(MINE, NEW)
        assert self._prepare() == 3  # noqa: PLR2004
        assert self.store.collections.change_embedder(MINE, NEW)
        assert self._vectors() == [[0, 0, 0, 1]] * 3

    def test_the_vector_of_a_replaced_chunk_is_dropped(self) -> None:
        """Its vector is not stored for the chunk that replaced it."""
        self._filled()
        pending = self.store.collections.pending_vectors(MINE, NEW)
        self._add("tea", MINE, "other one", "two", "three")
        self.store.collections.prepare_vectors(MINE, NEW, pending.chunks, axes(3, 3, 3))
        left = self.store.collections.pending_vectors(MINE, NEW).chunks
        assert "other one" in [chunk.text for chunk in left]
        assert not self.store.collections.change_embedder(MINE, NEW)

    def test_vectors_of_another_size_begin_anew(self) -> None:
        """Vectors of two versions of an embedder are not mixed."""
        self._filled()
        self._prepare(limit=2)
        assert self._prepare(limit=1, size=3) == 1
        assert self._prepare(size=3) == 2  # noqa: PLR2004
        assert self.store.collections.change_embedder(MINE, NEW)
        assert self._vectors() == [[0, 0, 1]] * 3
        self._add("coffee", MINE, "four", size=3)

    def test_the_same_embedder_may_start_anew(self) -> None:
        """A changed vector size makes this necessary."""
        self._filled()
        collections = self.store.collections
        pending = collections.pending_vectors(MINE, OLD)
        assert pending.left == len(TEXTS)
        collections.prepare_vectors(MINE, OLD, pending.chunks, axes(2, 2, 2)[:, :3])
        assert collections.change_embedder(MINE, OLD)
        assert (collections.embedder(MINE), self._vectors()) == (OLD, [[0, 0, 1]] * 3)

    def test_vectors_can_be_dropped_and_made_again(self) -> None:
        """Without an embedder a search uses words; an embedder can be set later."""
        self._filled()
        assert self.store.collections.change_embedder(MINE, None)
        assert self.store.collections.embedder(MINE) is None
        assert self._vectors() == [None] * len(TEXTS)
        assert self._texts("two") == ["two"]
        self.store.collections.replace_document(MINE, document("coffee"), chunks("four"))
        self._prepare()
        assert self.store.collections.change_embedder(MINE, NEW)
        assert self._vectors() == [[0, 0, 0, 1]] * 4

    def test_other_collections_are_not_touched(self) -> None:
        """Their chunks are not pending, and their vectors and embedder do not change."""
        self._filled()
        self._filled(THEIRS)
        theirs = self._vectors(THEIRS)
        mine = self.store.collections.pending_vectors(MINE, NEW)
        self.store.collections.prepare_vectors(THEIRS, NEW, mine.chunks, axes(3, 3, 3))
        assert self.store.collections.pending_vectors(MINE, NEW).left == len(TEXTS)
        assert self.store.collections.pending_vectors(THEIRS, NEW).left == len(TEXTS)
        self._prepare()
        assert not self.store.collections.change_embedder(THEIRS, NEW)
        assert self.store.collections.change_embedder(MINE, NEW)
        assert self.store.collections.embedder(THEIRS) == OLD
        assert self._vectors(THEIRS) == theirs

    def test_pages_in_hand_are_put_back(self) -> None:
        """A worker with the old model stores nothing, and its page waits again."""
        ticket = self._enqueue("a")
        claim = self._claim()
        assert self.store.collections.change_embedder(MINE, None)
        assert not self._finish(claim)
        assert self._state(ticket) == "waiting"
        again = self._claim("another")
        assert again.attempts == claim.attempts
        assert self._finish(again)
        assert self._state(ticket) == "stored"

    def test_an_empty_collection_changes_at_once(self) -> None:
        """There is nothing to prepare."""
        self.store.collections.bind_embedder(MINE, OLD)
        assert self.store.collections.pending_vectors(MINE, NEW) == ([], 0, 0)
        assert self.store.collections.change_embedder(MINE, NEW)
        assert self.store.collections.embedder(MINE) == NEW

    def test_an_unknown_collection_is_refused(self) -> None:
        """A collection that was deleted during the preparation does not come back."""
        self._filled()
        pending = self.store.collections.pending_vectors(MINE, NEW)
        self.store.collections.delete_collection(MINE)
        assert self.store.collections.pending_vectors(MINE, NEW) == ([], 0, 0)
        self.store.collections.prepare_vectors(MINE, NEW, pending.chunks, axes(3, 3, 3))
        with pytest.raises(StoreError, match="docs"):
            self.store.collections.change_embedder(MINE, NEW)
        assert self.store.collections.collections(MINE.tenant_id) == []

    def test_a_question_of_another_size_is_refused(self) -> None:
        """The error names both sizes and the command that helps."""
        self._filled()
        with pytest.raises(StoreError, match=r"4 dimensions.*3.*collections reembed 'docs'"):
            self._found("one", vector=axes(0)[:, :3])
