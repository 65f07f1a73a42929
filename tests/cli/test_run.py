"""`collection-search run`, from the question to the collection, with scripted adapters."""

from __future__ import annotations

import shlex
from typing import TYPE_CHECKING

import pytest
import typer.main
from support.scripted_world import QUESTION

from collection_search.cli import app
from collection_search.contracts.inputs import GraphInput
from collection_search.contracts.state import (
    CollectionSearchOutput,
    IngestionReceipt,
    RankedResult,
)

if TYPE_CHECKING:
    from support.command_line import Invoke

OPTIONS = {
    "top_k": "auto_ingest_top_k",
    "min_score": "auto_ingest_min_score",
    "max_candidates": "max_candidates",
}
TROUBLED = ("empty", "off_topic", "refusing", "partial")


def test_a_question_becomes_a_table_of_scores(run: Invoke) -> None:
    """Without ingestion: what was searched and how, the ranked pages, and what to do next."""
    ended = run()
    assert ended.code == 0
    assert "Searched: scripted (asked for)" in ended.out
    assert "Similarity: lexical" in ended.out
    assert "score  similarity  heuristics  title" in ended.out
    assert "https://docs.example.com/asyncio/cancel-task-1\n" in ended.out
    assert (
        f"collection-search run {shlex.quote(QUESTION)} --auto-ingest --collection py" in ended.out
    )
    assert "To go live" not in ended.out  # it searches with a provider that was asked for


def test_progress_is_on_stderr_without_control_characters(run: Invoke) -> None:
    """Outside a terminal every node is one plain line with its time, and pages cannot steer it."""
    ended = run("--auto-ingest")
    marks = [line.partition(" → ")[0] for line in ended.err.splitlines()]
    assert marks == [
        "✅ Strategy Generation",
        "✅ Web Search",
        "✅ Embedding Rank",
        "✅ Auto-Ingest",
        "Ingesting ...",
    ]
    assert "\x1b" not in ended.out + ended.err
    assert "\r" not in ended.out + ended.err


@pytest.mark.slow
def test_what_was_ingested_answers(run: Invoke, command: Invoke) -> None:
    """The command waits for the ingestion, and the `ask` line that it prints works as printed."""
    ended = run("--auto-ingest", "--top-k", "3", "--tenant", "acme")
    assert ended.code == 0
    assert "Collection py: 3 of 3 pages stored" in ended.out
    line = next(line for line in ended.out.splitlines() if "collection-search ask" in line)
    answer = command(*shlex.split(line)[1:])
    assert answer.code == 0
    assert "https://docs.example.com/asyncio/cancel-task-" in answer.out


@pytest.mark.slow
def test_json_is_the_graphs_output_and_nothing_else(run: Invoke) -> None:
    """One object with the specified keys on stdout, nothing on stderr while all goes well."""
    ended = run("--auto-ingest", "--json", "--case", "crm-7421")
    assert ended.code == 0
    assert ended.err == ""
    assert ended.out.count("\n") == 1
    output = ended.json
    assert output.keys() == CollectionSearchOutput.__annotations__.keys()
    assert output["outcome"] == "auto_ingest_triggered"
    assert output["question"] == QUESTION
    without_criteria = RankedResult.__annotations__.keys() - {"criteria"}
    assert all(row.keys() == without_criteria for row in output["results"])
    assert output["ingestion"].keys() == {*IngestionReceipt.__annotations__, "status"}
    count = output["ingestion"]["count"]
    assert output["ingestion"]["status"] == {
        "stored": count,
        "failed": 0,
        "pending": 0,
        "to_fetch": 0,
        "retired": 0,
        "new": count,
        "changed": 0,
        "unchanged": 0,
        "duplicate": 0,
    }
    assert output["telemetry"]["nodes"].keys() >= {"k_generate_strategy", "k_auto_ingest"}


def test_the_options_say_what_the_graph_allows() -> None:
    """Bounds and defaults of the options are those of the graph's input."""
    options = {one.name: one for one in typer.main.get_command(app).get_command(None, "run").params}
    for option, name in OPTIONS.items():
        field = GraphInput.model_fields[name]
        bounds = {type(bound).__name__: bound for bound in field.metadata}
        assert options[option].default == field.default
        assert (options[option].min, options[option].max) == (bounds["Ge"].ge, bounds["Le"].le)


@pytest.mark.slow
def test_without_waiting_the_pages_stay_for_a_worker(run: Invoke, command: Invoke) -> None:
    """--no-wait accepts and leaves; `worker --once` then stores what was accepted."""
    left = run("--auto-ingest", "--no-wait", "--json").json["ingestion"]
    nothing = dict.fromkeys(("stored", "failed", "to_fetch", "retired"), 0)
    nothing |= dict.fromkeys(("new", "changed", "unchanged", "duplicate"), 0)
    assert left["status"] == nothing | {"pending": left["count"]}
    assert command("ask", QUESTION, "--collection", "py").code == 3
    assert command("worker", "--once").code == 0
    assert command("ask", QUESTION, "--collection", "py").code == 0


def test_no_wait_says_who_goes_on(run: Invoke) -> None:
    """The worker's command stands before the question's among the next steps."""
    ended = run("--auto-ingest", "--no-wait")
    assert "Ingesting" not in ended.err
    out = ended.out
    assert "pages are queued; 'collection-search worker' ingests them" in out
    assert 0 < out.index("collection-search worker --once") < out.index("collection-search ask")


@pytest.mark.slow
@pytest.mark.parametrize(
    ("provider", "code", "outcome", "sentence"),
    [
        ("empty", 3, "no_candidates", "Nothing was found"),
        ("off_topic", 3, "auto_ingest_failed_quality_threshold", "Nothing was ingested"),
        ("refusing", 4, "search_failed", "set REFUSING_API_KEY anew"),
    ],
)
def test_outcomes_have_their_exit_codes(
    run: Invoke, provider: str, code: int, outcome: str, sentence: str
) -> None:
    """Nothing found or good enough is 3, a failed provider 4; the cause is one sentence."""
    ended = run("--auto-ingest", "--json", provider=provider)
    assert ended.code == code
    assert ended.json["outcome"] == outcome
    (complaint,) = ended.complaints
    assert sentence in complaint


@pytest.mark.slow
@pytest.mark.parametrize("provider", TROUBLED)
def test_every_outcome_can_be_read_by_people(run: Invoke, provider: str) -> None:
    """The plain form says where was searched, also when nothing came of it."""
    ended = run("--auto-ingest", provider=provider)
    assert "Searched: " in ended.out
    assert "Traceback" not in ended.err


def test_a_failed_query_is_a_warning(run: Invoke) -> None:
    """One of the queries failed, the run goes on: exit code 0 and a line with the cause."""
    ended = run(provider="partial")
    assert ended.code == 0
    assert "⚠️ Web Search" in ended.err
    assert "warning: the query" in ended.err
    assert "REFUSING_API_KEY" in ended.err


def test_a_failed_model_is_a_warning(run: Invoke) -> None:
    """A model that failed and was replaced by deterministic queries is no error."""
    ended = run("--model", "broken_model")
    assert ended.code == 0
    assert "⚠️ Strategy Generation" in ended.err
    (warning,) = ended.warnings
    assert "scripted-model failed, so deterministic queries were used" in warning
    assert "Check OPENAI_BASE_URL." in warning


@pytest.mark.slow
def test_a_failed_embedder_is_a_warning(run: Invoke) -> None:
    """Without similarities the heuristics decide, and a line says so."""
    ended = run("--embeddings", "broken_embedder")
    assert ended.code == 0
    (warning,) = ended.warnings
    assert "scripted:64 failed, so similarity counts as 0" in warning
    assert warning.endswith(": no answer")


@pytest.mark.slow
def test_models_are_named_and_their_cost_shown(run: Invoke) -> None:
    """With a model and an embedder their names stand where the offline words stood."""
    ended = run("--model", "planner", "--embeddings", "words")
    assert ended.code == 0
    assert "Queries, by gpt-4o-mini:" in ended.out
    assert "Similarity: scripted:64" in ended.out
    assert "$0.00021" in ended.err
    assert "To go live" not in ended.out


def test_a_page_without_text_waits_to_be_fetched(run: Invoke) -> None:
    """A snippet is never stored as a document: the command says how many pages wait, and is done."""
    options = ("--auto-ingest", "--no-wait", "--profile", "literal", "--min-score", "0")
    ended = run(*options, provider="off_topic")
    assert ended.code == 0
    assert "Collection py: 10 pages are queued; 'collection-search worker' ingests" in ended.out
    assert "collection-search worker --once" in ended.out


def test_a_look_needs_no_collection(command: Invoke) -> None:
    """Without ingestion; nothing is said of one but where the next command needs it."""
    ended = command("run", QUESTION, "--provider", "scripted")
    assert ended.code == 0
    assert "Next, ingest the best of them into a collection:\n" in ended.out
    assert "--auto-ingest --collection NAME --provider scripted" in ended.out
    assert "preview" not in ended.out
    assert "no collections" in command("collections").out


@pytest.mark.slow
@pytest.mark.parametrize("option", ["--auto-ingest", "--review"])
def test_an_ingestion_names_its_collection(command: Invoke, run: Invoke, option: str) -> None:
    """The error lists those that there are; nothing is searched."""
    assert run("--auto-ingest", "--top-k", "1").code == 0
    ended = command("run", QUESTION, "--provider", "scripted", option)
    assert (ended.code, ended.out) == (2, "")
    (complaint,) = ended.complaints
    assert f"{option} needs --collection NAME" in complaint
    assert "Known: py; any other name makes a new one." in complaint


@pytest.mark.parametrize(
    ("question", "told"), [("", "empty"), ("tea " * 501, "2003 characters; at most 2000")]
)
def test_what_is_no_question_is_told(run: Invoke, question: str, told: str) -> None:
    """An empty one from one that is too long."""
    ended = run(question=question)
    assert (ended.code, ended.out) == (2, "")
    assert told in ended.err
