"""Which queries a collection answers, with the passages that prove it."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

import pytest
from support.waiting import wait_until_async

from collection_search import SearchContext, Settings, averify_coverage, verify_coverage
from collection_search.adapters.stores.sqlite.usage import SQLiteUsage
from collection_search.contracts.collection import QuestionRecord, TenantScope
from collection_search.contracts.ingestion import IngestionItem, IngestionRequest, Ticket
from collection_search.errors import InputError, ModelError
from collection_search.runtime.concurrency import run_blocking
from collection_search.testing import ScriptedEmbedder
from collection_search.testing.stores.suite import chunks, document
from collection_search.tools.coverage.query_coverage import AT_ONCE, EVIDENCE, EVIDENCE_CHARS
from collection_search.tools.ingest import engine_for
from collection_search.tools.spending.spend_writer import spend_writer

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from collection_search.adapters.stores.sqlite import SQLiteStore
    from collection_search.contracts.collection import Embedded
    from collection_search.contracts.coverage import Coverage
    from collection_search.contracts.ingestion import TicketStatus

SCOPE = TenantScope("local", "docs")
QUESTION = "How do I cancel a task after a timeout?"
ANSWER = "To cancel a task after a timeout, use asyncio.timeout as a context manager."
SOUP = "How long does a potato soup simmer?"


@pytest.fixture
def context(settings: Settings, store: SQLiteStore) -> Iterator[SearchContext]:
    context = SearchContext(settings=settings, store=store)
    yield context
    run_blocking(engine_for(context)).stop()


def put(store: SQLiteStore, name: str, *texts: str, **more: Any) -> None:
    store.collections.replace_document(
        SCOPE, document(name, "".join(texts)), chunks(*texts, **more)
    )


def verified(context: SearchContext, question: str = QUESTION, **options: Any) -> Coverage:
    return verify_coverage(question, collection="docs", context=context, **options)


def test_an_answered_query_is_shown_with_its_passage(
    store: SQLiteStore, context: SearchContext
) -> None:
    """The page, its address, the score; and the document with the queries that it answers."""
    put(store, "asyncio", ANSWER)
    found = verified(context, queries=["cancel task timeout", SOUP])
    question, keywords, soup = found["queries"]
    assert [one["answered"] for one in found["queries"]] == [True, True, False]
    (evidence,) = question["evidence"]
    assert (evidence["url"], evidence["title"]) == (document("asyncio").url, "Title of asyncio")
    assert evidence["text"] == ANSWER
    assert question["best_score"] == evidence["score"] > 60
    assert (soup["evidence"], soup["best_score"]) == ([], None)
    assert (found["gaps"], found["answered_ratio"]) == ([SOUP], 0.6667)
    assert found["documents"] == [
        {
            "url": document("asyncio").url,
            "title": "Title of asyncio",
            "answers": [QUESTION, keywords["query"]],
        }
    ]


def test_a_weak_passage_is_no_answer(store: SQLiteStore, context: SearchContext) -> None:
    """Its score is told, but it is no evidence."""
    put(store, "streams", "Streams read and write without callbacks, for any task.")
    (query,) = verified(context)["queries"]
    assert query["best_score"] is not None
    assert (query["answered"], query["evidence"]) == (False, [])


def test_a_removed_document_leaves_a_gap(store: SQLiteStore, context: SearchContext) -> None:
    """The proof goes with the page."""
    put(store, "asyncio", ANSWER)
    assert verified(context)["gaps"] == []
    store.collections.delete_document(SCOPE, document("asyncio").url_key)
    put(store, "other", "Green tea is brewed at 80 degrees.")
    found = verified(context)
    assert (found["gaps"], found["documents"]) == ([QUESTION], [])
    assert found["next_queries"][0] == QUESTION  # nobody has searched for it yet


def test_a_few_short_passages_are_enough(store: SQLiteStore, context: SearchContext) -> None:
    """The state of a run carries no page texts; every document is named nevertheless."""
    for n in range(EVIDENCE + 2):
        put(store, f"page-{n}", f"{ANSWER} Variant {n}. " + "More words follow here. " * 50)
    found = verified(context)
    evidence = found["queries"][0]["evidence"]
    assert len(evidence) == EVIDENCE
    assert max(len(one["text"]) for one in evidence) <= EVIDENCE_CHARS
    assert len(found["documents"]) == EVIDENCE + 2


def test_a_kind_of_page_is_not_asked_for(store: SQLiteStore, context: SearchContext) -> None:
    """It chose among pages of the web; a collection that answers its subject has no gap."""
    put(store, "asyncio", ANSWER)
    planned = ["cancel Dokumentation", "potato soup guide"]
    found = verified(context, queries=planned)
    assert [one["query"] for one in found["queries"]] == [QUESTION, *planned]
    assert found["gaps"] == ["potato soup guide"]


def test_a_kind_of_page_that_the_question_names_is_asked_for(
    store: SQLiteStore, context: SearchContext
) -> None:
    """It is the subject then."""
    put(store, "asyncio", ANSWER)
    found = verified(context, "Is there a guide to tasks?", queries=["task guide"])
    assert "task guide" in found["gaps"]


def test_the_remembered_plan_is_asked(store: SQLiteStore, context: SearchContext) -> None:
    """What filled the collection is what it must answer; none of it is searched for again."""
    put(store, "asyncio", ANSWER)
    planned = ["cancel task timeout", "potato soup", "potato soup documentation"]
    store.collections.remember_question(SCOPE, QuestionRecord(question=QUESTION, queries=planned))
    found = verified(context)
    assert [one["query"] for one in found["queries"]] == [QUESTION, *planned]
    assert (found["gaps"], found["searched"]) == (planned[1:], planned)
    assert found["next_queries"]
    assert set(found["next_queries"]).isdisjoint(planned)


def test_the_last_result_stays_with_the_question(
    store: SQLiteStore, context: SearchContext
) -> None:
    """That of its plan, not of other queries; a question that did not fill it is not added."""
    put(store, "asyncio", ANSWER)
    record = QuestionRecord(question=QUESTION, queries=["potato soup"], max_candidates=7)
    store.collections.remember_question(SCOPE, record)
    verified(context, queries=["green tea"])
    verified(context, SOUP)
    (known,) = store.collections.questions(SCOPE)
    assert known.coverage is None
    verified(context)
    (known,) = store.collections.questions(SCOPE)
    assert known.coverage is not None
    assert (known.coverage.query_count, known.coverage.gaps) == (2, ["potato soup"])
    assert (known.queries, known.max_candidates) == (["potato soup"], 7)


def test_queries_of_the_caller_replace_the_plan(store: SQLiteStore, context: SearchContext) -> None:
    """Each once, regardless of case."""
    put(store, "asyncio", ANSWER)
    record = QuestionRecord(question=QUESTION, queries=["potato soup"])
    store.collections.remember_question(SCOPE, record)
    found = verified(context, queries=["Cancel task", "cancel task"])
    assert [one["query"] for one in found["queries"]] == [QUESTION, "Cancel task"]


def test_a_question_stored_without_its_plan_was_searched_itself(
    store: SQLiteStore, context: SearchContext
) -> None:
    """Records of an older version have no queries."""
    put(store, "tea", "Green tea is brewed at 80 degrees.")
    store.collections.remember_question(SCOPE, QuestionRecord(question=QUESTION))
    found = verified(context)
    assert (found["searched"], found["gaps"]) == ([QUESTION], [QUESTION])
    assert QUESTION not in found["next_queries"]


async def test_queries_are_asked_with_a_bound(store: SQLiteStore, settings: Settings) -> None:
    """In parallel, but not all at once; their cost is that of one run."""

    class Crowd(ScriptedEmbedder):
        now = most = 0

        async def embed(self, texts: Sequence[str]) -> Embedded:
            self.now += 1
            self.most = max(self.most, self.now)
            await wait_until_async(lambda: self.most > 1)  # the first waits for a second one
            await asyncio.sleep(0.05)  # time enough for one too many
            self.now -= 1
            return await super().embed(texts)

    embedder = Crowd(fingerprint="openai:text-embedding-3-small")
    usage = SQLiteUsage(settings.home / "usage.db")
    context = SearchContext(
        settings=settings,
        store=store,
        embeddings=embedder,
        usage_store=usage,
        ranking_profile="literal",
    )
    vectors = (await ScriptedEmbedder().embed([ANSWER])).vectors
    store.collections.bind_embedder(SCOPE, embedder.fingerprint)
    put(store, "asyncio", ANSWER, vectors=list(vectors))
    queries = [f"cancel task {n}" for n in range(8)]
    found = await averify_coverage(QUESTION, collection="docs", queries=queries, context=context)
    assert [one["query"] for one in found["queries"]] == [QUESTION, *queries]
    assert 1 < embedder.most <= AT_ONCE
    await asyncio.to_thread(spend_writer().flush)
    (run,) = await asyncio.to_thread(lambda: usage.totals("local", by="run"))
    assert run.requests == 9


def test_an_embedder_that_fails_is_its_own_error(store: SQLiteStore, settings: Settings) -> None:
    """Not a group of them: the command shows it in one sentence."""
    embedder = ScriptedEmbedder()
    vectors = run_blocking(embedder.embed([ANSWER])).vectors
    store.collections.bind_embedder(SCOPE, embedder.fingerprint)
    put(store, "asyncio", ANSWER, vectors=list(vectors))
    embedder.errors += [ModelError("down")] * 9
    context = SearchContext(settings=settings, store=store, embeddings=embedder)
    with pytest.raises(ModelError, match="down"):
        verified(context, queries=["a task", "a timeout"])


def test_a_question_with_a_secret_is_named_as_it_is_shown(
    store: SQLiteStore, context: SearchContext
) -> None:
    """Then the answer masks it; one who gives the question as it was asked gets it as it is."""
    put(store, "asyncio", ANSWER)
    secret = "How does api_key=abcdef1 cancel a task?"
    record = QuestionRecord(question=secret, queries=["cancel task abcdef1"])
    store.collections.remember_question(SCOPE, record)
    shown = verified(context, "How does api_key=[secret] cancel a task?")
    queries = [one["query"] for one in shown["queries"]]
    assert queries == ["How does api_key=[secret] cancel a task?", "cancel task [secret]"]
    assert "abcdef1" not in str(shown)
    (kept,) = store.collections.questions(SCOPE)
    assert kept.coverage is not None
    assert list(kept.coverage.best_scores) == [secret, "cancel task abcdef1"]
    assert verified(context, secret)["queries"][0]["query"] == secret


def test_each_of_two_questions_that_are_shown_alike_keeps_its_own_result(
    store: SQLiteStore, context: SearchContext
) -> None:
    """Both are asked once, with the queries of both."""
    put(store, "asyncio", ANSWER)
    for key, query in (("abcdef1", "cancel a task"), ("ghijkl2", SOUP)):
        record = QuestionRecord(question=f"What is api_key={key} for?", queries=[query])
        store.collections.remember_question(SCOPE, record)
    assert len(verified(context, "What is api_key=[secret] for?")["queries"]) == 4
    kept = {one.queries[0]: one.coverage for one in store.collections.questions(SCOPE)}
    assert [one and SOUP in one.best_scores for one in kept.values()] == [False, True]
    assert all(one and one.query_count == 2 for one in kept.values())


def ingestion(store: SQLiteStore, *texts: str) -> Ticket:
    items = [
        IngestionItem(f"https://example.com/{n}", f"example.com/{n}", f"Page {n}", ref)
        for n, ref in enumerate(store.staging.put("local", texts))
    ]
    return store.ledger.enqueue(IngestionRequest(SCOPE, items))


def test_a_ticket_is_followed_first(store: SQLiteStore, context: SearchContext) -> None:
    """Its pages are ingested by this process, then the collection is asked."""
    ticket, seen = ingestion(store, ANSWER), []

    def show(status: TicketStatus) -> None:
        seen.append(status.stored)

    found = verified(context, ticket=ticket.ticket_id, on_progress=show)
    assert found["ingestion"] is not None
    assert (found["ingestion"]["stored"], found["ingestion"]["success_ratio"]) == (1, 1)
    assert (found["gaps"], seen[-1]) == ([], 1)


def test_a_ticket_may_be_given_as_itself(store: SQLiteStore, context: SearchContext) -> None:
    """If it fills the collection that is asked."""
    ticket = ingestion(store, ANSWER)
    assert verified(context, ticket=ticket)["gaps"] == []
    for given in (ticket, ticket.ticket_id):
        with pytest.raises(InputError, match="fills the collection 'docs', not 'other'"):
            verify_coverage(QUESTION, collection="other", ticket=given, context=context)
    with pytest.raises(InputError, match="The ticket is of tenant 'local', not of 'acme'"):
        verified(context, ticket=ticket, tenant="acme")
    with pytest.raises(InputError, match="the context is of tenant 'acme'"):
        verified(context.model_copy(update={"tenant_id": "acme"}), ticket=ticket)


def test_what_others_do_not_ingest_in_time_is_pending(
    store: SQLiteStore, context: SearchContext, settings: Settings
) -> None:
    """The collection is asked nevertheless."""
    put(store, "asyncio", ANSWER)
    ticket = ingestion(store, "green tea")
    hasty = settings.model_copy(update={"coverage_timeout_s": 0.05})
    context = context.model_copy(update={"ingests": False, "settings": hasty})
    found = verified(context, ticket=ticket)
    assert found["ingestion"] is not None
    assert (found["ingestion"]["pending"], found["ingestion"]["timed_out"]) == (1, True)
    assert found["answered_ratio"] == 1


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"question": ""}, "empty"),
        ({"queries": "tea"}, "queries must be a list"),
        ({"queries": [7]}, "queries must be a list"),
        ({"ticket": 7}, "ticket must be a Ticket"),
        ({"collection": "nope"}, "no collection 'nope'"),
    ],
)
def test_wrong_arguments_are_refused(
    store: SQLiteStore, context: SearchContext, given: Any, said: str
) -> None:
    """Before anything is paid."""
    put(store, "asyncio", ANSWER)
    arguments = {"question": QUESTION, "collection": "docs", "context": context} | given
    with pytest.raises(InputError, match=said):
        verify_coverage(**arguments)
