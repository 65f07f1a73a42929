"""`collection-search ask`: passages of a collection."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from support.scripted_world import QUESTION

from collection_search.contracts.answer import UNSUPPORTED_MARK
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
def test_pages_are_shown_with_their_best_lines(command: Invoke) -> None:
    """Each with the numbers of its passages, title, address and text, in a pipe too."""
    ended = command("ask", QUESTION, "--collection", "py", "--k", "2")
    assert ended.code == 0
    assert ended.err == ""
    assert "[1] asyncio — How to cancel" in ended.out
    assert "[3]" not in ended.out
    assert ended.out.count("https://docs.example.com/") == 2
    assert max(map(len, ended.out.splitlines())) <= 80
    assert len(ended.out.splitlines()) <= 24
    assert "\x1b" not in ended.out
    full = command("ask", QUESTION, "--collection", "py", "--k", "2", "--full")
    assert len(full.out) >= len(ended.out)


@pytest.mark.slow
@pytest.mark.usefixtures("filled")
def test_json_has_the_specified_form(command: Invoke) -> None:
    """Question, collection, passages with their provenance, and no answer without a model."""
    answer = command("ask", QUESTION, "--collection", "py", "--json").json
    assert answer.keys() == {
        *("question", "collection", "passages", "answering", "answer", "notices")
    }
    assert (answer["question"], answer["collection"]) == (QUESTION, "py")
    assert answer["answer"] is None
    assert answer["notices"] == []
    assert set(answer["answering"]) <= {passage["n"] for passage in answer["passages"]}
    keys = {"n", "url", "title", "text", "score", "evidence", "provenance"}
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
@pytest.mark.parametrize(
    "question", ["Wie breche ich eine asyncio-Task ab?", "Как отменить задачу?"]
)
def test_a_question_in_another_language_is_told_so(command: Invoke, question: str) -> None:
    """With the way out, whether words were found or not; never for the collection's language."""
    ended = command("ask", question, "--collection", "py")
    told = " ".join(ended.out.split())
    assert "'py' is in English, and it is searched by its words alone. Ask in English" in told
    assert "collection-search collections reembed py --embeddings" in told
    (notice,) = command("ask", question, "--collection", "py", "--json").json["notices"]
    assert notice in told
    assert "Note:" not in command("ask", QUESTION, "--collection", "py").out


@pytest.mark.slow
def test_a_model_needs_no_words_in_common(
    run: Invoke, command: Invoke, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A collection with an embedder is searched by meaning: no notice."""
    monkeypatch.setenv("COLLECTION_SEARCH_EMBEDDINGS", "words")
    process_settings.cache_clear()
    assert run("--auto-ingest").code == 0
    answer = command("ask", "Wie breche ich eine asyncio-Task ab?", "--collection", "py", "--json")
    assert answer.json["notices"] == []


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
        monkeypatch.setenv("LANGFUSE_TIMEOUT", "60")
        process_settings.cache_clear()
        assert command("ask", QUESTION, "--collection", "py").code == 0
        (span,) = langfuse.spans
    assert span.name == "embedding"
    assert span.attributes["langfuse.observation.type"] == "embedding"
    assert span.cost_usd is not None
    assert span.cost_usd > 0


@pytest.mark.slow
@pytest.mark.usefixtures("filled")
def test_what_shares_a_word_alone_is_no_answer(command: Invoke) -> None:
    """The closest pages by their titles, the way on, and exit code 3."""
    asked = "Which asyncio museum in Vienna opens on Sundays?"
    ended = command("ask", asked, "--collection", "py")
    assert ended.code == 3
    assert ended.out.startswith("Nothing in 'py' answers this. Closest pages:\n[1] ")
    assert "--auto-ingest --collection py" in ended.complaints[0]
    answer = command("ask", asked, "--collection", "py", "--json").json
    assert answer["passages"]
    assert answer["answering"] == []


@pytest.mark.slow
@pytest.mark.usefixtures("filled")
def test_pdfs_alone_can_be_asked(command: Invoke) -> None:
    """A collection without any says so."""
    ended = command("ask", QUESTION, "--collection", "py", "--pdf")
    assert ended.code == 3
    assert "No PDF of 'py' shares a word" in ended.complaints[0]
    assert command("ask", QUESTION, "--collection", "py", "--no-pdf").code == 0


@pytest.mark.slow
@pytest.mark.usefixtures("filled")
def test_a_model_writes_the_answer(command: Invoke, monkeypatch: pytest.MonkeyPatch) -> None:
    """First, each sentence with its sources; a citation that does not exist is not there.

    The model is that of the option, or that of the settings.
    """
    with OpenAIServer("Use asyncio.timeout [1][99]. It is easy.") as models:
        monkeypatch.setenv("OPENAI_API_KEY", "sk-of-the-test")
        monkeypatch.setenv("OPENAI_BASE_URL", models.base_url)
        process_settings.cache_clear()
        named = ("--collection", "py", "--model", "openai:gpt-4o-mini")
        ended = command("ask", QUESTION, *named)
        monkeypatch.setenv("COLLECTION_SEARCH_MODEL", "openai:gpt-4o-mini")
        process_settings.cache_clear()
        answer = command("ask", QUESTION, "--collection", "py", "--json").json["answer"]
    assert ended.code == 0
    assert ended.out.startswith(
        f"Use asyncio.timeout. [1] It is easy. {UNSUPPORTED_MARK}\n\nSources\n[1]"
    )
    assert [sentence["citations"] for sentence in answer["sentences"]] == [[1], []]


@pytest.mark.slow
@pytest.mark.usefixtures("filled")
def test_a_model_that_fails_leaves_the_passages(
    command: Invoke, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With a note and exit code 4; the passages are shown nevertheless."""
    monkeypatch.setenv("COLLECTION_SEARCH_MODEL", "openai:gpt-4o-mini")
    monkeypatch.setenv("OPENAI_API_KEY", "sk-of-the-test")
    monkeypatch.setenv("OPENAI_BASE_URL", "http://127.0.0.1:9/v1")
    process_settings.cache_clear()
    ended = command("ask", QUESTION, "--collection", "py")
    assert ended.code == 4
    assert "passages only" in " ".join(ended.out.split())
    assert "[1] asyncio" in ended.out
