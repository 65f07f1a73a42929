"""A collection as LangChain's vector store: LangChain's own suite, and ours."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

import pytest
from langchain_core.documents import Document
from langchain_core.embeddings import DeterministicFakeEmbedding
from langchain_tests.integration_tests import VectorStoreIntegrationTests

from collection_search.adapters.stores.sqlite import SQLiteStore
from collection_search.context import SearchContext
from collection_search.contracts.collection import TenantScope
from collection_search.errors import ConfigError, InputError
from collection_search.tools.langchain.vector_store import CollectionVectorStore
from collection_search.tools.portable.files import export_file, import_file
from collection_search.tools.retrieve import retrieve

if TYPE_CHECKING:
    from pathlib import Path

    from langchain_core.vectorstores import VectorStore


@pytest.fixture
def context(tmp_path: Path) -> SearchContext:
    return SearchContext(store=SQLiteStore(tmp_path / "collections.db"))


def store(context: SearchContext, *, size: int = 6, **more: Any) -> CollectionVectorStore:
    return CollectionVectorStore(
        "notes",
        **{
            "tenant": "acme",
            "embedding": DeterministicFakeEmbedding(size=size),
            "fingerprint": f"fake:{size}",
            "context": context,
            **more,
        },
    )


class TestWithVectors(VectorStoreIntegrationTests):
    """LangChain's suite over an embedder."""

    @pytest.fixture
    def vectorstore(self, context: SearchContext) -> VectorStore:  # type: ignore[override]
        return store(context)


def test_a_page_that_was_ingested_is_found(context: SearchContext):
    """Its id names the chunk, its metadata say where it comes from."""
    from collection_search.contracts.collection import Chunk
    from collection_search.contracts.collection import Document as Page

    page = Page("https://a.org/x", "a.org/x", "Herons", "0" * 64, {"query": "herons"})
    chunks = [Chunk(0, "Herons wade.", 0, 12), Chunk(1, "Storks do too.", 13, 27)]
    context.store.collections.replace_document(TenantScope("acme", "notes"), page, chunks)
    faces = store(context, embedding=None, fingerprint=None)
    found = faces.similarity_search("herons", k=1)[0]
    assert (found.id, found.metadata["source"]) == ("a.org/x#0", "https://a.org/x")
    assert found.metadata["query"] == "herons"
    assert [one.id for one in faces.get_by_ids(["a.org/x#1", "a.org/x#7"])] == ["a.org/x#1"]


def test_scores_are_cosines(context: SearchContext):
    """The same text has the cosine 1, whatever stands beside it."""
    faces = store(context)
    faces.add_texts(["one", "two", "three"])
    best, score = faces.similarity_search_with_score("two", k=2)[0]
    assert best.page_content == "two"
    assert score == pytest.approx(1.0, abs=1e-5)
    near = faces.similarity_search_by_vector(
        DeterministicFakeEmbedding(size=6).embed_query("three")
    )
    assert near[0].page_content == "three"
    assert faces.similarity_search_with_relevance_scores("two", k=1)[0][1] == pytest.approx(1.0)


@pytest.mark.parametrize("size", [None, 6])
async def test_a_threshold_of_relevance_keeps_the_exact_hit(
    context: SearchContext, size: int | None
):
    """With and without vectors; without, the relevance is what `retrieve` gives."""
    more = {"embedding": None, "fingerprint": None} if size is None else {"size": size}
    faces = store(context, **more)
    said = "Herons wade in shallow water."
    faces.add_texts([said, "Tea is brewed with hot water.", "A queue keeps tasks."])
    scores = faces.similarity_search_with_relevance_scores(said, k=2)
    assert scores == await faces.asimilarity_search_with_relevance_scores(said, k=2)
    assert scores[0][0].page_content == said
    assert 0.9 < scores[0][1] <= 1
    if size is None:
        best = retrieve(said, collection="notes", tenant="acme", context=context)[0]
        assert scores[0][1] == pytest.approx(best.score / 100)
        assert scores[1][1] < 0.6
    retriever = faces.as_retriever(
        search_type="similarity_score_threshold", search_kwargs={"score_threshold": 0.8}
    )
    assert [one.page_content for one in retriever.invoke(said)] == [said]


def test_relevance_by_words_takes_filters_and_any_question(context: SearchContext):
    """A question without words finds nothing, as it does with scores."""
    faces = store(context, embedding=None, fingerprint=None)
    faces.add_texts(["Herons wade.", "Herons fly."], [{"mood": "calm"}, {"mood": "merry"}])
    found = faces.similarity_search_with_relevance_scores("herons", filter={"mood": "merry"})
    assert [one.page_content for one, _ in found] == ["Herons fly."]
    assert faces.similarity_search_with_relevance_scores("") == []
    assert faces.similarity_search_with_relevance_scores("herons", k=0) == []


async def test_a_search_by_marginal_relevance_names_what_to_use(context: SearchContext):
    """LangChain's own error has no text."""
    faces = store(context)
    with pytest.raises(NotImplementedError, match="Use `retrieve`"):
        faces.as_retriever(search_type="mmr").invoke("herons")
    with pytest.raises(NotImplementedError, match="Use `retrieve`"):
        await faces.amax_marginal_relevance_search_by_vector([1.0])


def test_filters_are_those_of_the_store(context: SearchContext):
    """A known one narrows; a value of another kind is refused; a name is never read as SQL."""
    faces = store(context)
    faces.add_texts(["a", "b"], [{"source": "https://a.org/1"}, {"source": "https://b.org/2"}])
    found = faces.similarity_search("a", k=5, filter={"host": "b.org"})
    assert [one.page_content for one in found] == ["b"]
    with pytest.raises(InputError, match="filter is_pdf takes true or false"):
        faces.similarity_search("a", filter={"is_pdf": "maybe"})
    with pytest.raises(InputError, match="filters must be a mapping of names"):
        faces.similarity_search("a", filter=lambda _: True)  # type: ignore[arg-type]
    for name in ("tenant_id", "1 OR 1", "x') OR ('1", '"', "$"):
        assert faces.similarity_search("a", filter={name: "other"}) == []


@pytest.mark.parametrize(
    ("wanted", "texts"),
    [
        ({"mood": "calm"}, {"a", "c"}),
        ({"mood": ["calm", "merry"], "year": 2026}, {"a", "b"}),
        ({"mood": "calm", "year": 2025}, {"c"}),
        ({"source": "notes.txt"}, {"a"}),
        ({"provider": "me"}, {"b"}),
        ({"is_pdf": True}, {"b"}),
        ({"published_date": "2026-01-31"}, {"a"}),
        ({"published_after": "2026-02-01"}, {"b"}),
        ({"published_before": "2026-01-31"}, {"a"}),
        ({"title": "A title"}, {"c"}),
        ({"page": 3}, {"c"}),
    ],
)
def test_what_a_text_shows_is_a_filter(
    context: SearchContext, wanted: dict[str, Any], texts: set[str]
):
    """The metadata that its caller gave, by the same names."""
    faces = store(context)
    metadatas: list[dict[str, Any]] = [
        {"mood": "calm", "year": 2026, "published_date": "2026-01-31", "source": "notes.txt"},
        {"mood": "merry", "year": 2026, "published_date": "2026-03-01T10:00:00Z", "is_pdf": True}
        | {"provider": "me"},
        {"mood": "calm", "year": 2025, "title": "A title", "page": 3, "is_pdf": False},
    ]
    faces.add_texts(["a", "b", "c"], metadatas)
    found = faces.similarity_search("a", k=5, filter=wanted)
    assert {one.page_content for one in found} == texts
    near = DeterministicFakeEmbedding(size=6).embed_query("a")
    found = faces.similarity_search_by_vector(near, k=5, filter=wanted)
    assert {one.page_content for one in found} == texts
    with_scores = faces.similarity_search_with_relevance_scores("a", k=5, filter=wanted)
    assert {one.page_content for one, _ in with_scores} == texts


def test_what_a_page_shows_is_a_filter(context: SearchContext):
    """Every fact of a document that was ingested, the dates by their days as well."""
    from collection_search.contracts.collection import Chunk
    from collection_search.contracts.collection import Document as Page

    assert context.store is not None
    collections, scope = context.store.collections, TenantScope("acme", "notes")
    facts = {"published_date": "2026-01-31T12:00:00Z", "is_pdf": True, "rank": 3, "source": "a.org"}
    page = Page("https://a.org/x", "a.org/x", "Herons", "1" * 64, {**facts, "provider": "brave"})
    other = Page("https://b.org/y", "b.org/y", "Storks", "0" * 64, {"rank": 4})
    for one in (page, other):
        collections.replace_document(scope, one, [Chunk(0, "Herons wade.", 0, 12)])
    faces = store(context, embedding=None, fingerprint=None)
    (shown,) = faces.similarity_search("herons", filter={"is_pdf": True})
    parts = {"start", "end", "headings", "page"}  # of the chunk
    for name in shown.metadata.keys() - parts:
        wanted = {name: shown.metadata[name]}
        assert faces.similarity_search("herons", filter=wanted) == [shown], name
    for wanted in ({"published_after": "2026-01-31"}, {"published_before": "2026-02-01"}):
        assert faces.similarity_search("herons", filter=wanted) == [shown]
    assert faces.similarity_search("herons", filter={"published_date": "2026-02-01"}) == []


def test_deleting_what_is_not_there_is_not_true(context: SearchContext):
    """The known ones among the ids are deleted all the same."""
    faces = store(context)
    faces.add_texts(["a", "b", "c"], ids=["1", "2", "3"])
    assert faces.delete(["1"]) is True
    assert faces.delete(["1"]) is False
    assert faces.delete(["nothing", "2"]) is False
    assert [one.id for one in faces.get_by_ids(["1", "2", "3"])] == ["3"]
    assert faces.delete([]) is True


def test_an_id_that_looks_like_a_chunks_is_its_own(context: SearchContext):
    """No other text and no page is deleted for it."""
    faces = store(context)
    faces.add_texts(["a", "b"], ids=["note", "note#1"])
    assert [one.page_content for one in faces.get_by_ids(["note#1", "note"])] == ["b", "a"]
    assert faces.delete(["note#7"]) is False
    assert faces.delete(["note#1"]) is True
    assert [one.id for one in faces.get_by_ids(["note", "note#1"])] == ["note"]


def test_tenants_and_embedders_do_not_mix(context: SearchContext):
    """Another tenant sees nothing; another embedder is refused with the way out."""
    store(context).add_texts(["one"])
    assert store(context, tenant="other").similarity_search("one") == []
    with pytest.raises(ConfigError, match="reembed"):
        store(context, size=7).similarity_search("one")


def test_a_collection_of_texts_goes_to_a_file_and_back(context: SearchContext, tmp_path: Path):
    """Also a text that never was a page, with its id, vector and metadata."""
    assert context.store is not None
    collections, path = context.store.collections, tmp_path / "notes.jsonl"
    texts, metadatas = ["one", "two"], [{"mood": "calm"}, {"source": "https://b.org/2"}]
    store(context).add_texts(texts, metadatas, ids=["first id", "second"])
    export_file(collections, TenantScope("acme", "notes"), path)
    assert import_file(collections, TenantScope("other", "notes"), path) == (2, 0)
    there = store(context, tenant="other")
    assert there.get_by_ids(["first id", "second"]) == [
        Document(id="first id", page_content="one", metadata=metadatas[0]),
        Document(id="second", page_content="two", metadata=metadatas[1]),
    ]
    assert there.similarity_search("two", k=1)[0].id == "second"


def test_metadata_must_be_json(context: SearchContext):
    """What a store cannot give back is not taken."""
    with pytest.raises(InputError, match="JSON"):
        store(context).add_texts(["one"], [{"when": object()}])


def test_from_texts_and_as_retriever(context: SearchContext):
    """The ways in which chains make and use a store."""
    made = CollectionVectorStore.from_texts(
        ["one", "two"],
        DeterministicFakeEmbedding(size=6),
        collection="made",
        tenant="acme",
        fingerprint="fake:6",
        context=context,
    )
    retriever = made.as_retriever(search_kwargs={"k": 1})
    assert [one.page_content for one in retriever.invoke("two")] == ["two"]
    assert asyncio.run(retriever.ainvoke("one"))[0].page_content == "one"
    assert isinstance(made.get_by_ids([made.add_documents([Document("three")])[0]])[0], Document)


@pytest.mark.parametrize("ids", [None, [], [None, None], ("first", None)])
def test_a_text_without_an_id_gets_one(context: SearchContext, ids: Any):
    """LangChain's own callers write it in all of these forms."""
    keys = store(context).add_texts(["Herons wade.", "Storks do too."], ids=ids)
    assert len({key for key in keys if key}) == 2


def test_what_overrides_the_coroutine_is_used_by_the_blocking_function_as_well(
    context: SearchContext,
):
    class Loud(CollectionVectorStore):
        async def aadd_texts(self, texts: Any, *args: Any, **kwargs: Any) -> list[str]:
            return [text.upper() for text in texts]

    assert Loud("notes", context=context).add_texts(["a"]) == ["A"]
