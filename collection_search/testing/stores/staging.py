"""What every staging store has to do."""

from __future__ import annotations

from .base import MINE, StoreContract


class StagingContract(StoreContract):
    """What a run relies on when it stages texts: subclass it and give `storage`."""

    def test_texts_come_back_by_reference(self) -> None:
        """References come in the order of the texts, and equal texts share one."""
        first, second, third = self.store.staging.put("one", ["green", "black", "green"])
        assert first == third != second
        assert self.store.staging.get("one", first) == "green"
        assert self.store.staging.get("one", second) == "black"

    def test_references_are_private(self) -> None:
        """Another tenant who knows the reference, even the text, reads nothing."""
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
