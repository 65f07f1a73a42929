"""A run that was recorded plays again from its cassette: no server, no key, the same answer."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest
from blockbuster import blockbuster_ctx
from support.scripted_world import INPUT, QUESTION, good_pages

from collection_search import CollectionSearchGraph, SearchContext, Settings
from collection_search.cassette import Cassette
from collection_search.errors import InputError, ModelError, SearchProviderQuotaExceeded
from collection_search.ranking.anchors import anchor_texts
from collection_search.testing import (
    OpenAIServer,
    ProviderServer,
    ScriptedAdapter,
    ScriptedChatModel,
    ScriptedEmbedder,
    ScriptedQueryModel,
)

if TYPE_CHECKING:
    from pathlib import Path

QUERIES = ["asyncio timeouts", "cancel asyncio tasks", "python tasks", "sqlite in a task"]
KEY = "sk-of-the-test-0123456789"


def ask(cassette: Cassette, home: Path, **choices: Any) -> Any:
    """Run the graph; without `settings` nothing is configured."""
    settings = choices.pop("settings", None) or Settings(home=home)
    context = SearchContext(settings=settings, cassette=cassette, **choices)
    return CollectionSearchGraph(context).run(INPUT)[1]


def without_times(output: Any) -> Any:
    """Return what a replay has in common with its recording."""
    text = json.dumps(output, default=str)
    told = json.loads(text)
    told["search"].pop("provider_reason")
    told.pop("ids", None)
    telemetry = told["telemetry"]
    for entry in (telemetry, *telemetry["nodes"].values(), *told["search"]["queries"]):
        entry.pop("latency_ms", None)
        entry.pop("trace_id", None)
    return told


@pytest.fixture
def tape(tmp_path: Path) -> Path:
    return tmp_path / "run.jsonl"


@pytest.mark.slow
@pytest.mark.parametrize("provider", ["tavily", "searxng", "brave"])
def test_a_run_over_the_wire_plays_without_the_wire(
    tape: Path, tmp_path: Path, provider: str
) -> None:
    """Results, scores, costs, counts: all as recorded, on a machine that knows nothing."""
    with OpenAIServer({"queries": QUERIES}) as models, ProviderServer(provider) as search:
        access = {"api_key": search.dialect.key, "base_url": search.base_url}
        settings = Settings(
            home=tmp_path / "here",
            provider=provider,
            providers={provider: access},
            model="openai:gpt-4o-mini",
            embeddings="openai:text-embedding-3-small",
            openai_api_key=KEY,
            openai_base_url=models.base_url,
        )
        live = ask(Cassette.record(tape), tmp_path, settings=settings)
        asked = len(search.requests), len(models.requests)
    assert (live["outcome"], live["flags"]) == ("search_completed", [])
    assert live["search"]["provider_reason"] == "set as provider in the settings"
    replay = Cassette.replay(tape)
    played = ask(replay, tmp_path / "there")
    assert without_times(played) == without_times(live)
    assert played["telemetry"]["cost_usd"] == live["telemetry"]["cost_usd"] > 0
    assert played["search"]["provider_reason"].startswith("replayed from run.jsonl, recorded 20")
    assert replay.missing == []
    assert (len(search.requests), len(models.requests)) == asked
    for secret in (KEY, search.dialect.key, search.base_url):
        assert not secret or secret not in tape.read_text()


def test_objects_of_a_host_are_recorded_too(tape: Path, tmp_path: Path) -> None:
    """LangChain's chat model and a third party's adapter and embedder: the cut is at the ports."""
    live = ask(
        Cassette.record(tape),
        tmp_path / "here",
        provider=ScriptedAdapter(good_pages(), provider_name="of_mine", page_size=7),
        model=ScriptedChatModel(replies=[{"queries": QUERIES}]),
        embeddings=ScriptedEmbedder(dimension=256),
    )
    assert live["strategy"]["queries"] == QUERIES
    played = ask(Cassette.replay(tape), tmp_path / "there")
    assert without_times(played) == without_times(live)
    assert played["search"]["provider"] == "of_mine"
    assert played["telemetry"]["nodes"]["k_embedding_rank"]["embedder"] == "scripted:256"


@pytest.mark.slow
def test_a_scale_measured_before_is_on_the_cassette(tape: Path, tmp_path: Path) -> None:
    """The recording machine knew the embedder's scale; the one that replays can measure it."""
    ports = {"provider": ScriptedAdapter(good_pages())}
    home = tmp_path / "here"
    ask(Cassette.record(tmp_path / "first.jsonl"), home, **ports, embeddings=ScriptedEmbedder())
    again = ScriptedEmbedder()
    live = ask(Cassette.record(tape), home, **ports, embeddings=again)
    played = ask(Cassette.replay(tape), tmp_path / "there")
    assert played["results"] == live["results"]
    assert played["flags"] == live["flags"]
    assert [len(texts) for texts in again.calls] == [7, len(anchor_texts())]


def test_failures_play_as_they_were(tape: Path, tmp_path: Path) -> None:
    """A throttled query that was tried again, a model and an embedder that failed."""
    throttled = SearchProviderQuotaExceeded("slow down", retry_in_ms=1)
    live = ask(
        Cassette.record(tape),
        tmp_path / "here",
        provider=ScriptedAdapter(good_pages()).on(QUESTION, throttled, throttled, good_pages(2)),
        model=ScriptedQueryModel(ModelError("out of order")),
        embeddings=ScriptedEmbedder(error=ModelError("no answer")),
    )
    assert live["flags"] == ["strategy_fallback", "embedding_degraded"]
    assert live["telemetry"]["nodes"]["k_parallel_web_search"]["request_count"] == 5
    played = ask(Cassette.replay(tape), tmp_path / "there")
    assert without_times(played) == without_times(live)


def test_private_data_on_a_page_is_masked_and_still_played(tape: Path, tmp_path: Path) -> None:
    """The run sees the page as it is; a replay sees it masked and finds its vectors all the same."""
    pages = good_pages()
    pages[0].snippet += " Ask <b>jane@example.com</b> or +49 30 1234567."
    pages[1].url += "?token=sesame123"
    live = ask(
        Cassette.record(tape),
        tmp_path / "here",
        provider=ScriptedAdapter(pages),
        embeddings=ScriptedEmbedder(),
    )
    assert "jane@example.com" in json.dumps(live)
    cassette = Cassette.replay(tape)
    played = ask(cassette, tmp_path / "there")
    assert (cassette.missing, played["flags"]) == ([], live["flags"])
    assert len(played["results"]) == len(live["results"])
    for private in ("jane@", "1234567", "sesame"):
        assert private not in tape.read_text() + json.dumps(played)


@pytest.mark.slow
async def test_neither_recording_nor_replaying_blocks_the_loop(tape: Path, tmp_path: Path) -> None:
    """Files are written and read in threads."""
    ports: dict[str, Any] = {
        "provider": ScriptedAdapter(good_pages()),
        "model": ScriptedQueryModel(QUERIES),
        "embeddings": ScriptedEmbedder(),
    }
    for make in (Cassette.record, Cassette.replay):
        context = SearchContext(settings=Settings(home=tmp_path), cassette=make(tape), **ports)
        with blockbuster_ctx():
            _, result = await CollectionSearchGraph(context).arun(INPUT)
        assert (result["outcome"], result["flags"]) == ("search_completed", [])


def test_another_question_is_refused_by_name(tape: Path, tmp_path: Path) -> None:
    """Nobody is asked in place of the recording, and the run says what is missing."""
    ask(Cassette.record(tape), tmp_path, provider=ScriptedAdapter(good_pages()))
    cassette = Cassette.replay(tape)
    context = SearchContext(settings=Settings(home=tmp_path), cassette=cassette)
    other = {**INPUT, "question": "How do I cook soup?"}
    result = CollectionSearchGraph(context).run(other)[1]
    assert result["outcome"] == "search_failed"
    messages = [error["message"] for error in result["search"]["errors"]]
    assert len(messages) == len(cassette.missing) == 3
    assert "run.jsonl holds no search for 'How do I cook soup?'" in messages[0]
    assert "the model or the options differ" in messages[0]


def test_another_provider_than_the_recorded_one_is_refused(tape: Path, tmp_path: Path) -> None:
    """A name that was not recorded is an error before anything is asked."""
    ask(Cassette.record(tape), tmp_path, provider=ScriptedAdapter(good_pages()))
    with pytest.raises(InputError, match="another search provider than 'brave': scripted"):
        ask(Cassette.replay(tape), tmp_path, provider="brave")


def test_a_caller_from_outside_cannot_set_a_cassette() -> None:
    """It is no part of the schema, and JSON makes none."""
    assert "cassette" not in SearchContext.model_json_schema()["properties"]
    with pytest.raises(ValueError, match="cassette"):
        SearchContext.model_validate({"cassette": "/etc/passwd"})
