"""Contract suite for staging stores."""

from __future__ import annotations

from ...contracts.collection import TenantScope
from .suite import MINE, THEIRS, StoreContract


class StagingContract(StoreContract):
    """Tests of what a run needs to stage texts: subclass it and define `storage`."""

    def test_texts_come_back_by_reference(self) -> None:
        """References come in the order of the texts, and equal texts share one."""
        first, second, third = self.store.staging.put("one", ["green", "black", "green"])
        assert first == third != second
        assert self.store.staging.get("one", first) == "green"
        assert self.store.staging.get("one", second) == "black"

    def test_references_are_private(self) -> None:
        """Another tenant that knows the reference or the text reads nothing."""
        (ref,) = self.store.staging.put("one", ["secret"])
        assert self.store.staging.get("two", ref) is None

    def test_any_text_can_be_staged(self) -> None:
        """Broken surrogates and NUL characters of a provider do not fail a run."""
        (ref,) = self.store.staging.put("one", ["a \ud800 b \x00 c"])
        text = self.store.staging.get("one", ref)
        assert text is not None
        assert (text[0], text[-1]) == ("a", "c")

    def test_pruning_keeps_what_is_young_or_needed(self) -> None:
        """Only an old text that no waiting row needs is dropped."""
        self._enqueue("needed")
        (old,) = self.store.staging.put(MINE.tenant_id, ["old"])
        self.clock.advance(100)
        (young,) = self.store.staging.put(MINE.tenant_id, ["young"])
        assert self.store.staging.prune(50) == 1
        assert self.store.staging.get(MINE.tenant_id, old) is None
        assert self.store.staging.get(MINE.tenant_id, young) == "young"
        needed = self._claim().content_ref
        assert needed is not None
        assert self.store.staging.get(MINE.tenant_id, needed) == "text of needed"

    def test_staging_again_keeps_a_text_young(self) -> None:
        """A text that a new run delivers again is not pruned by its first date."""
        (ref,) = self.store.staging.put("one", ["again"])
        self.clock.advance(100)
        self.store.staging.put("one", ["again"])
        assert self.store.staging.prune(50) == 0
        assert self.store.staging.get("one", ref) == "again"

    def test_sessions_keep_candidates(self) -> None:
        """Candidates come back unchanged and in order, with the facts of their session."""
        candidates = [{"url_key": "b", "rank": 1}, {"url_key": "a", "score": float("nan")}]
        name = self.store.staging.open_session(MINE, candidates, {"source": "search"})
        session = self.store.staging.session(MINE.tenant_id, name)
        assert session is not None
        assert (session.session_id, session.collection) == (name, "docs")
        assert (session.created_at, session.facts) == (self.clock.time(), {"source": "search"})
        assert session.candidates == [candidates[0], {"url_key": "a", "score": None}]
        assert self.store.collections.collections(MINE.tenant_id) == []

    def test_sessions_are_listed_and_closed(self) -> None:
        """Sessions come youngest first, without candidates; other tenants see and close none."""
        first = self.store.staging.open_session(MINE, [{"url_key": "a"}], {})
        self.clock.advance(1)
        second = self.store.staging.open_session(TenantScope("tenant one", "other"), [], {})
        listed = self.store.staging.sessions(MINE.tenant_id)
        assert [one.session_id for one in listed] == [second, first]
        assert listed[1].candidates == []
        assert len(self.store.staging.sessions(MINE.tenant_id, "other")) == 1
        assert self.store.staging.sessions(THEIRS.tenant_id) == []
        assert self.store.staging.session(THEIRS.tenant_id, first) is None
        assert not self.store.staging.close_session(THEIRS.tenant_id, first)
        assert self.store.staging.close_session(MINE.tenant_id, first)
        assert self.store.staging.session(MINE.tenant_id, first) is None

    def test_a_session_keeps_its_texts(self) -> None:
        """The session's own tenant can ingest them while it is open."""
        ref, other = self.store.staging.put(MINE.tenant_id, ["text", "of nobody"])
        self.store.staging.put(THEIRS.tenant_id, ["text"])
        name = self.store.staging.open_session(MINE, [{"url_key": "a", "content_ref": ref}], {})
        assert self.store.staging.prune(0) == 2  # noqa: PLR2004
        assert self.store.staging.get(MINE.tenant_id, ref) == "text"
        assert self.store.staging.get(MINE.tenant_id, other) is None
        self.store.staging.close_session(MINE.tenant_id, name)
        assert self.store.staging.prune(0) == 1
