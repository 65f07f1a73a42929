"""What collections cost at an embedder: asked, embedded anew, filled by pages and by texts."""

from __future__ import annotations

import asyncio
import sys
from typing import TYPE_CHECKING, Any

import pytest
from support.scrapes import scrape

from collection_search import Settings
from collection_search.adapters.metrics.prometheus import PrometheusMetrics
from collection_search.adapters.stores.sqlite import SQLiteStore
from collection_search.adapters.stores.sqlite.usage import SQLiteUsage
from collection_search.cassette import Cassette
from collection_search.context import SearchContext
from collection_search.contracts.collection import TenantScope
from collection_search.contracts.ingestion import IngestionItem, IngestionRequest
from collection_search.contracts.price_list import LIST_PRICES
from collection_search.contracts.prices import total_cost
from collection_search.errors import ModelError, StoreError
from collection_search.ranking.calibration import scale_of
from collection_search.testing import ScriptedEmbedder
from collection_search.testing.stores.suite import chunks, document
from collection_search.tools import reembed as module
from collection_search.tools.ingest import IngestionEngine, LedgerTrigger
from collection_search.tools.ingestion.embedders import embed_texts
from collection_search.tools.langchain.vector_store import CollectionVectorStore
from collection_search.tools.reembed import reembed
from collection_search.tools.retrieve import retrieve
from collection_search.tools.spending.account import Account
from collection_search.tools.spending.spend_writer import spend_writer
from collection_search.tools.tickets import wait

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from pathlib import Path

    from collection_search.ports.usage import SpendEntry

SCOPE = TenantScope("acme", "docs")
NAME = "openai:text-embedding-3-small"
FREE = "local:a-model"
WORDS = 5  # of "Title of page" and "Passage 1."
"""Tokens of a passage with the title of its page."""


class Books(SQLiteUsage):
    """Knows every entry."""

    entries: list[SpendEntry]

    def __init__(self, path: Path) -> None:
        super().__init__(path)
        self.entries = []

    def add(self, entries: Iterable[SpendEntry]) -> None:
        new = list(entries)
        self.entries += new
        super().add(new)

    def clear(self) -> None:
        """Forget the entries so far, those that are not written yet included."""
        spend_writer().flush()
        self.entries.clear()

    def told(self) -> list[tuple[str, str, str, str, int, Any]]:
        """Return what each entry says, once all are written."""
        spend_writer().flush()
        return [
            (one.tenant_id, one.run_id, one.kind, one.name, one.input_tokens, one.cost_usd)
            for one in self.entries
        ]


class Full(SQLiteUsage):
    """Takes nothing."""

    def add(self, entries: Iterable[SpendEntry]) -> None:
        raise StoreError("usage.db cannot grow: the disk is full.")


@pytest.fixture
def store(tmp_path: Path) -> Iterator[SQLiteStore]:
    store = SQLiteStore(tmp_path / "collections.db")
    yield store
    store.close()


@pytest.fixture
def books(tmp_path: Path) -> Books:
    return Books(tmp_path / "books.db")


@pytest.fixture
def context(tmp_path: Path, store: SQLiteStore, books: Books) -> SearchContext:
    return SearchContext(
        settings=Settings(home=tmp_path),
        store=store,
        usage_store=books,
        embeddings=ScriptedEmbedder(fingerprint=NAME),
    )


def entry(tokens: int, run_id: str = "run-1", tenant: str = "acme") -> tuple[Any, ...]:
    return tenant, run_id, "embedding", NAME, tokens, LIST_PRICES.embedding_cost(NAME, tokens)


def filled(store: SQLiteStore, *texts: str) -> None:
    store.collections.replace_document(SCOPE, document("page"), chunks(*texts))


def embedded(store: SQLiteStore, context: SearchContext, *texts: str) -> None:
    embedder: Any = context.embeddings
    store.collections.bind_embedder(SCOPE, embedder.fingerprint)
    vectors = asyncio.run(embedder.embed(texts)).vectors
    store.collections.replace_document(SCOPE, document("page"), chunks(*texts, vectors=vectors))


def measure_anchors(context: SearchContext) -> None:
    """Let no call of the test be the first one of its embedder."""
    embedder: Any = context.embeddings
    asyncio.run(scale_of(embedder, folder=context.using().home))


def pages(store: SQLiteStore, provenance: dict[str, Any], *texts: str) -> IngestionRequest:
    refs = store.staging.put(SCOPE.tenant_id, texts)
    urls = [f"https://example.com/{n}" for n in range(len(refs))]
    items = [
        IngestionItem(url, url.removeprefix("https://"), "Page", ref, provenance)
        for url, ref in zip(urls, refs, strict=True)
    ]
    return IngestionRequest(SCOPE, items)


def ask(context: SearchContext, question: str = "green tea") -> Any:
    return retrieve(question, collection="docs", tenant="acme", context=context)


def ingest(context: SearchContext, request: IngestionRequest) -> None:
    async def triggered() -> Any:
        return await (await LedgerTrigger.of(context)).trigger(request)

    status = wait(asyncio.run(triggered()), 60, context=context)
    assert [row.error for row in status.rows] == [None] * len(request.items)


def test_a_question_is_in_the_books(
    store: SQLiteStore, context: SearchContext, books: Books
) -> None:
    """Of the tenant who asks, in the name of the run, else under an id of its own."""
    embedded(store, context, "Green tea.", "Black tea.")
    measure_anchors(context)
    assert ask(context.model_copy(update={"run_id": "run-1"}))
    assert books.told() == [entry(2)]
    for _ in range(2):
        ask(context)
    ids = [run_id for _, run_id, *_ in books.told()]
    assert len(set(ids)) == 3


def test_each_part_of_a_change_is_in_the_books(
    store: SQLiteStore, context: SearchContext, books: Books
) -> None:
    """One run; together they are what the call returns."""
    filled(store, *(f"Passage {n}." for n in range(module.BATCH + 1)))
    done = reembed("docs", tenant="acme", context=context)
    told = books.told()
    assert len({run_id for _, run_id, *_ in told}) == 1
    assert told == [entry(WORDS * module.BATCH, told[0][1]), entry(WORDS, told[0][1])]
    assert done.cost_usd == total_cost(one[-1] for one in told)


def test_a_part_that_was_paid_for_before_a_failure_is_in_the_books(
    store: SQLiteStore, context: SearchContext, books: Books
) -> None:
    """The one that failed may be on the bill as well: its price is not known."""

    class Failing(ScriptedEmbedder):
        async def embed(self, texts: Any) -> Any:
            if self.calls:
                raise ModelError("overloaded")
            return await super().embed(texts)

    filled(store, *(f"Passage {n}." for n in range(module.BATCH + 1)))
    context.embeddings = Failing(fingerprint=NAME)
    with pytest.raises(ModelError, match="overloaded"):
        reembed("docs", tenant="acme", context=context)
    assert [one[-1] for one in books.told()] == [
        LIST_PRICES.embedding_cost(NAME, WORDS * module.BATCH),
        None,
    ]


def test_pages_are_in_the_books_of_the_run_that_chose_them(
    store: SQLiteStore, context: SearchContext, books: Books
) -> None:
    """Of the tenant of their collection; without a run they have an id of their own."""
    request = pages(store, {"run_id": "run-1"}, "Green tea.", "Black tea is strong.")
    for page in request.items:  # one after the other: pages of one run may share a call
        ingest(context, IngestionRequest(request.scope, [page]))
    assert sorted(books.told()) == [entry(3), entry(5)]
    books.clear()
    ingest(context, pages(store, {}, "White tea.", "Tea."))
    told = books.told()
    assert sorted(one[-2] for one in told) == [2, 3]
    assert len({run_id for _, run_id, *_ in told} - {"", "run-1"}) == 2


def test_an_engine_of_its_own_has_the_books_of_the_settings(
    tmp_path: Path, store: SQLiteStore
) -> None:
    """Nobody told it of others."""
    embedder = ScriptedEmbedder(fingerprint=NAME)
    store.collections.bind_embedder(SCOPE, NAME)
    store.ledger.enqueue(pages(store, {"run_id": "run-1"}, "Green tea."))
    assert IngestionEngine(store, Settings(home=tmp_path), embedder=embedder).drain(timeout_s=60)
    spend_writer().flush()
    total = SQLiteUsage(tmp_path / "usage.db").run_total("acme", "run-1")
    assert (total.requests, total.input_tokens) == (1, 2)


def test_texts_and_questions_of_langchain_are_in_the_books(
    context: SearchContext, books: Books
) -> None:
    """As those of any other caller."""
    ours = context.model_copy(update={"run_id": "run-1"})
    faces = CollectionVectorStore("docs", tenant="acme", context=ours)
    faces.add_texts(["Green tea.", "Black tea is strong."])
    assert faces.similarity_search("black tea leaves", k=1)
    assert books.told() == [entry(6), entry(3)]


def test_what_is_free_is_in_no_books(
    store: SQLiteStore, context: SearchContext, books: Books
) -> None:
    """Neither a model of this machine nor words."""
    for embeddings in (ScriptedEmbedder(fingerprint=FREE), "lexical"):
        ours = context.model_copy(update={"embeddings": embeddings})
        store.collections.delete_collection(SCOPE)
        ingest(ours, pages(store, {}, "Green tea."))
        assert ask(ours)
    filled(store, "Green tea.")
    reembed(
        "docs",
        tenant="acme",
        context=context.model_copy(update={"embeddings": ScriptedEmbedder(fingerprint=FREE)}),
    )
    assert books.told() == []


def test_an_unknown_number_of_tokens_is_an_unknown_price(
    store: SQLiteStore, context: SearchContext, books: Books
) -> None:
    """The bill is higher than the sum, which says so."""

    class Silent(ScriptedEmbedder):
        async def embed(self, texts: Any) -> Any:
            answer = await super().embed(texts)
            return type(answer)(answer.vectors)

    context.embeddings = Silent(fingerprint=NAME)
    embedded(store, context, "Green tea.")
    measure_anchors(context)
    ask(context)
    assert [one[-2:] for one in books.told()] == [(0, None)]
    [total] = books.totals("acme", by="name")
    assert (total.group, total.requests, total.unpriced) == (NAME, 1, 1)


def test_books_that_fail_do_not_fail_the_work(
    tmp_path: Path, store: SQLiteStore, context: SearchContext, caplog: pytest.LogCaptureFixture
) -> None:
    """A warning is all that is left of it."""
    ours = context.model_copy(update={"usage_store": Full(tmp_path / "full.db")})
    ingest(ours, pages(store, {}, "Green tea."))
    assert ask(ours)
    ours.embeddings = ScriptedEmbedder(fingerprint="openai:text-embedding-3-large")
    assert reembed("docs", tenant="acme", context=ours).chunks == 1
    spend_writer().flush()
    assert "the disk is full" in caplog.text


def test_what_is_replayed_is_in_no_books(
    tmp_path: Path, store: SQLiteStore, context: SearchContext
) -> None:
    """Nobody is paid for it; the recorded one is."""
    tape, usage = tmp_path / "tape.jsonl", tmp_path / "usage.db"
    plain = context.model_copy(update={"usage_store": None})
    for cassette in (Cassette.record(tape), Cassette.replay(tape)):
        ours = plain.model_copy(update={"cassette": cassette})
        if cassette.replays:
            ours.embeddings = None
        store.collections.delete_collection(SCOPE)
        ingest(ours, pages(store, {"run_id": "run-1"}, "Green tea."))
        spend_writer().flush()
        assert SQLiteUsage(usage).run_total("acme", "run-1").requests == 1


def test_other_models_go_on_costing_beside_a_replay(
    tmp_path: Path, store: SQLiteStore, context: SearchContext, books: Books
) -> None:
    """The process has one engine for both."""
    tape = tmp_path / "tape.jsonl"
    recorded = context.model_copy(update={"cassette": Cassette.record(tape)})
    recorded.embeddings = ScriptedEmbedder(fingerprint="openai:text-embedding-3-large")
    ingest(recorded, pages(store, {}, "Green tea."))
    store.collections.delete_collection(SCOPE)
    books.clear()
    engine = IngestionEngine(store, context.using())
    engine.add_embedder(asyncio.run(context.embedder()), context)
    replayed = context.model_copy(update={"cassette": Cassette.replay(tape), "embeddings": None})
    engine.add_embedder(asyncio.run(replayed.embedder()), replayed)
    store.collections.bind_embedder(SCOPE, NAME)
    store.ledger.enqueue(pages(store, {"run_id": "run-1"}, "Green tea."))
    assert engine.drain(timeout_s=60)
    assert books.told() == [entry(2)]


def test_metrics_count_embeddings_outside_a_run(store: SQLiteStore, context: SearchContext) -> None:
    """Of a question and of pages, what is free included."""
    metrics = PrometheusMetrics("p_")
    context = context.model_copy(update={"search_metrics": metrics})
    embedded(store, context, "Green tea.")
    measure_anchors(context)

    def tokens(name: str = "text-embedding-3-small") -> float | None:
        labels = {"kind": "embedding", "name": name, "direction": "input"}
        return scrape(metrics.app()).value("p_tokens_total", **labels)

    assert ask(context)
    assert tokens() == 2
    ingest(context, pages(store, {}, "Black tea is an oxidised tea. " * 20))
    assert (tokens() or 0) > 100
    free = context.model_copy(update={"embeddings": ScriptedEmbedder(fingerprint=FREE)})
    asyncio.run(embed_texts(free.embeddings, ["white tea"], account=Account(free, free.ids())))
    assert tokens("a-model") == 2
    labels = {"kind": "embedding", "name": "a-model"}
    assert scrape(metrics.app()).value("p_cost_usd_total", **labels) == 0.0


def test_a_question_is_answered_without_the_extra_of_metrics(
    store: SQLiteStore,
    context: SearchContext,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    """It was embedded and is paid: that it cannot be counted is a warning."""
    embedded(store, context, "Green tea.")
    measure_anchors(context)
    settings = context.using().model_copy(update={"metrics": True, "metrics_prefix": "absent_"})
    monkeypatch.delitem(sys.modules, "collection_search.adapters.metrics.prometheus")
    monkeypatch.setitem(sys.modules, "prometheus_client", None)
    assert ask(context.model_copy(update={"settings": settings}))
    [record] = caplog.records
    assert "what the models cost is not counted: Metrics need an extra" in record.message
