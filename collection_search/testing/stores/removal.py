"""Contract suite for deletion: everything that belongs to a deleted thing is deleted."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ...contracts.collection import Deleted, QuestionRecord, TenantScope
from .suite import LEASE_S, MINE, THEIRS, StoreContract, chunks, document

if TYPE_CHECKING:
    from ...contracts.ingestion import Ticket

OTHER = TenantScope(MINE.tenant_id, "other")
DAY_S = 86_400.0


class RemovalContract(StoreContract):
    """Tests of deletion by tenant and by age."""

    def _fill(self, scope: TenantScope) -> Ticket:
        """Store one page, leave one waiting, stage a candidate, remember a question."""
        self.store.collections.replace_document(scope, document("stored"), chunks("tea"))
        self.store.collections.remember_question(scope, QuestionRecord(question="Which tea?"))
        (ref,) = self.store.staging.put(scope.tenant_id, [f"candidate of {scope.collection}"])
        candidate = {"url_key": "example.com/candidate", "content_ref": ref}
        self.store.staging.open_session(scope, [candidate], {})
        return self._enqueue("waiting", scope=scope)

    def test_a_tenant_is_deleted_whole(self) -> None:
        """Nothing of other tenants is deleted."""
        tickets = [self._fill(scope) for scope in (MINE, OTHER, THEIRS)]
        deleted = self.store.collections.delete_tenant(MINE.tenant_id)
        assert deleted == Deleted(collections=2, documents=2, pages=2, texts=5, questions=2)
        assert self.store.collections.delete_tenant(MINE.tenant_id) == Deleted()
        assert self.store.collections.collections(MINE.tenant_id) == []
        assert self.store.staging.sessions(MINE.tenant_id) == []
        assert self._texts("tea") == []
        assert self.store.collections.questions(MINE) == []
        gone = tickets[0]
        assert self.store.ledger.status(gone.tenant_id, gone.ticket_id) is None
        assert self._texts("tea", THEIRS) == ["tea"]
        assert len(self.store.collections.questions(THEIRS)) == 1
        assert len(self.store.staging.sessions(THEIRS.tenant_id)) == 1
        claim = self._claim()
        assert claim.scope == THEIRS
        assert self.store.staging.get(THEIRS.tenant_id, claim.content_ref or "")
        assert self.store.ledger.claim("worker", lease_s=LEASE_S) is None

    def test_a_collection_takes_all_with_it(self) -> None:
        """Its questions, candidates and their texts are deleted, with or without pages."""
        self._fill(MINE)
        self._fill(OTHER)
        assert self.store.collections.delete_collection(MINE) == 1
        assert self.store.collections.questions(MINE) == []
        assert [one.collection for one in self.store.staging.sessions(MINE.tenant_id)] == ["other"]
        left = self.store.collections.delete_tenant(MINE.tenant_id)
        assert left == Deleted(collections=1, documents=1, pages=1, texts=3, questions=1)

    def test_several_documents_are_deleted(self) -> None:
        """Each once; those that were known are told, the others stay."""
        for name in "abc":
            self._put(name, f"tea {name}")
        keys = ["example.com/c", "example.com/a", "example.com/nothing", "example.com/c"]
        deleted = self.store.collections.delete_documents(MINE, keys)
        assert deleted == ["example.com/c", "example.com/a"]
        assert self._texts("tea") == ["tea b"]
        assert self.store.collections.delete_documents(OTHER, ["example.com/b"]) == []
        assert self.store.collections.delete_documents(MINE, []) == []

    def test_a_deleted_name_is_free(self) -> None:
        """Who has a page of the deleted collection in hand writes nothing into its successor."""
        ticket = self._fill(MINE)
        claim = self._claim()
        assert self.store.collections.delete_collection(MINE) == 1
        assert not self._finish(claim)
        assert not self.store.ledger.renew(claim, lease_s=LEASE_S)
        assert self.store.collections.collections(MINE.tenant_id) == []
        assert self.store.ledger.pending_in_s(fetch=True) is None
        assert self.store.ledger.status(ticket.tenant_id, ticket.ticket_id) is None
        self._fill(MINE)
        assert self._finish(self._claim(), "later tea")
        assert sorted(self._texts("tea")) == ["later tea", "tea"]

    def test_a_shared_text_stays(self) -> None:
        """What another collection of the tenant still needs is not deleted."""
        self._enqueue("page")
        self._enqueue("page", scope=OTHER)
        self.store.collections.delete_collection(MINE)
        claim = self._claim()
        assert claim.scope == OTHER
        assert self.store.staging.get(MINE.tenant_id, claim.content_ref or "") == "text of page"

    def test_space_goes_back(self) -> None:
        """The content stays as it is, and the store can be written afterwards."""
        self._put("tea", *(f"Green tea {n}. " * 100 for n in range(50)))
        self._put("other", "Other tea.", scope=OTHER)
        self.store.collections.delete_document(MINE, "example.com/tea")
        done = self.store.collections.compact()
        assert 0 < done.bytes_after <= done.bytes_before
        assert self.store.collections.compact().bytes_after <= done.bytes_after
        assert self._texts("tea", OTHER) == ["Other tea."]
        self._put("tea", "New tea.")
        assert self._texts("tea") == ["New tea."]

    def test_a_page_takes_its_candidates_with_it(self) -> None:
        """Their staged texts are deleted too."""
        (ref,) = self.store.staging.put(MINE.tenant_id, ["text"])
        candidates = [{"url_key": "example.com/a", "content_ref": ref}, {"url_key": "b"}]
        name = self.store.staging.open_session(MINE, candidates, {})
        self.store.collections.delete_document(OTHER, "example.com/a")
        assert self.store.staging.get(MINE.tenant_id, ref) == "text"
        self.store.collections.delete_document(MINE, "example.com/a")
        assert self.store.staging.get(MINE.tenant_id, ref) is None
        session = self.store.staging.session(MINE.tenant_id, name)
        assert session is not None
        assert session.candidates == [{"url_key": "b"}]

    def test_what_is_old_is_purged(self) -> None:
        """Young and waiting pages stay; an empty collection remains."""
        self._fill(MINE)
        self._fill(THEIRS)
        self.store.ledger.fail(self._claim(), "bad", retry_in_s=None)
        self.clock.advance(DAY_S)
        self._put("young", "young tea")
        waiting = self._enqueue("waits")
        assert self.store.collections.purge(MINE.tenant_id, 2 * DAY_S) == Deleted()
        deleted = self.store.collections.purge(MINE.tenant_id, DAY_S)
        assert deleted == Deleted(documents=1, pages=1, texts=3, questions=1)
        assert self._texts("tea") == ["young tea"]
        assert self._state(waiting) == "waiting"
        self.clock.advance(DAY_S)
        assert self.store.collections.purge(MINE.tenant_id, DAY_S) == Deleted(documents=1)
        (info,) = self.store.collections.collections(MINE.tenant_id)
        assert (info.documents, info.waiting) == (0, 1)
        assert self._texts("tea", THEIRS) == ["tea"]

    def test_a_purged_page_can_come_back(self) -> None:
        """Its row is deleted too; otherwise the same text would count as stored."""
        ticket = self._enqueue("a")
        self._finish(self._claim())
        self.clock.advance(DAY_S)
        deleted = self.store.collections.purge(MINE.tenant_id, DAY_S)
        assert (deleted.documents, deleted.pages) == (1, 1)
        assert self.store.ledger.status(ticket.tenant_id, ticket.ticket_id) is None
        self._enqueue("a")
        assert self._finish(self._claim())

    def test_a_page_at_work_is_not_purged(self) -> None:
        """An old document stays during its refresh, and is young afterwards."""
        self._enqueue("a")
        self._finish(self._claim())
        self.clock.advance(DAY_S)
        self.store.ledger.refetch(MINE)
        assert self.store.collections.purge(MINE.tenant_id, DAY_S).documents == 0
        claim = self.store.ledger.claim("worker", lease_s=LEASE_S, fetch=True)
        assert claim is not None
        assert self.store.collections.purge(MINE.tenant_id, DAY_S).documents == 0
        assert self._finish(claim)
        assert self.store.collections.purge(MINE.tenant_id, DAY_S).documents == 0
        assert self._texts("tea") == ["tea"]
