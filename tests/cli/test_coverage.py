"""`collection-search coverage`: which questions a collection answers, and what is missing."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

import pytest
from support.scripted_world import QUESTION

from collection_search import Settings
from collection_search.adapters.stores.sqlite import SQLiteStore
from collection_search.cli.shared.coverage_report import MissingPages, coverage_steps
from collection_search.contracts.collection import QuestionRecord, TenantScope
from collection_search.contracts.ingestion import IngestionItem, IngestionRequest

if TYPE_CHECKING:
    from support.command_line import Invoke

SOUP = "How does potato soup simmer?"


@pytest.fixture
def filled(run: Invoke) -> None:
    """A collection `py` of the tenant `local`."""
    assert run("--auto-ingest").code == 0


def enqueue(*texts: str, start: int = 0) -> str:
    """Return the ticket of pages that wait to be ingested."""
    store = SQLiteStore.from_settings(Settings.load())
    items = [
        IngestionItem(f"https://example.com/{n}", f"example.com/{n}", f"Page {n}", ref)
        for n, ref in enumerate(store.staging.put("local", texts), start)
    ]
    ticket = store.ledger.enqueue(IngestionRequest(TenantScope("local", "py"), items))
    store.close()
    return ticket.ticket_id


@pytest.mark.slow
@pytest.mark.usefixtures("filled")
def test_all_remembered_questions_are_verified(command: Invoke) -> None:
    """With the queries that were searched for, each with its best passage in 80 columns."""
    ended = command("coverage", "--collection", "py")
    assert ended.code == 0
    assert ended.out.startswith("Collection py: 3 of 3 queries answered\n")
    assert f"answered  {QUESTION}\n          asyncio — How to cancel" in ended.out
    assert ended.out.count("\n          https://docs.example.com/") == 3
    assert max(map(len, ended.out.splitlines())) <= 80
    assert "Next" not in ended.out


@pytest.mark.slow
@pytest.mark.usefixtures("filled")
def test_a_gap_ends_with_3_and_the_command_that_closes_it(command: Invoke) -> None:
    """Ready to be copied, with the tenant where one was named."""
    ended = command("coverage", QUESTION, "--collection", "py", "--query", SOUP)
    assert ended.code == 3
    assert "Collection py: 1 of 2 queries answered" in ended.out
    assert f"gap       {SOUP}" in ended.out
    assert "Next, to close the gaps:\n" in ended.out
    last = ended.out.splitlines()[-1]
    assert last == f"  collection-search run '{SOUP}' --auto-ingest --collection py"


def test_what_another_question_was_searched_for_is_not_proposed() -> None:
    gap: Any = {"gaps": ["b"], "next_queries": ["b", "b guide"], "searched": ["a"], "queries": []}
    other: Any = {"gaps": [], "next_queries": [], "searched": ["B"], "queries": []}
    lines = coverage_steps([gap, other], MissingPages([], 0), collection="py", tenant=None)
    assert [line.split("'")[1] for line in list(lines)[1:]] == ["b guide"]


def test_a_query_is_proposed_once() -> None:
    """Also for several questions, however it is written."""
    first: Any = {"gaps": ["b"], "next_queries": ["b guide"], "searched": ["a"], "queries": []}
    second: Any = {**first, "next_queries": ["B guide", "c"]}
    lines = coverage_steps([first, second], MissingPages([], 0), collection="py", tenant=None)
    assert [line.split("'")[1] for line in list(lines)[1:] if "'" in line] == ["b guide"]


@pytest.mark.slow
@pytest.mark.usefixtures("filled")
def test_json_has_the_whole_coverage(command: Invoke) -> None:
    """Each question as `verify_coverage` returns it, and the pages that are missing."""
    enqueue(" ")
    command("worker", "--once")
    enqueue("green tea", "black tea", start=1)
    found = command("coverage", "--collection", "py", "--json").json
    assert found.keys() == {"collection", "questions", "unstored", "waiting"}
    (question,) = found["questions"]
    assert (question["answered_ratio"], question["gaps"], question["ingestion"]) == (1, [], None)
    assert question["queries"][0]["evidence"][0]["score"] > 60
    (page,) = found["unstored"]
    assert (page["url"], page["state"]) == ("https://example.com/0", "failed")
    assert "no text" in page["reason"]
    assert found["waiting"] == 2


@pytest.mark.slow
@pytest.mark.usefixtures("filled")
def test_the_pages_of_a_ticket_are_ingested_first(command: Invoke) -> None:
    """A page that fails is listed with its reason, and does not change the exit code."""
    ticket = enqueue("Potato soup simmers for half an hour: how potato soup does simmer.", " ")
    ended = command("coverage", SOUP, "--collection", "py", "--ticket", ticket)
    assert ended.code == 0, ended
    assert "Pages of the ticket: 1 of 2 stored, 1 failed" in ended.out
    assert "    1  The page holds no text" in ended.out
    assert "\n       https://example.com/1\n" in ended.out
    assert ended.out.splitlines()[-2:] == [
        "  collection-search ingest retry-failed --collection py",
        "  collection-search worker --once",
    ]


@pytest.mark.slow
@pytest.mark.usefixtures("filled")
def test_waiting_pages_are_told_with_the_worker(command: Invoke) -> None:
    """They may hold the answer."""
    enqueue("green tea")
    ended = command("coverage", QUESTION, "--collection", "py")
    assert "Pages: 0 failed, 1 waiting" in ended.out
    assert ended.out.splitlines()[-1] == "  collection-search worker --once"


@pytest.mark.slow
@pytest.mark.usefixtures("filled")
def test_the_last_results_are_listed_without_asking(command: Invoke) -> None:
    """Each remembered question, verified or not."""
    assert command("coverage", "--collection", "py", "--last").out.splitlines() == [
        "answered  verified (UTC)    question",
        f"-         not yet           {QUESTION}",
    ]
    command("coverage", "--collection", "py")
    row = command("coverage", "--collection", "py", "--last").out.splitlines()[1]
    assert re.fullmatch(rf"3 of 3    \d{{4}}-\d\d-\d\d \d\d:\d\d  {re.escape(QUESTION)}", row)
    (found,) = command("coverage", "--collection", "py", "--last", "--json").json["questions"]
    assert (found["question"], found["coverage"]["gaps"]) == (QUESTION, [])


@pytest.mark.slow
@pytest.mark.usefixtures("filled")
def test_no_secret_of_a_question_is_shown(command: Invoke) -> None:
    """Neither by a verification nor in the last results; it is named as it is shown."""
    store = SQLiteStore.from_settings(Settings.load())
    asked = QuestionRecord(question="What is api_key=abcdef1 for?", queries=["asyncio abcdef1"])
    store.collections.remember_question(TenantScope("local", "py"), asked)
    store.close()
    shown = "What is api_key=[secret] for?"
    for given in ([], [shown], ["What is api_key=abcdef1 for?"]):
        ended = command("coverage", *given, "--collection", "py")
        assert shown in ended.out
        assert "abcdef1" not in ended.out + ended.err
    assert "abcdef1" not in command("coverage", "--collection", "py", "--json").out
    assert shown in command("coverage", "--collection", "py", "--last").out
    ended = command("coverage", "--collection", "py", "--last", "--json")
    assert "abcdef1" not in ended.out
    coverages = {one["question"]: one["coverage"] for one in ended.json["questions"]}
    assert list(coverages[shown]["best_scores"]) == [shown, "asyncio [secret]"]


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("--collection", "py"), "was not filled by a question"),
        (("--collection", "py", "--query", "tea"), "--query goes with a QUESTION"),
        (("--collection", "nope"), "no collection 'nope'"),
        (("tea?", "--collection", "py", "--ticket", "ticket-x"), "no ticket ticket-x"),
        (("tea?", "--collection", "py", "--tenant", "acme"), "'acme' has no collection 'py'"),
    ],
)
def test_what_cannot_be_verified_ends_with_2(
    command: Invoke, arguments: tuple[str, ...], said: str
) -> None:
    """In one sentence that says what to do."""
    enqueue("green tea")
    ended = command("coverage", *arguments)
    assert ended.code == 2
    assert said in ended.complaints[0]
