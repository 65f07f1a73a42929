"""Another embedder for a collection."""

from __future__ import annotations

import asyncio
import json
import threading
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from collection_search import Settings
from collection_search.context import SearchContext
from collection_search.contracts.collection import Embedded, TenantScope
from collection_search.contracts.embedded_text import titled_fingerprint
from collection_search.contracts.ingestion import IngestionItem, IngestionRequest
from collection_search.errors import ConfigError, InputError, ModelError, StoreError
from collection_search.ranking.scale_files import FOLDER
from collection_search.testing import OpenAIServer, ScriptedEmbedder
from collection_search.testing.stores.suite import chunks, document
from collection_search.tools import reembed as module
from collection_search.tools.ingestion.process_engines import engine_of
from collection_search.tools.reembed import Reembedded, areembed, reembed
from collection_search.tools.retrieve import retrieve

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from collection_search.adapters.stores.sqlite import SQLiteStore

SCOPE = TenantScope("local", "docs")
THEIRS = TenantScope("other", "docs")
COUNT = 2 * module.BATCH + 1


@pytest.fixture
def context(tmp_path: Path, store: SQLiteStore) -> SearchContext:
    return SearchContext(
        settings=Settings(home=tmp_path), store=store, embeddings=ScriptedEmbedder()
    )


def put(
    store: SQLiteStore, name: str, *texts: str, scope: TenantScope = SCOPE, **more: Any
) -> None:
    store.collections.replace_document(scope, document(name), chunks(*texts, **more))


def filled(store: SQLiteStore, count: int = COUNT, scope: TenantScope = SCOPE) -> None:
    put(store, "long", *(f"Passage {n} about tasks." for n in range(count)), scope=scope)


def vectors(store: SQLiteStore, scope: TenantScope = SCOPE) -> list[Any]:
    rows = store.collections.export(scope)
    return [chunk["vector"] for row in rows for chunk in row["chunks"]]


class Interrupting(ScriptedEmbedder):
    """Does something before it answers a call; the third argument is the number of the call."""

    def __init__(self, before: Callable[[int], Any], **options: Any) -> None:
        super().__init__(**options)
        self.before = before

    async def embed(self, texts: Any) -> Embedded:
        await asyncio.to_thread(self.before, len(self.calls) + 1)
        return await super().embed(texts)


def test_every_chunk_gets_its_vector(store: SQLiteStore, context: SearchContext) -> None:
    """In batches, with progress, tokens and price; from then on the model takes part."""
    filled(store)
    embedder = ScriptedEmbedder(fingerprint="openai:text-embedding-3-small")
    steps: list[tuple[int, int]] = []
    done = reembed(
        "docs",
        tenant="local",
        context=context.model_copy(update={"embeddings": embedder}),
        on_progress=lambda *step: steps.append(step),
    )
    texts = [f"Title of long\nPassage {n} about tasks." for n in range(COUNT)]
    tokens = sum(len(text.split()) for text in texts)
    assert done == Reembedded(embedder.fingerprint, COUNT, tokens, tokens * 2 / 10**8)
    assert [len(call) for call in embedder.calls] == [module.BATCH, module.BATCH, 1]
    assert steps == [(0, COUNT), (64, COUNT), (128, COUNT), (COUNT, COUNT)]
    expected = asyncio.run(ScriptedEmbedder().embed(texts)).vectors
    assert np.allclose(vectors(store), expected)
    assert store.collections.embedder(SCOPE) == titled_fingerprint(embedder.fingerprint)


def test_a_collection_without_titles_gets_them(store: SQLiteStore, context: SearchContext) -> None:
    """What an earlier version embedded serves until then, and is embedded by the same model."""
    embedder = ScriptedEmbedder(synonyms={"brewing": "tea"})
    context.embeddings = embedder
    store.collections.bind_embedder(SCOPE, embedder.fingerprint)
    old = asyncio.run(embedder.embed(["Pour it."])).vectors
    put(store, "tea", "Pour it.", vectors=old)
    search = {"collection": "docs", "tenant": "local", "context": context}
    assert [found.text for found in retrieve("pour", **search)] == ["Pour it."]
    assert reembed("docs", tenant="local", context=context).chunks == 1
    assert embedder.calls[-1] == ["Title of tea\nPour it."]
    assert store.collections.embedder(SCOPE) == titled_fingerprint(embedder.fingerprint)
    assert [found.text for found in retrieve("brewing", **search)] == ["Pour it."]


def test_a_new_title_needs_a_new_vector(store: SQLiteStore, context: SearchContext) -> None:
    """A page that is stored meanwhile with the same text and another title is embedded again."""
    put(store, "tea", "Pour it.")

    def rename(call: int) -> None:
        if call == 1:
            page = replace(document("tea"), title="Rice")
            store.collections.replace_document(SCOPE, page, chunks("Pour it."))

    embedder = Interrupting(rename)
    context.embeddings = embedder
    reembed("docs", tenant="local", context=context)
    assert embedder.calls == [["Title of tea\nPour it."], ["Rice\nPour it."]]


def test_a_passage_is_found_by_the_new_model_alone(
    store: SQLiteStore, context: SearchContext
) -> None:
    """The collection that was searched by words is searched by meaning."""
    put(store, "a", "Streams read and write.", "Tasks run.")
    context.embeddings = ScriptedEmbedder(synonyms={"sockets": "streams"})
    search = {"collection": "docs", "tenant": "local", "context": context}
    assert retrieve("sockets", **search) == []
    reembed("docs", tenant="local", context=context)
    assert retrieve("sockets", **search)[0].text == "Streams read and write."


def test_a_failure_leaves_what_was_there(store: SQLiteStore, context: SearchContext) -> None:
    """Old vectors and old embedder, and the batches that were paid for: they are not paid again."""
    filled(store)
    reembed("docs", tenant="local", context=context)
    before = vectors(store)

    def second_fails(call: int) -> None:
        if call == 2:
            raise ModelError("The endpoint is overloaded.")

    context.embeddings = Interrupting(second_fails, dimension=32)
    with pytest.raises(ModelError, match=r"overloaded\. The collection keeps its vectors; do this"):
        reembed("docs", tenant="local", context=context)
    assert vectors(store) == before
    assert store.collections.embedder(SCOPE) == titled_fingerprint("scripted:64")
    context.embeddings = ScriptedEmbedder(dimension=32)
    done = reembed("docs", tenant="local", context=context)
    assert (done.embedder, done.chunks) == ("scripted:32", COUNT - module.BATCH)
    assert {len(vector) for vector in vectors(store)} == {32}


async def test_a_cancelled_call_leaves_what_was_there(
    store: SQLiteStore, context: SearchContext
) -> None:
    """As Ctrl-C does."""
    await asyncio.to_thread(filled, store)
    started = asyncio.Event()

    class Hanging(ScriptedEmbedder):
        async def embed(self, texts: Any) -> Embedded:
            if self.calls:
                started.set()
                await asyncio.Event().wait()
            return await super().embed(texts)

    ours = context.model_copy(update={"embeddings": Hanging()})
    task = asyncio.create_task(areembed("docs", tenant="local", context=ours))
    await started.wait()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert store.collections.embedder(SCOPE) is None
    assert vectors(store) == [None] * COUNT


def test_what_is_ingested_meanwhile_is_included(store: SQLiteStore, context: SearchContext) -> None:
    """New pages, and pages in a new version."""
    filled(store, 3)

    def ingest(call: int) -> None:
        if call == 1:
            put(store, "new", "A new page.")
        if call == 2:
            put(store, "long", "One passage is left.")

    context.embeddings = Interrupting(ingest)
    reembed("docs", tenant="local", context=context)
    texts = ["Title of long\nOne passage is left.", "Title of new\nA new page."]
    expected = asyncio.run(ScriptedEmbedder().embed(texts)).vectors
    assert np.allclose(vectors(store), expected)


def test_pages_in_hand_meanwhile_get_the_new_vectors(
    store: SQLiteStore, context: SearchContext
) -> None:
    """The worker of this process that has them gets to know the new model."""
    started, free = threading.Event(), threading.Event()

    def hold(_: int) -> None:
        started.set()
        assert free.wait(60)

    old = Interrupting(hold)
    store.collections.bind_embedder(SCOPE, old.fingerprint)
    put(store, "long", "A page.", vectors=np.ones((1, 64), np.float32))
    (ref,) = store.staging.put("local", ["Green tea."])
    item = IngestionItem("https://example.com/tea", "example.com/tea", "Tea", ref)
    engine = engine_of(store, context.using(), old)
    ticket = store.ledger.enqueue(IngestionRequest(SCOPE, [item]))
    engine.start()
    assert started.wait(60)
    context.embeddings = ScriptedEmbedder(dimension=32)
    reembed("docs", tenant="local", context=context)
    free.set()
    assert engine.drain(timeout_s=60)
    status = store.ledger.status("local", ticket.ticket_id)
    assert status is not None
    assert [(row.state, row.error) for row in status.rows] == [("stored", None)]
    assert [len(vector) for vector in vectors(store)] == [32, 32]


def test_without_a_model_the_vectors_go(store: SQLiteStore, context: SearchContext) -> None:
    """The words find."""
    filled(store, 3)
    reembed("docs", tenant="local", context=context)
    context.embeddings = "lexical"
    assert reembed("docs", tenant="local", context=context) == Reembedded(None, 0, 0, 0.0)
    assert vectors(store) == [None] * 3
    assert retrieve("passage", collection="docs", tenant="local", context=context)


def test_a_changed_model_is_the_same_by_name(store: SQLiteStore, context: SearchContext) -> None:
    """Vectors of another size under the old name are refused with the way out, which works."""
    filled(store, 3)
    reembed("docs", tenant="local", context=context)
    context.embeddings = ScriptedEmbedder(dimension=16, fingerprint="scripted:64")
    search = {"collection": "docs", "tenant": "local", "context": context}
    with pytest.raises(StoreError, match=r"64 dimensions.*16.*collections reembed 'docs'"):
        retrieve("tasks", **search)
    with pytest.raises(StoreError, match="collections reembed 'docs'"):
        store.collections.replace_document(
            SCOPE, document("more"), chunks("more", vectors=np.ones((1, 16), np.float32))
        )
    reembed("docs", tenant="local", context=context)
    assert retrieve("tasks", **search)


def test_tenants_are_apart(store: SQLiteStore, context: SearchContext) -> None:
    """The other tenant's collection of the same name stays as it is."""
    filled(store, 3)
    filled(store, 3, THEIRS)
    reembed("docs", tenant="local", context=context)
    assert store.collections.embedder(THEIRS) is None
    assert vectors(store, THEIRS) == [None] * 3


@pytest.mark.parametrize(
    "answer",
    [
        np.ones((2, 4), np.float32),
        np.full((3, 4), np.nan, np.float32),
        np.ones(3, np.float32),
    ],
    ids=["too few", "no numbers", "one row"],
)
def test_unusable_vectors_are_refused(
    store: SQLiteStore, context: SearchContext, answer: Any
) -> None:
    """Nothing of them is kept."""

    class Broken(ScriptedEmbedder):
        async def embed(self, texts: Any) -> Embedded:
            return Embedded(answer)

    filled(store, 3)
    context.embeddings = Broken()
    with pytest.raises(ModelError, match=r"^The embedder scripted:64 gave .*0 of its 3 chunks"):
        reembed("docs", tenant="local", context=context)
    assert store.collections.pending_vectors(SCOPE, "scripted:64").left == 3


def test_a_model_that_changed_behind_its_name(store: SQLiteStore, tmp_path: Path) -> None:
    """In the same process: its collection is embedded anew, and its scale measured anew."""
    filled(store, 2)
    with OpenAIServer(dimension=64) as server:
        settings = Settings(
            home=tmp_path,
            embeddings="openai:some-model",
            openai_api_key="sk-of-the-test-0123456789",
            openai_base_url=server.base_url,
        )
        context = SearchContext(settings=settings, store=store)
        reembed("docs", context=context)
        before = retrieve("passage about tasks", collection="docs", context=context)
        assert before[0].score
        server.dimension = 32
        with pytest.raises(StoreError, match="collections reembed 'docs'"):
            retrieve("passage about tasks", collection="docs", context=context)
        reembed("docs", context=context)
        assert retrieve("passage about tasks", collection="docs", context=context)
    (kept,) = (tmp_path / FOLDER).iterdir()
    assert json.loads(kept.read_text())["dimension"] == 32


def test_a_model_that_changes_on_the_way_is_refused(
    store: SQLiteStore, context: SearchContext
) -> None:
    """Else it would never come to an end."""
    filled(store)

    def shrink(_: int) -> None:
        embedder.dimension -= 1

    embedder = Interrupting(shrink)
    context.embeddings = embedder
    with pytest.raises(ModelError, match=r"shape \(64, 62\)"):
        reembed("docs", tenant="local", context=context)


def test_an_unknown_collection_is_refused(store: SQLiteStore, context: SearchContext) -> None:
    """With those that are known; nothing is made."""
    filled(store, 1, TenantScope("local", "py"))
    filled(store, 1, THEIRS)
    with pytest.raises(InputError, match=r"no collection 'docs'\. Known: py\.$"):
        reembed("docs", tenant="local", context=context)
    with pytest.raises(InputError, match="1 to 200 printable"):
        reembed("", tenant="local", context=context)


def test_an_unknown_model_is_refused(store: SQLiteStore, context: SearchContext) -> None:
    """Before anything is touched."""
    filled(store, 1)
    context.embeddings = "nothing:at-all"
    with pytest.raises(ConfigError, match="nothing"):
        reembed("docs", tenant="local", context=context)
