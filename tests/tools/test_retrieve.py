"""Retrieval: a question becomes passages that can be cited."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from collection_search import Settings
from collection_search.adapters.embeddings.openai import OpenAIEmbedder
from collection_search.context import SearchContext
from collection_search.contracts.collection import Embedded, TenantScope
from collection_search.errors import ConfigError, InputError, InvalidQueryError, ModelError
from collection_search.ranking.anchors import anchor_texts
from collection_search.ranking.evidence import answering
from collection_search.ranking.scoring import PageText, rank
from collection_search.testing.embeddings import ScriptedEmbedder
from collection_search.testing.openai_server import OpenAIServer
from collection_search.testing.stores.suite import chunks, document
from collection_search.tools.retrieve import STORE_WEIGHT, aretrieve, retrieve

if TYPE_CHECKING:
    from pathlib import Path

    from collection_search.adapters.stores.sqlite import SQLiteStore

SCOPE = TenantScope("local", "docs")
TASKS = (
    "To cancel a task after a timeout, use asyncio.timeout as a context manager.",
    "A task group waits for all of its tasks.",
    "Streams read and write without callbacks.",
)


@pytest.fixture
def context(settings: Settings, store: SQLiteStore) -> SearchContext:
    return SearchContext(settings=settings, store=store)


def put(
    store: SQLiteStore,
    name: str,
    *texts: str,
    scope: TenantScope = SCOPE,
    is_pdf: bool = False,
    **more: Any,
) -> None:
    provenance = {"query": "asyncio", "rank": 1, "is_pdf": is_pdf}
    page = document(name, "".join(texts), **provenance)
    store.collections.replace_document(scope, page, chunks(*texts, **more))


def test_passages_can_be_cited(store: SQLiteStore, context: SearchContext) -> None:
    """Number, address, text, score and the way back to the place in the document."""
    put(store, "asyncio", *TASKS)
    first, *others = retrieve(
        "How do I cancel a task after a timeout?",
        collection="docs",
        tenant="local",
        context=context,
    )
    assert (first.n, first.url, first.title) == (1, document("asyncio").url, "Title of asyncio")
    assert first.text == TASKS[0]
    assert 50 < first.score <= 100
    assert (first.provenance["start"], first.provenance["end"]) == (0, len(TASKS[0]))
    assert (first.provenance["query"], first.provenance["rank"]) == ("asyncio", 1)
    assert first.provenance["content_hash"] == document("asyncio", "".join(TASKS)).content_hash
    assert [one.n for one in others] == [2]
    assert first.score > others[0].score


def test_a_passage_names_its_section_and_page(store: SQLiteStore, context: SearchContext) -> None:
    """As its chunk has them; without them there is an empty path and no page."""
    placed = replace(chunks(TASKS[0])[0], headings=("Tasks", "Timeouts"), page=7)
    store.collections.replace_document(SCOPE, document("placed"), [placed])
    put(store, "plain", TASKS[1])
    found = retrieve("cancel a task group", collection="docs", tenant="local", context=context)
    places = {one.text: (one.provenance["headings"], one.provenance["page"]) for one in found}
    assert places == {TASKS[0]: (["Tasks", "Timeouts"], 7), TASKS[1]: ([], None)}


def test_a_tables_header_stands_above_its_rows_once(
    store: SQLiteStore, context: SearchContext
) -> None:
    """A later part of a table has it; parts that follow each other are one text below it."""
    header = "| Task | Longest time |"
    first, *later = chunks(
        f"{header}\n|---|---|\n| fetch | 7 s |", "| parse | 9 s |", "| store | 3 s |"
    )
    parts = [first, *(replace(one, table_header=header) for one in later)]
    store.collections.replace_document(SCOPE, document("limits"), parts)
    ask = {"collection": "docs", "tenant": "local", "context": context}
    (whole,) = retrieve("longest time of a task", **ask)
    assert whole.text.count(header) == 1
    assert whole.text.startswith(header)
    store.collections.replace_document(SCOPE, document("limits"), parts[1:])
    (rest,) = retrieve("longest time to parse", **ask)
    assert rest.text == f"{header}\n| parse | 9 s || store | 3 s |"
    assert rest.provenance["start"] == later[0].start


async def test_it_can_be_awaited(store: SQLiteStore, context: SearchContext) -> None:
    """The coroutine gives the same passages."""
    put(store, "asyncio", *TASKS)
    awaited = await aretrieve("cancel a task", collection="docs", tenant="local", context=context)
    assert awaited == await asyncio.to_thread(
        retrieve, "cancel a task", collection="docs", tenant="local", context=context
    )


def test_at_most_k_passages(store: SQLiteStore, context: SearchContext) -> None:
    """The best ones, in order."""
    put(store, "asyncio", *TASKS)
    (only,) = retrieve(
        "cancel a task after a timeout", collection="docs", tenant="local", k=1, context=context
    )
    assert only.text == TASKS[0]


def apart(*texts: str) -> list[str]:
    """Return the texts with another one after each: found ones are then no neighbours."""
    return [part for text in texts for part in (text, " Other words stand between. ")]


def test_one_document_does_not_fill_the_answer(store: SQLiteStore, context: SearchContext) -> None:
    """The fourth passage of a document gives way to one that is about as good."""
    put(store, "long", *apart(*(f"Cancel a task: variant {n} of cancelling." for n in range(9))))
    put(store, "short", "Cancel a task: another variant of cancelling.")
    put(store, "worse", "Something else, and a word about how to cancel.")
    found = retrieve("cancel a task", collection="docs", tenant="local", k=4, context=context)
    names = [one.url.rpartition("/")[2] for one in found]
    assert sorted(names) == ["long"] * 3 + ["short"]
    assert [one.n for one in found] == [1, 2, 3, 4]
    found = retrieve("cancel a task", collection="docs", tenant="local", k=6, context=context)
    assert [one.url.rpartition("/")[2] for one in found].count("long") == 5
    assert [one.score for one in found] == sorted((one.score for one in found), reverse=True)


def test_neighbours_are_one_passage(store: SQLiteStore, context: SearchContext) -> None:
    """Three passages of a page that follow each other take one place."""
    texts = [f"Cancel a task: variant {n} of cancelling." for n in range(3)]
    put(store, "long", *texts)
    put(store, "other", "Cancel another task.")
    found = retrieve("cancel a task", collection="docs", tenant="local", context=context)
    assert len(found) == 2
    whole = next(one for one in found if one.text == "".join(texts))
    assert (whole.provenance["start"], whole.provenance["end"]) == (0, len(whole.text))


def test_evidence_tells_what_answers(store: SQLiteStore, context: SearchContext) -> None:
    """A passage that shares a word is still returned; it does not count."""
    put(store, "asyncio", TASKS[0])
    put(store, "groups", TASKS[1])
    found = retrieve(
        "cancel a task after a timeout", collection="docs", tenant="local", context=context
    )
    assert [one.text for one in found] == [TASKS[0], TASKS[1]]
    assert [one.text for one in answering(found)] == [TASKS[0]]
    assert all(one.evidence is not None and 0 <= one.evidence <= 100 for one in found)


def test_filters_choose_among_the_documents(store: SQLiteStore, context: SearchContext) -> None:
    """Those of the store; an unknown one is refused."""
    put(store, "page", TASKS[0], is_pdf=False)
    put(store, "paper", TASKS[0] + " On paper.", is_pdf=True)
    for is_pdf, name in ((True, "paper"), (False, "page")):
        [only] = retrieve(
            "cancel a task",
            collection="docs",
            tenant="local",
            filters={"is_pdf": is_pdf},
            context=context,
        )
        assert only.url.endswith(name)
    with pytest.raises(InputError, match="There is no filter 'colour'"):
        retrieve(
            "task", collection="docs", tenant="local", filters={"colour": "red"}, context=context
        )


def test_nothing_relevant_is_an_empty_answer(store: SQLiteStore, context: SearchContext) -> None:
    """No passage is made up."""
    put(store, "asyncio", *TASKS)
    assert retrieve("potato soup", collection="docs", tenant="local", context=context) == []


def test_tenants_are_apart(store: SQLiteStore, context: SearchContext) -> None:
    """The tenant is that of the context, or the one asked for."""
    put(store, "mine", "my task")
    put(store, "theirs", "their task", scope=TenantScope("other", "docs"))
    mine = retrieve("task", collection="docs", tenant="local", context=context)
    theirs = retrieve("task", collection="docs", tenant="other", context=context)
    assert ([one.text for one in mine], [one.text for one in theirs]) == (
        ["my task"],
        ["their task"],
    )


def test_an_unknown_collection_lists_the_known(store: SQLiteStore, context: SearchContext) -> None:
    """Those of the tenant, and of nobody else."""
    with pytest.raises(InputError, match=r"has no collection 'docs'\. It has none yet"):
        retrieve("task", collection="docs", tenant="local", context=context)
    put(store, "mine", "my task")
    put(store, "theirs", "their task", scope=TenantScope("other", "private"))
    with pytest.raises(InputError, match=r"has no collection 'dosc'\. Known: docs\.$"):
        retrieve("task", collection="dosc", tenant="local", context=context)


@pytest.mark.parametrize("k", [0, 101])
def test_k_has_bounds(context: SearchContext, k: int) -> None:
    """The bounds are in the message."""
    with pytest.raises(InputError, match="1 to 100"):
        retrieve("task", collection="docs", tenant="local", k=k, context=context)


def test_a_question_needs_words(context: SearchContext) -> None:
    """As for a search."""
    with pytest.raises(InvalidQueryError):
        retrieve(" site:example.com ", collection="docs", tenant="local", context=context)


@pytest.mark.parametrize("name", ["", "x" * 201, "a\nb"])
def test_a_collection_needs_a_name(context: SearchContext, name: str) -> None:
    """A name that no collection can have is the caller's error."""
    with pytest.raises(InputError, match="collection needs 1 to 200 printable characters"):
        retrieve("task", collection=name, tenant="local", context=context)


def embedded(store: SQLiteStore, embedder: ScriptedEmbedder) -> None:
    store.collections.bind_embedder(SCOPE, embedder.fingerprint)
    vectors = asyncio.run(embedder.embed(TASKS)).vectors
    put(store, "asyncio", *TASKS, vectors=vectors)


def test_a_model_finds_what_words_do_not(store: SQLiteStore, context: SearchContext) -> None:
    """The collection's embedder takes part when it is there."""
    embedder = ScriptedEmbedder(synonyms={"sockets": "streams", "ingest": "read"})
    embedded(store, embedder)
    context = context.model_copy(update={"embeddings": embedder})
    found = retrieve("sockets ingest", collection="docs", tenant="local", context=context)
    assert found[0].text == TASKS[2]
    assert found[0].score > found[1].score


@pytest.mark.parametrize("given", ["lexical", ScriptedEmbedder(fingerprint="other:64")])
def test_another_embedder_is_refused(
    store: SQLiteStore, context: SearchContext, given: str | ScriptedEmbedder
) -> None:
    """The sentence names the one that is needed."""
    embedded(store, ScriptedEmbedder(fingerprint="first:64"))
    context = context.model_copy(update={"embeddings": given})
    says = r"filled with the embedder first:64.*collections reembed 'docs'"
    with pytest.raises(ConfigError, match=says):
        retrieve("task", collection="docs", tenant="local", context=context)


def test_a_collection_without_a_model_needs_none(
    store: SQLiteStore, context: SearchContext
) -> None:
    """It is searched by its words, whatever model is configured."""
    put(store, "asyncio", *TASKS)
    embedder = ScriptedEmbedder()
    context = context.model_copy(update={"embeddings": embedder})
    assert (
        retrieve("cancel", collection="docs", tenant="local", context=context)[0].text == TASKS[0]
    )
    assert embedder.calls == []


def test_a_failing_model_is_told(store: SQLiteStore, context: SearchContext) -> None:
    """Passages found by words alone would look like the full answer."""
    embedder = ScriptedEmbedder()
    embedded(store, embedder)
    embedder.errors.append(ModelError("overloaded"))
    context = context.model_copy(update={"embeddings": embedder})
    with pytest.raises(ModelError, match="overloaded"):
        retrieve("task", collection="docs", tenant="local", context=context)


class Scaled(ScriptedEmbedder):
    """The same model on another scale: each cosine becomes (1 + cosine) / 2."""

    async def embed(self, texts: Any) -> Embedded:
        vectors = (await super().embed(texts)).vectors / 2**0.5
        raised = np.full((len(texts), 1), 0.5**0.5, np.float32)
        return Embedded(np.hstack([vectors, raised]))


def test_scores_mean_the_same_for_every_model(store: SQLiteStore, context: SearchContext) -> None:
    """Two models that differ by their scale alone give the same passages and scores."""
    found = []
    for embedder in (ScriptedEmbedder(), Scaled(fingerprint="scaled:65")):
        store.collections.delete_collection(SCOPE)
        embedded(store, embedder)
        ours = context.model_copy(update={"embeddings": embedder})
        passages = retrieve("cancel a task", collection="docs", tenant="local", context=ours)
        found.append({one.text: one.score for one in passages})
    assert found[0] == pytest.approx(found[1], abs=0.2)
    assert max(found[0].values()) > 50


def test_words_are_compared_where_the_scale_is_lost(
    store: SQLiteStore, context: SearchContext, caplog: pytest.LogCaptureFixture
) -> None:
    """The anchors could not be embedded: the passages come, with a warning in the log."""

    class Anchorless(ScriptedEmbedder):
        async def embed(self, texts: Any) -> Embedded:
            if texts[0] in anchor_texts():
                raise ModelError("too many texts")
            return await super().embed(texts)

    embedder = Anchorless()
    embedded(store, embedder)
    ours = context.model_copy(update={"embeddings": embedder})
    found = retrieve("cancel a task", collection="docs", tenant="local", context=ours)
    [score] = [one.score for one in found if one.text == TASKS[0]]
    assert "too many texts" in caplog.text
    store.collections.delete_collection(SCOPE)
    put(store, "asyncio", *TASKS)
    by_words = retrieve("cancel a task", collection="docs", tenant="local", context=context)
    assert score == pytest.approx(by_words[0].score, abs=5)


def test_with_a_model_the_order_is_also_that_of_the_store(
    store: SQLiteStore, context: SearchContext
) -> None:
    """It knows how rare a word is in the whole collection; scores stay what they are."""
    embedder = ScriptedEmbedder(synonyms={"stop": "cancel", "job": "task"})
    store.collections.bind_embedder(SCOPE, embedder.fingerprint)
    texts = ["Stop a job.", "Cancel a task, or another task.", "A task runs.", "Cancel it at dawn."]
    for n, text in enumerate(texts):
        vectors = asyncio.run(embedder.embed([text])).vectors
        put(store, f"page{n}", text, vectors=vectors)
    ours = context.model_copy(update={"embeddings": embedder})
    question = "cancel a task at dawn"
    found = retrieve(question, collection="docs", tenant="local", context=ours)
    vector = asyncio.run(embedder.embed([question])).vectors
    stored = store.collections.search(SCOPE, question, vector=vector)
    pages = [PageText(one.document.title, one.chunk.text, one.document.url) for one in stored]
    by_words = {stored[one.index].chunk.text: one.heuristic_score for one in rank(question, pages)}
    standing = {
        one.chunk.text: by_words[one.chunk.text] + STORE_WEIGHT * one.score for one in stored
    }
    assert [one.text for one in found] == sorted(standing, key=lambda text: -standing[text])


def test_the_literal_profile_is_kept(store: SQLiteStore, context: SearchContext) -> None:
    """Raw cosines, as in a search: nothing is calibrated, and scores are others."""
    embedder = ScriptedEmbedder()
    embedded(store, embedder)
    scores = {}
    for profile in ("literal", "default"):
        ours = context.model_copy(update={"embeddings": embedder, "ranking_profile": profile})
        embedder.calls.clear()
        found = retrieve("cancel a task", collection="docs", tenant="local", context=ours)
        scores[profile] = next(one.score for one in found if one.text.startswith(TASKS[0]))
        assert (anchor_texts() in embedder.calls) is (profile == "default")
    question, passage = asyncio.run(embedder.embed(["cancel a task", TASKS[0]])).vectors
    page = PageText("Title of asyncio", TASKS[0], document("asyncio").url)
    [raw] = rank("cancel a task", [page], similarities=[question @ passage], profile="literal")
    assert scores["literal"] == pytest.approx(raw.embedding_rank_score, abs=0.01)
    assert scores["default"] > scores["literal"] + 5


@pytest.mark.parametrize("shape", [(0, 64), (2, 64), None], ids=["none", "two", "no numbers"])
def test_an_unusable_vector_is_told(
    store: SQLiteStore, context: SearchContext, shape: tuple[int, int] | None
) -> None:
    """It would order the passages by chance."""

    class Broken(ScriptedEmbedder):
        async def embed(self, texts: Any) -> Embedded:
            vectors = np.full((1, 64), np.nan) if shape is None else np.ones(shape)
            return Embedded(vectors.astype(np.float32))

    embedded(store, ScriptedEmbedder())
    ours = context.model_copy(update={"embeddings": Broken()})
    with pytest.raises(ModelError, match=r"gave ([02] vectors for 1 texts|vectors that hold NaN)"):
        retrieve("task", collection="docs", tenant="local", context=ours)


def test_an_endless_question_is_refused(context: SearchContext) -> None:
    """A pasted book is not searched for."""
    with pytest.raises(InputError, match="2000"):
        retrieve("word " * 500, collection="docs", tenant="local", context=context)


def test_a_collection_is_asked_with_the_embedder_that_it_remembers(
    tmp_path: Path, store: SQLiteStore
) -> None:
    """The settings need not name it; a caller who names another one is refused."""
    name = "openai:text-embedding-3-small"
    with OpenAIServer() as server:
        settings = Settings(home=tmp_path, openai_base_url=server.base_url)
        embedder = OpenAIEmbedder("text-embedding-3-small", base_url=server.base_url)
        vectors = asyncio.run(embedder.embed(TASKS)).vectors
        store.collections.bind_embedder(SCOPE, name)
        put(store, "asyncio", *TASKS, vectors=vectors)
        plain = SearchContext(settings=settings, store=store)
        question = "How do I cancel a task?"
        (first, *_) = retrieve(question, collection="docs", tenant="local", context=plain)
        assert first.text.startswith(TASKS[0])
        with pytest.raises(ConfigError, match="collections reembed"):
            retrieve(
                question,
                collection="docs",
                tenant="local",
                context=plain.model_copy(update={"embeddings": "lexical"}),
            )


def test_a_text_that_is_stored_twice_comes_once(store: SQLiteStore, context: SearchContext) -> None:
    """A redirect leads to the same page: its copy takes no other passage's place."""
    for name in ("asyncio", "moved", "latest"):
        put(store, name, *TASKS)
    put(store, "other", "Cancel a task from another task.")
    found = retrieve("cancel a task", collection="docs", tenant="local", k=3, context=context)
    assert {one.text for one in found} == {*TASKS[:2], "Cancel a task from another task."}
    assert [one.n for one in found] == [1, 2, 3]
    assert [one.score for one in found] == sorted((one.score for one in found), reverse=True)


def test_copies_count_as_one_document(store: SQLiteStore, context: SearchContext) -> None:
    """Else a page with copies would fill the answer, as one without them may not."""
    variants = [f"Cancel a task: variant {n} of cancelling a task." for n in range(9)]
    for name in ("long", "moved"):
        put(store, name, *apart(*variants))
    put(store, "short", "Cancel a task: another variant of cancelling a task.")
    found = retrieve("cancel a task", collection="docs", tenant="local", k=4, context=context)
    assert [one.url.rpartition("/")[2] == "short" for one in found].count(True) == 1


def test_many_copies_leave_k_filled(store: SQLiteStore, context: SearchContext) -> None:
    """More is asked for where the store's first chunks are all of one text."""
    for n in range(60):
        put(store, f"copy{n}", "Cancel a task, cancel a task, cancel a task.")
    for n in range(4):
        put(store, f"own{n}", f"A long text, number {n}, that says once how to cancel it.")
    found = retrieve("cancel a task", collection="docs", tenant="local", k=5, context=context)
    assert len({one.text for one in found}) == len(found) == 5


def test_the_same_words_of_different_documents_are_two(
    store: SQLiteStore, context: SearchContext
) -> None:
    """They are two sources that say the same."""
    put(store, "first", TASKS[0], "First.")
    put(store, "second", TASKS[0], "Second.")
    found = retrieve("cancel a task", collection="docs", tenant="local", context=context)
    assert [one.text for one in found].count(TASKS[0]) == 2
