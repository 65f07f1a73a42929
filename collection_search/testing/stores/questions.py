"""Contract suite for questions: a collection remembers what fills it, and what people chose."""

from __future__ import annotations

from ...contracts.collection import QuestionRecord
from .suite import MINE, THEIRS, StoreContract, chunks, document


class QuestionsContract(StoreContract):
    """Tests of the questions of a collection."""

    def test_questions_are_remembered(self) -> None:
        """Each question is stored once, with its last result and its first and last time."""
        record = QuestionRecord(question="Which tea?", purpose="to buy", url_keys=["a", "b"])
        remember = self.store.collections.remember_question
        remember(MINE, record)
        began = self.clock.time()
        self.clock.advance(60)
        remember(MINE, QuestionRecord(question="Why?"))
        remember(MINE, record.model_copy(update={"url_keys": ["c"], "provider": "brave"}))
        first, second = self.store.collections.questions(MINE)
        assert (first.question, first.purpose, first.url_keys) == ("Which tea?", "to buy", ["c"])
        assert (first.provider, second.provider, second.question) == ("brave", None, "Why?")
        assert (first.first_asked_at, first.last_asked_at) == (began, began + 60)
        assert self.store.collections.questions(THEIRS) == []
        assert not self.store.collections.forget_question(THEIRS, "Why?")
        assert self.store.collections.forget_question(MINE, "Why?")
        assert self.store.collections.questions(MINE) == [first]

    def test_a_deleted_page_is_remembered_by_its_questions(self) -> None:
        """If it was there, and until the question brings it again."""
        remember = self.store.collections.remember_question
        asked = QuestionRecord(question="Which tea?", url_keys=["example.com/c"], is_reviewed=True)
        remember(MINE, asked)
        self.store.collections.replace_document(MINE, document("a"), chunks("tea"))
        key = document("a").url_key
        for name in (key, key, "example.com/never"):
            self.store.collections.delete_document(MINE, name)
        remember(MINE, asked.model_copy(update={"url_keys": ["example.com/b"]}))
        (record,) = self.store.collections.questions(MINE)
        assert (record.removed, record.url_keys) == ([key], ["example.com/b"])
        again = asked.model_copy(update={"url_keys": [key], "is_reviewed": False})
        assert self._refresh(again)
        (record,) = self.store.collections.questions(MINE)
        assert (record.removed, record.url_keys) == ([key], ["example.com/b"])
        assert record.is_reviewed
        remember(MINE, again)
        (record,) = self.store.collections.questions(MINE)
        assert (record.removed, record.url_keys) == ([], [key])

    def test_a_deleted_page_of_a_reviewed_question_stays_deleted(self) -> None:
        """A refresh that knows of no review may not undo that it was deleted."""
        remember, page = self.store.collections.remember_question, document("a")
        keys = [page.url_key, "example.com/b"]
        reviewed = QuestionRecord(question="Which tea?", url_keys=keys, is_reviewed=True)
        remember(MINE, reviewed)
        self.store.collections.replace_document(MINE, page, chunks("tea"))
        self.store.collections.delete_document(MINE, page.url_key)
        for is_reviewed in (False, True):
            again = reviewed.model_copy(update={"is_reviewed": is_reviewed})
            assert self._refresh(again)
            (record,) = self.store.collections.questions(MINE)
            assert (record.removed, record.url_keys) == ([page.url_key], ["example.com/b"])
            assert record.is_reviewed

    def test_a_refresh_stores_the_new_result(self) -> None:
        """And when it was asked again; a question that nobody has reviewed brings new pages."""
        asked = QuestionRecord(question="Which tea?", url_keys=["a"], is_reviewed=False)
        self.store.collections.remember_question(MINE, asked)
        began = self.clock.time()
        self.clock.advance(60)
        assert self._refresh(asked.model_copy(update={"url_keys": ["b"], "provider": "brave"}))
        record = self.store.collections.find_question(MINE, "Which tea?")
        assert record is not None
        assert (record.url_keys, record.provider) == (["b"], "brave")
        assert (record.first_asked_at, record.last_asked_at) == (began, began + 60)

    def test_a_question_that_is_asked_anew_keeps_its_result(self) -> None:
        """A refresh that began before that changes nothing of it."""
        remember = self.store.collections.remember_question
        late = QuestionRecord(question="Which tea?", url_keys=["b"], criteria=["old"])
        remember(MINE, late)
        began = self.clock.time()
        self.clock.advance(60)
        remember(MINE, QuestionRecord(question="Which tea?", url_keys=["a"], criteria=["new"]))
        (before,) = self.store.collections.questions(MINE)
        assert not self.store.collections.refresh_question(MINE, late, asked_at=began)
        assert self.store.collections.questions(MINE) == [before]

    def test_a_forgotten_question_stays_forgotten(self) -> None:
        """A refresh that ends later brings back neither the question nor its collection."""
        store = self.store.collections
        asked = QuestionRecord(question="Which tea?")
        assert store.find_question(MINE, "Which tea?") is None
        store.remember_question(MINE, asked)
        assert store.find_question(THEIRS, "Which tea?") is None
        began = self.clock.time()
        store.forget_question(MINE, "Which tea?")
        assert not store.refresh_question(MINE, asked, asked_at=began)
        assert store.questions(MINE) == []
        store.delete_collection(MINE)
        assert not store.refresh_question(MINE, asked, asked_at=began)
        assert store.collections(MINE.tenant_id) == []

    def _refresh(self, record: QuestionRecord) -> bool:
        """Store what a refresh has found that began after everything before."""
        before = self.store.collections.find_question(MINE, record.question)
        assert before is not None
        return self.store.collections.refresh_question(MINE, record, asked_at=before.last_asked_at)

    def test_a_fact_is_stored_beside_the_others(self) -> None:
        """What somebody else has stored meanwhile stays, and so do the times."""
        amend = self.store.collections.amend_question
        assert not amend(MINE, "Which tea?", {"is_reviewed": True})
        asked = QuestionRecord(question="Which tea?", url_keys=["a"], is_reviewed=False)
        self.store.collections.remember_question(MINE, asked)
        (before,) = self.store.collections.questions(MINE)
        self.clock.advance(60)
        assert not amend(THEIRS, "Which tea?", {"is_reviewed": True})
        assert amend(MINE, "Which tea?", {"is_reviewed": True})
        (record,) = self.store.collections.questions(MINE)
        assert record == before.model_copy(update={"is_reviewed": True})

    def test_pages_that_are_deleted_at_once_are_all_remembered(self) -> None:
        """By each question, in their order; what was not there is not."""
        for question in ("Which tea?", "Why?"):
            self.store.collections.remember_question(MINE, QuestionRecord(question=question))
        pages = [document(name) for name in ("a", "b", "c")]
        for page in pages:
            self.store.collections.replace_document(MINE, page, chunks(page.url_key))
        keys = [page.url_key for page in pages]
        deleted = self.store.collections.delete_documents(MINE, [*keys[::2], "example.com/never"])
        assert deleted == keys[::2]
        for record in self.store.collections.questions(MINE):
            assert record.removed == keys[::2]
        assert list(self.store.collections.hashes(MINE)) == [keys[1]]
