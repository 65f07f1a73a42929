"""The user's folders as they are kept, and the lock under which the corpus changes."""

from __future__ import annotations

from pathlib import Path

import pytest

from collection_search.adapters.corpus.entry import CorpusPage
from collection_search.adapters.corpus.folder_store import Folder, FolderStore
from collection_search.errors import StoreError

NOTES = Path("/docs/notes")
SOUP = CorpusPage("https://a.org/soup", "Soup", "Potatoes and onions.")
STEW = CorpusPage("https://a.org/stew", "Stew", "Beans.")


@pytest.fixture
def store(tmp_path: Path) -> FolderStore:
    return FolderStore(tmp_path / "folders.db", lock_wait_s=0.05)


def test_nothing_is_written_before_the_first_folder(store: FolderStore, tmp_path: Path) -> None:
    """Looking at an empty list leaves no file behind."""
    assert (store.folders(), store.pages(), store.revision()) == ([], [], "")
    assert list(tmp_path.iterdir()) == []


def test_a_folder_comes_back_as_it_was_put(store: FolderStore) -> None:
    """Name, path, address, number of pages, and the pages themselves."""
    store.put("notes", NOTES, "https://a.org/", [SOUP, STEW])
    assert store.folders() == [Folder("notes", NOTES, "https://a.org/", 2)]
    assert store.pages() == [SOUP, STEW]


def test_a_folder_replaces_the_one_of_its_name(store: FolderStore) -> None:
    """Pages that are gone from the folder are gone from the list."""
    store.put("notes", NOTES, "https://a.org/", [SOUP])
    store.put("other", NOTES, "https://b.org/", [STEW])
    store.put("notes", NOTES, "https://a.org/", [])
    assert [(folder.name, folder.pages) for folder in store.folders()] == [
        ("notes", 0),
        ("other", 1),
    ]
    store.remove("other")
    assert store.pages() == []


def test_every_change_changes_the_revision(store: FolderStore) -> None:
    """The index can tell that it is out of date, even when the same folder is put again."""
    seen = {store.revision()}
    for change in range(3):
        store.put("notes", NOTES, "https://a.org/", [SOUP])
        seen.add(store.revision())
        assert len(seen) == change + 2
    store.remove("notes")
    assert store.revision() not in seen


def test_reading_goes_on_while_another_holds_the_lock(store: FolderStore) -> None:
    """The lock keeps writers out; after its time is up they are told so."""
    store.put("notes", NOTES, "https://a.org/", [SOUP])
    with store.locked():
        assert store.pages() == [SOUP]
        with pytest.raises(StoreError, match=r"Another process .* Try again"):
            store.remove("notes")
    store.remove("notes")


def test_a_change_that_fails_changes_nothing(store: FolderStore) -> None:
    """What was there before an error is there after it."""
    store.put("notes", NOTES, "https://a.org/", [SOUP])
    with pytest.raises(RuntimeError, match="stop"):
        _delete_and_stop(store)
    assert store.pages() == [SOUP]


def _delete_and_stop(store: FolderStore) -> None:
    with store.locked() as db:
        db.execute("DELETE FROM page")
        raise RuntimeError("stop")
