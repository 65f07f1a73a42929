"""Whatever five tenants do in one database, nothing crosses."""

from __future__ import annotations

import hashlib
import tempfile
from pathlib import Path

from hypothesis import given, settings
from hypothesis import strategies as st

from collection_search.adapters.stores.sqlite import SQLiteStore
from collection_search.records import (
    Chunk,
    Document,
    IngestionItem,
    IngestionRequest,
    TenantScope,
    Ticket,
)

TENANTS = ("one", "one two", "One", "c1", 'x" OR part : c1')
SCOPES = [TenantScope(t, c) for t in TENANTS for c in ("docs", "two docs")]
PAGES = ("a", "b", "c")


class World:
    """A store, and beside it what each scope should hold."""

    def __init__(self, folder: str) -> None:
        self.store = SQLiteStore(Path(folder) / "collections.db")
        self.expected: dict[TenantScope, dict[str, str]] = {scope: {} for scope in SCOPES}
        self.tickets: list[Ticket] = []
        self.refs: list[tuple[str, str]] = []

    def write(self, scope: TenantScope, page: str, text: str) -> None:
        self.store.collections.replace_document(scope, _document(page, text), _chunks(text))
        self.expected[scope][page] = text

    def ingest(self, scope: TenantScope, page: str, text: str) -> None:
        (ref,) = self.store.staging.put(scope.tenant_id, [text])
        item = IngestionItem(f"https://e.com/{page}", page, page, ref)
        self.refs.append((scope.tenant_id, ref))
        self.tickets.append(self.store.ledger.enqueue(IngestionRequest(scope, [item])))

    def work(self, *_: object) -> None:
        while claim := self.store.ledger.claim("worker", lease_s=60):
            text = self.store.staging.get(claim.scope.tenant_id, claim.content_ref or "")
            assert text is not None
            assert text.startswith(_owner(claim.scope))
            page = _document(claim.url_key, text)
            assert self.store.ledger.finish(claim, page, _chunks(text))
            self.expected[claim.scope][claim.url_key] = text

    def delete(self, scope: TenantScope, page: str, _text: str) -> None:
        deleted = self.store.collections.delete_document(scope, page)
        assert deleted == (self.expected[scope].pop(page, None) is not None)

    def clear(self, scope: TenantScope, *_: object) -> None:
        assert self.store.collections.delete_collection(scope) == len(self.expected[scope])
        self.expected[scope] = {}

    def prune(self, *_: object) -> None:
        self.store.staging.prune(0)

    def look(self, scope: TenantScope, page: str, text: str) -> None:
        for question in ("tea", page, text, scope.tenant_id):
            for found in self.store.collections.search(scope, question):
                assert found.chunk.text == self.expected[scope][found.document.url_key]
        for owner, ref in self.refs:
            read = self.store.staging.get(scope.tenant_id, ref)
            assert read is None or owner == scope.tenant_id
        for ticket in self.tickets:
            status = self.store.ledger.status(scope.tenant_id, ticket.ticket_id)
            assert status is None or ticket.tenant_id == scope.tenant_id

    def check(self) -> None:
        for scope, pages in self.expected.items():
            self.look(scope, "a", "tea")
            exported = {
                page["url_key"]: page["chunks"][0]["text"]
                for page in self.store.collections.export(scope)
            }
            assert exported == pages
        for tenant in TENANTS:
            counted = {
                info.collection: info.documents
                for info in self.store.collections.collections(tenant)
                if info.documents
            }
            assert counted == {
                scope.collection: len(pages)
                for scope, pages in self.expected.items()
                if pages and scope.tenant_id == tenant
            }


def _owner(scope: TenantScope) -> str:
    return f"tea of {scope.tenant_id} in {scope.collection}"


def _document(page: str, text: str) -> Document:
    return Document(f"https://e.com/{page}", page, page, hashlib.sha256(text.encode()).hexdigest())


def _chunks(text: str) -> list[Chunk]:
    return [Chunk(0, text, 0, len(text))]


STEPS = st.tuples(
    st.sampled_from(
        [
            World.write,
            World.ingest,
            World.ingest,
            World.work,
            World.look,
            World.delete,
            World.clear,
            World.prune,
        ]
    ),
    st.sampled_from(SCOPES),
    st.sampled_from(PAGES),
    st.sampled_from(["", " again"]),
)


@settings(max_examples=40, deadline=None)
@given(st.lists(STEPS, min_size=10, max_size=40))
def test_tenants_never_meet(steps: list[tuple[object, TenantScope, str, str]]) -> None:
    """Random writes, ingestions, deletions and reads: every scope holds its own, and only that."""
    with tempfile.TemporaryDirectory() as folder:
        world = World(folder)
        for step, scope, page, version in steps:
            step(world, scope, page, _owner(scope) + version)
        world.check()
        world.store.close()
