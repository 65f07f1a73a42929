"""`collection-search ask`: passages of a collection."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from support.scripted_world import QUESTION

from collection_search.settings.process_defaults import process_settings
from collection_search.testing import OpenAIServer, OtlpServer

if TYPE_CHECKING:
    from support.command_line import Invoke


@pytest.fixture
def filled(run: Invoke) -> None:
    """A collection `py` of the tenant `local`."""
    assert run("--auto-ingest").code == 0


@pytest.mark.slow
@pytest.mark.usefixtures("filled")
def test_passages_are_numbered_with_their_sources(command: Invoke) -> None:
    """Each passage has its number, title, address and text."""
    ended = command("ask", QUESTION, "--collection", "py", "--k", "2")
    assert ended.code == 0
    assert ended.err == ""
    assert "[1] asyncio — How to cancel" in ended.out
    assert "[3]" not in ended.out
    assert ended.out.count("https://docs.example.com/") == 2
    assert max(map(len, ended.out.splitlines())) <= 80


@pytest.mark.slow
@pytest.mark.usefixtures("filled")
def test_json_has_the_specified_form(command: Invoke) -> None:
    """Question, collection, passages with their provenance, and no answer without a model."""
    answer = command("ask", QUESTION, "--collection", "py", "--json").json
    assert answer.keys() == {"question", "collection", "passages", "answer"}
    assert (answer["question"], answer["collection"]) == (QUESTION, "py")
    assert answer["answer"] is None
    keys = {"n", "url", "title", "text", "score", "provenance"}
    assert all(passage.keys() == keys for passage in answer["passages"])
    assert answer["passages"][0]["provenance"]["question"] == QUESTION


@pytest.mark.slow
@pytest.mark.usefixtures("filled")
def test_a_question_without_an_answer_ends_with_3(command: Invoke) -> None:
    """No passage shares a word: an empty list in JSON, a sentence on stderr, exit code 3."""
    ended = command("ask", "qzxv jwkpf", "--collection", "py", "--json")
    assert ended.code == 3
    assert ended.json["passages"] == []
    assert "No passage" in ended.complaints[0]


@pytest.mark.slow
@pytest.mark.usefixtures("filled")
def test_another_tenants_collection_does_not_exist(command: Invoke) -> None:
    """A collection is known to its own tenant only."""
    ended = command("ask", QUESTION, "--collection", "py", "--tenant", "acme")
    assert ended.code == 2
    assert "'acme' has no collection 'py'" in ended.complaints[0]


def test_a_collection_without_documents_says_so(command: Invoke) -> None:
    """Other words would not help: its pages wait to be fetched."""
    from collection_search import Settings
    from collection_search.adapters.stores.sqlite import SQLiteStore
    from collection_search.contracts.collection import TenantScope
    from collection_search.contracts.ingestion import IngestionItem, IngestionRequest

    store = SQLiteStore.from_settings(Settings.load())
    page = IngestionItem("https://example.com/1", "example.com/1", "Page")
    store.ledger.enqueue(IngestionRequest(TenantScope("local", "web"), [page]))
    store.close()
    ended = command("ask", "What is asyncio?", "--collection", "web")
    assert ended.code == 3
    assert "holds no documents. 1 page waits" in ended.complaints[0]


@pytest.mark.slow
def test_a_collection_whose_pages_failed_says_so(run: Invoke, command: Invoke) -> None:
    """No worker helps them: the command that tells why is named, and nothing else."""
    import sqlite3

    from collection_search.settings.process_defaults import process_settings

    run("--auto-ingest", "--no-wait", "--top-k", "2")
    with sqlite3.connect(process_settings().collections_path) as database:
        database.execute("DELETE FROM staged")
    database.close()
    command("worker", "--once")
    (complaint,) = command("ask", QUESTION, "--collection", "py").complaints
    assert "2 pages could not be ingested: 'collection-search ingest failed --" in complaint
    assert "worker" not in complaint


@pytest.mark.slow
def test_the_embedding_of_the_question_reaches_langfuse(
    run: Invoke, command: Invoke, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Before the command ends, with its cost."""
    with OpenAIServer() as models, OtlpServer() as langfuse:
        monkeypatch.setenv("OPENAI_API_KEY", "sk-of-the-test")
        monkeypatch.setenv("OPENAI_BASE_URL", models.base_url)
        process_settings.cache_clear()
        embedder = ("--embeddings", "openai:text-embedding-3-small")
        assert run("--auto-ingest", *embedder, "--top-k", "3").code == 0
        monkeypatch.setenv("LANGFUSE_PUBLIC_KEY", "pk-lf-ask")
        monkeypatch.setenv("LANGFUSE_SECRET_KEY", "sk-lf-ask")
        monkeypatch.setenv("LANGFUSE_BASE_URL", langfuse.base_url)
        process_settings.cache_clear()
        assert command("ask", QUESTION, "--collection", "py").code == 0
        (span,) = langfuse.spans
    assert span.name == "embedding"
    assert span.attributes["langfuse.observation.type"] == "embedding"
    assert span.cost_usd is not None
    assert span.cost_usd > 0
