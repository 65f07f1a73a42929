"""The public functions are even: coroutines beside them, one tenant, wrong types told."""

from __future__ import annotations

import asyncio
import inspect
from typing import TYPE_CHECKING, Any

import pytest

import collection_search as package
from collection_search import (
    CollectionRetriever,
    CollectionSearchGraph,
    CollectionVectorStore,
    InputError,
    SearchContext,
    Settings,
    Ticket,
    UniversalIngestionGraph,
    WebSearchService,
    WebSearchWorker,
)
from collection_search.contracts.collection import TenantScope
from collection_search.contracts.ingestion import IngestionItem, IngestionRequest
from collection_search.testing import ScriptedAdapter
from collection_search.testing.stores.suite import chunks, document
from collection_search.tools import ingest as ingest_module
from collection_search.tools import removal

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from collection_search.adapters.stores.sqlite import SQLiteStore

PAIRS = {
    "answer": "aanswer",
    "ingest": "aingest",
    "read_page": "aread_page",
    "reembed": "areembed",
    "refresh": "arefresh",
    "retrieve": "aretrieve",
    "verify_coverage": "averify_coverage",
    "wait": "await_ticket",
}
"""The public functions that wait, with their coroutines."""
OF_MODELS = {
    "anthropic_tool",
    "answer_anthropic_call",
    "answer_openai_call",
    "call_function",
    "openai_tool",
}
"""Definitions for models, and answers to their calls: these are coroutines and never raise."""
WITHOUT_TENANT = {"read_page", "aread_page"}
"""They touch no collection."""
FUNCTIONS = {
    **{name: getattr(package, name) for pair in PAIRS.items() for name in pair},
    "delete_tenant": removal.delete_tenant,
    "adelete_tenant": removal.adelete_tenant,
    "purge": removal.purge,
    "apurge": removal.apurge,
    "find_pages": ingest_module.find_pages,
    "afind_pages": ingest_module.afind_pages,
}
URL = "https://docs.example.org/"
TICKET = Ticket(ticket_id="t", tenant_id="acme", collection="docs", count=1)

WRONG: list[tuple[str, tuple[Any, ...], dict[str, Any], str]] = [
    ("retrieve", (None,), {"collection": "docs"}, "question"),
    ("retrieve", ("tea",), {"collection": None}, "collection"),
    ("retrieve", ("tea",), {"collection": b"docs"}, "collection"),
    ("retrieve", ("tea",), {"collection": "docs", "k": "5"}, "k"),
    ("retrieve", ("tea",), {"collection": "docs", "k": True}, "k"),
    ("retrieve", ("tea",), {"collection": "docs", "tenant": 3}, "tenant"),
    ("retrieve", ("tea",), {"collection": "docs", "tenant": " "}, "tenant"),
    ("retrieve", ("tea",), {"collection": "docs", "context": {"tenant_id": "a"}}, "context"),
    ("retrieve", ("tea",), {"collection": "docs", "filters": 5}, "filters must be a mapping"),
    ("retrieve", ("tea",), {"collection": "docs", "filters": "x"}, "filters must be a mapping"),
    ("retrieve", ("tea",), {"collection": "docs", "filters": 0}, "filters must be a mapping"),
    ("answer", (None,), {"collection": "docs"}, "question"),
    ("answer", ("tea",), {"collection": 3}, "collection"),
    ("answer", ("tea",), {"collection": "docs", "k": 0.5}, "k"),
    ("answer", ("tea",), {"collection": "docs", "tenant": 3}, "tenant"),
    ("answer", ("tea",), {"collection": "docs", "context": 3}, "context"),
    ("ingest", (None,), {"collection": "docs"}, "urls"),
    ("ingest", ({URL: 1},), {"collection": "docs"}, "urls"),
    ("ingest", ([1],), {"collection": "docs"}, "urls"),
    ("ingest", ([URL],), {"collection": 3}, "collection"),
    ("ingest", ([URL],), {"collection": "docs", "tenant": 3}, "tenant"),
    ("ingest", ([URL],), {"collection": "docs", "depth": "1"}, "depth"),
    ("ingest", ([URL],), {"collection": "docs", "max_pages": 1.5}, "max_pages"),
    ("ingest", ([URL],), {"collection": "docs", "work": "no"}, "work"),
    ("ingest", ([URL],), {"collection": "docs", "context": 3}, "context"),
    ("ingest", (), {"session": 3}, "session"),
    ("find_pages", (3,), {"depth": 1}, "urls"),
    ("find_pages", ([URL],), {"depth": None}, "depth"),
    ("find_pages", ([URL],), {"depth": 1, "on_found": 3}, "on_found"),
    ("find_pages", ([URL],), {"depth": 1, "context": 3}, "context"),
    ("wait", (3,), {}, "ticket"),
    ("wait", (None,), {}, "no ingestion was started. The run's `outcome` says why"),
    ("wait", (TICKET,), {"timeout_s": "1"}, "timeout_s"),
    ("wait", (TICKET,), {"timeout_s": float("nan")}, "timeout_s"),
    ("wait", ("t",), {"tenant": 3}, "tenant"),
    ("wait", (TICKET,), {"tenant": "other"}, "acme"),
    ("wait", (TICKET,), {"context": 3}, "context"),
    ("wait", (TICKET,), {"work": None}, "work"),
    ("wait", (TICKET,), {"on_progress": 3}, "on_progress"),
    ("verify_coverage", (None,), {"collection": "docs"}, "question"),
    ("verify_coverage", ("tea",), {"collection": 3}, "collection"),
    ("verify_coverage", ("tea",), {"collection": "docs", "queries": "tea"}, "queries"),
    ("verify_coverage", ("tea",), {"collection": "docs", "tenant": 3}, "tenant"),
    ("verify_coverage", ("tea",), {"collection": "docs", "ticket": 3}, "ticket"),
    ("verify_coverage", ("tea",), {"collection": "docs", "context": 3}, "context"),
    ("verify_coverage", ("tea",), {"collection": "docs", "on_progress": 3}, "on_progress"),
    ("refresh", (3,), {}, "collection"),
    ("refresh", ("docs",), {"tenant": 3}, "tenant"),
    ("refresh", ("docs",), {"context": 3}, "context"),
    ("refresh", ("docs",), {"ask": "yes"}, "ask"),
    ("refresh", ("docs",), {"timeout_s": None}, "timeout_s"),
    ("refresh", ("docs",), {"on_progress": "bar"}, "on_progress"),
    ("reembed", (3,), {}, "collection"),
    ("reembed", ("docs",), {"tenant": 3}, "tenant"),
    ("reembed", ("docs",), {"context": 3}, "context"),
    ("reembed", ("docs",), {"on_progress": 3}, "on_progress"),
    ("read_page", (3,), {}, "url"),
    ("read_page", (URL,), {"context": 3}, "context"),
    ("delete_tenant", (None,), {}, "context"),
    ("delete_tenant", (3,), {}, "context"),
    ("purge", (None, 1.0), {}, "context"),
    ("purge", (SearchContext(), "1"), {}, "older_than_s"),
]
WRONG += [(PAIRS.get(name, f"a{name}"), args, kwargs, named) for name, args, kwargs, named in WRONG]
CALL: dict[str, Any] = {
    "scope": {"tenant_id": "a", "trace_id": "t", "invocation_id": "i", "run_id": "r"}
}
WRONG_METHODS: dict[str, Callable[[], Any]] = {
    "graph context": lambda: CollectionSearchGraph(3),  # type: ignore[arg-type]
    "graph input": lambda: CollectionSearchGraph().run(3),  # type: ignore[arg-type]
    "ingestion context": lambda: UniversalIngestionGraph("x"),  # type: ignore[arg-type]
    "ingestion input": lambda: UniversalIngestionGraph().run(None),  # type: ignore[arg-type]
    "service settings": lambda: WebSearchService(3),  # type: ignore[arg-type]
    "service tenant": lambda: WebSearchService(Settings(), tenant=3),  # type: ignore[arg-type]
    "service reader": lambda: WebSearchService(Settings(), reader=3),  # type: ignore[arg-type]
    "service provider": lambda: WebSearchService(Settings()).initialize("k", 3),  # type: ignore[arg-type]
    "worker adapter": lambda: WebSearchWorker(None),  # type: ignore[arg-type]
    "worker class": lambda: WebSearchWorker(ScriptedAdapter),  # type: ignore[arg-type]
    "worker context": lambda: worker().run(query="tea", context=3),  # type: ignore[arg-type]
    "worker options": lambda: worker().run(query="tea", context=CALL, options=3),  # type: ignore[arg-type]
    "store name": lambda: CollectionVectorStore(3),  # type: ignore[arg-type]
    "store tenant": lambda: CollectionVectorStore("docs", tenant=3),  # type: ignore[arg-type]
    "store context": lambda: CollectionVectorStore("docs", context=3),  # type: ignore[arg-type]
    "store query": lambda: docs().similarity_search(3),  # type: ignore[arg-type]
    "store filter": lambda: docs().similarity_search("tea", filter="x"),  # type: ignore[arg-type]
    "store k": lambda: docs().similarity_search("tea", k="3"),  # type: ignore[arg-type]
    "store vector": lambda: docs().similarity_search_by_vector("tea"),  # type: ignore[arg-type]
    "store text": lambda: docs().add_texts("tea"),
    "store texts": lambda: docs().add_texts([3]),  # type: ignore[list-item]
    "store metadatas": lambda: docs().add_texts(["tea"], 3),  # type: ignore[arg-type]
    "store ids": lambda: docs().delete([3]),  # type: ignore[list-item]
    "store get": lambda: docs().get_by_ids(3),  # type: ignore[arg-type]
    "retriever question": lambda: CollectionRetriever(collection="docs").invoke(3),  # type: ignore[arg-type]
}


def worker() -> WebSearchWorker:
    return WebSearchWorker(ScriptedAdapter())


def docs() -> CollectionVectorStore:
    return CollectionVectorStore("docs")


def context_of(store: SQLiteStore, home: Path, **own: Any) -> SearchContext:
    return SearchContext(settings=Settings(home=home, tenant="house"), store=store, **own)


def put(store: SQLiteStore, tenant: str) -> None:
    text = f"Tea of {tenant}."
    store.collections.replace_document(
        TenantScope(tenant, "docs"), document("tea", text), chunks(text)
    )


def call(name: str, *args: Any, **kwargs: Any) -> Any:
    answer = FUNCTIONS[name](*args, **kwargs)
    return asyncio.run(answer) if inspect.iscoroutine(answer) else answer


@pytest.mark.parametrize(("name", "args", "kwargs", "named"), WRONG)
def test_a_wrong_type_is_an_input_error(
    name: str, args: tuple[Any, ...], kwargs: dict[str, Any], named: str
) -> None:
    """The argument is named, before anything is opened or sent."""
    with pytest.raises(InputError, match=named):
        call(name, *args, **kwargs)


@pytest.mark.parametrize("case", WRONG_METHODS)
def test_a_wrong_type_for_a_class_is_an_input_error(case: str) -> None:
    """The same holds for what classes are made of and for their methods."""
    with pytest.raises(InputError):
        WRONG_METHODS[case]()


def test_every_public_function_that_waits_has_a_coroutine() -> None:
    """A new one in `__all__` has to stand in the table, with its coroutine."""
    functions = {name for name in package.__all__ if inspect.isfunction(getattr(package, name))} - {
        "build_graph",
        "make_metrics_app",
        "metrics_collectors",
        "relieve_collector",
        "write_metrics",
    }
    assert functions - OF_MODELS == {*PAIRS, *PAIRS.values()}


@pytest.mark.parametrize(("blocking", "awaited"), PAIRS.items())
def test_a_pair_has_one_signature(blocking: str, awaited: str) -> None:
    """Names, defaults and types are the same; each says of the other that it is there."""
    one, other = FUNCTIONS[blocking], FUNCTIONS[awaited]
    assert inspect.iscoroutinefunction(other)
    assert not inspect.iscoroutinefunction(one)
    assert inspect.signature(one) == inspect.signature(other)
    assert one.__name__ == blocking
    assert f"`{awaited}`" in one.__doc__
    assert f"`{blocking}`" in other.__doc__


@pytest.mark.parametrize("name", sorted({*PAIRS, *PAIRS.values()} - WITHOUT_TENANT))
def test_the_tenant_is_optional_everywhere(name: str) -> None:
    """A keyword without a need for it."""
    tenant = inspect.signature(FUNCTIONS[name]).parameters["tenant"]
    assert (tenant.kind, tenant.default) == (tenant.KEYWORD_ONLY, None)


def test_the_tenant_is_the_contexts_else_that_of_the_settings(
    store: SQLiteStore, tmp_path: Path
) -> None:
    """The one that is given, else the context's, else the settings': for passages and tickets."""
    for tenant in ("house", "acme"):
        put(store, tenant)
    house, acme = context_of(store, tmp_path), context_of(store, tmp_path, tenant_id="acme")

    def found(**whose: Any) -> str:
        return call("retrieve", "tea", collection="docs", **whose)[0].text

    assert found(context=house) == "Tea of house."
    assert found(context=acme) == "Tea of acme."
    assert found(context=house, tenant="acme") == "Tea of acme."
    retriever = CollectionRetriever(collection="docs", search_context=house)
    assert retriever.invoke("tea")[0].page_content == "Tea of house."
    vectors = CollectionVectorStore("docs", context=house)
    assert vectors.similarity_search("tea")[0].page_content == "Tea of house."
    report = call("refresh", "docs", context=house, ask=False)
    assert report.not_looked_at == ["https://example.com/tea"]


@pytest.mark.parametrize("name", ["wait", "await_ticket"])
def test_a_ticket_by_its_id_is_the_settings_tenants(
    store: SQLiteStore, tmp_path: Path, name: str
) -> None:
    """The id alone is enough for one's own ticket; another tenant's is not seen."""
    ref = store.staging.put("house", ["tea"])[0]
    item = IngestionItem("https://example.com/tea", "example.com/tea", "Tea", ref)
    request = IngestionRequest(TenantScope("house", "docs"), [item])
    ticket = store.ledger.enqueue(request)
    house, seen = context_of(store, tmp_path), []
    status = call(name, ticket.ticket_id, 60, context=house, on_progress=seen.append)
    assert (status.stored, seen[-1]) == (1, status)
    acme = context_of(store, tmp_path, tenant_id="acme")
    with pytest.raises(InputError, match="There is no ticket"):
        call(name, ticket.ticket_id, 1, context=acme)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "args"),
    [
        ("retrieve", ("tea",)),
        ("ingest", ([URL],)),
        ("wait", ("t",)),
        ("wait", (TICKET,)),
        ("refresh", ("docs",)),
        ("reembed", ("docs",)),
        ("delete_tenant", ()),
        ("purge", ()),
    ],
)
def test_a_tenant_that_contradicts_the_context_is_refused(
    store: SQLiteStore, tmp_path: Path, name: str, args: tuple[Any, ...]
) -> None:
    """Nobody reads another tenant's pages by a slip."""
    whose: dict[str, Any] = {"context": context_of(store, tmp_path, tenant_id="other")}
    whose |= {"tenant": "acme"} if TICKET not in args else {}
    whose |= {"collection": "docs"} if name in {"retrieve", "ingest"} else {}
    whose |= {"older_than_s": 1.0} if name == "purge" else {}
    with pytest.raises(InputError, match=r"'acme'.*'other'"):
        call(name, *args, **whose)


@pytest.mark.slow
async def test_a_ticket_is_awaited_without_holding_up_the_loop(
    store: SQLiteStore, tmp_path: Path
) -> None:
    """Other tasks go on meanwhile, and the wait can be cancelled."""
    ref = store.staging.put("house", ["tea"])[0]
    item = IngestionItem("https://example.com/tea", "example.com/tea", "Tea", ref)
    ticket = store.ledger.enqueue(IngestionRequest(TenantScope("house", "docs"), [item]))
    house = context_of(store, tmp_path)
    with pytest.raises(TimeoutError):
        async with asyncio.timeout(0.3):
            await package.await_ticket(ticket, 60, context=house, work=False)
    assert (await package.await_ticket(ticket, 60, context=house)).stored == 1
