"""What was deleted cannot be read from the file any more."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from collection_search.adapters.stores.sqlite import SQLiteStore
from collection_search.contracts.collection import (
    Chunk,
    Document,
    QuestionRecord,
    TenantScope,
)
from collection_search.testing.clock import FakeClock
from collection_search.testing.stores.suite import chunks, document

if TYPE_CHECKING:
    from pathlib import Path

SCOPE = TenantScope("local", "docs")
SECRETS = ("zanzibar", "quetzal", "xylophone", "wolframite")


def bytes_of(folder: Path) -> bytes:
    return b"".join(file.read_bytes() for file in folder.iterdir())


@pytest.mark.slow
@pytest.mark.parametrize("way", ["document", "collection", "tenant", "purge"])
def test_no_word_of_it_stays_in_the_file(tmp_path: Path, way: str) -> None:
    """Neither in free pages nor in the word index nor beside the file."""
    clock = FakeClock()
    store = SQLiteStore(tmp_path / "collections.db", clock=clock.time)
    collections = store.collections
    for n in range(30):
        page = document(f"page{n}", f"ordinary {n}")
        collections.replace_document(TenantScope("other", "docs"), page, chunks("ordinary tea"))
    title, body, question, staged = SECRETS
    page = document(title, body, question=question)
    collections.replace_document(SCOPE, page, chunks(f"{body} {title}"))
    if way != "document":
        collections.remember_question(SCOPE, QuestionRecord(question=question))
        store.staging.put(SCOPE.tenant_id, [staged])
    store.close()
    before = bytes_of(tmp_path)
    assert all(word.encode() in before for word in (title, body, question))
    if way == "document":
        assert collections.delete_document(SCOPE, page.url_key)
    elif way == "collection":
        collections.delete_collection(SCOPE)
        store.staging.prune(0)
    elif way == "tenant":
        collections.delete_tenant(SCOPE.tenant_id)
    else:
        clock.advance(10)
        collections.purge(SCOPE.tenant_id, 5)
    store.close()
    after = bytes_of(tmp_path)
    assert [word for word in SECRETS if word.encode() in after] == []
    assert b"ordinary" in after


def test_what_was_deleted_stands_in_no_file(tmp_path: Path) -> None:
    """Neither in the database nor in its write-ahead log."""
    path = tmp_path / "collections.db"
    store = SQLiteStore(path)
    scope = TenantScope("acme", "notes")
    text = "a sentence that nobody may read any more"
    document = Document("https://a.org/x", "a.org/x", "Secret", "0" * 64)
    store.collections.replace_document(scope, document, [Chunk(0, text, 0, len(text))])
    files = [path, path.with_name("collections.db-wal")]
    assert any(text.encode() in file.read_bytes() for file in files)
    assert store.collections.delete_document(scope, "a.org/x")
    assert not any(text.encode() in file.read_bytes() for file in files if file.exists())
