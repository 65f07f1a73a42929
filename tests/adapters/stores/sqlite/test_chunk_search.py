"""Search by words: compounds."""

from __future__ import annotations

from typing import TYPE_CHECKING

from collection_search.testing.stores.suite import MINE, THEIRS, chunks, document

if TYPE_CHECKING:
    from collection_search.adapters.stores.sqlite import SQLiteStore


def found(store: SQLiteStore, question: str) -> list[str]:
    return [one.chunk.text for one in store.collections.search(MINE, question)]


def test_a_compound_is_found_by_its_parts(store: SQLiteStore) -> None:
    """Where the collection does not have the word itself; both parts are needed."""
    store.collections.replace_document(MINE, document("saturn"), chunks("Ringe um den Saturn."))
    store.collections.replace_document(
        MINE, document("glass"), chunks("Eine Brille für die Sonne.")
    )
    assert found(store, "Woraus sind die Saturnringe?") == ["Ringe um den Saturn."]
    assert found(store, "Welche Sonnenbrillen gibt es?") == ["Eine Brille für die Sonne."]
    assert found(store, "Wo sind die Saturnmonde?") == []


def test_the_compound_itself_counts_alone(store: SQLiteStore) -> None:
    """Its parts would find other pages."""
    store.collections.replace_document(MINE, document("a"), chunks("Die Saturnringe sind aus Eis."))
    store.collections.replace_document(MINE, document("b"), chunks("Saturn trug goldene Ringe."))
    assert found(store, "Was sind die Saturnringe?") == ["Die Saturnringe sind aus Eis."]


def test_words_of_other_languages_stay_whole(store: SQLiteStore) -> None:
    """What looks like a compound there is a word of its own."""
    store.collections.replace_document(MINE, document("a"), chunks("A rain of cold water, a coat."))
    assert found(store, "What is the raincoat made of?") == []


def test_parts_are_those_of_the_own_collection(store: SQLiteStore) -> None:
    """What another tenant stored decides nothing."""
    store.collections.replace_document(THEIRS, document("a"), chunks("Ringe um den Saturn."))
    store.collections.replace_document(MINE, document("b"), chunks("Ringe aus Gold."))
    assert found(store, "Was sind die Saturnringe?") == []
