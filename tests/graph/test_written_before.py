"""Files of version 0.1.0, as it wrote them before its modules moved, are read as they are.

`written_before.zip` holds a data folder (collections, ledger, usage, calibrations), a settings
file, a cassette, and `expected.json`: what that version said of them. The search provider and the
models of its settings do not answer here, so that whatever is not read from the files fails.
"""

from __future__ import annotations

import json
import zipfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from pydantic import TypeAdapter

from collection_search import CollectionSearchGraph, SearchContext, Settings, retrieve, wait
from collection_search.adapters.stores.sqlite.usage import SQLiteUsage
from collection_search.cassette import Cassette
from collection_search.testing import ScriptedEmbedder

if TYPE_CHECKING:
    from collections.abc import Iterator

    from collection_search.adapters.stores.sqlite import SQLiteStore

WRITTEN = Path(__file__).with_name("written_before.zip")
EVER_S = 1e12
TIMES = {"latency_ms", "trace_id"}
SCORES = {"embedding_rank_score", "heuristic_score", "explanation", "score"}
"""What a version may judge anew."""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Where the files lie; the data folder is `home`."""
    with zipfile.ZipFile(WRITTEN) as files:
        files.extractall(tmp_path)
    return tmp_path


@pytest.fixture
def expected(folder: Path) -> Any:
    """What the version that wrote the files said of them."""
    return json.loads((folder / "expected.json").read_bytes())


@pytest.fixture
def settings(folder: Path, monkeypatch: pytest.MonkeyPatch) -> Settings:
    """The settings file, with answers that do not grow old."""
    monkeypatch.setenv("COLLECTION_SEARCH_CONFIG", str(folder / "collection-search.yaml"))
    return Settings.load(home=folder / "home", answer_cache_s=EVER_S)


@pytest.fixture
def usage(settings: Settings) -> Iterator[SQLiteUsage]:
    """Quotas, cached answers and spending."""
    usage = SQLiteUsage.from_settings(settings)
    yield usage
    usage.close()


def without_times(value: Any) -> Any:
    """Return the value without what differs from run to run, at any depth."""
    if isinstance(value, dict):
        return {name: without_times(one) for name, one in value.items() if name not in TIMES}
    return [without_times(one) for one in value] if isinstance(value, list) else value


def without_scores(results: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return the results by address, without how they were judged."""
    plain = json.loads(json.dumps(results))
    kept = [{name: one[name] for name in one.keys() - SCORES} for one in plain]
    return sorted(kept, key=lambda one: str(one["url"]))


def fields_of(value: Any) -> Any:
    """Return the fields of a model or a dataclass, JSON-plain."""
    return TypeAdapter(type(value)).dump_python(value, mode="json")


def test_the_settings_file_says_the_same(settings: Settings, expected: Any) -> None:
    """Every setting that there was has the value that it had; new ones may have come."""
    now = settings.model_dump(mode="json", exclude={"home", "answer_cache_s"})
    then = {name: value for name, value in expected["settings"].items() if name != "answer_cache_s"}
    for name, was in then["providers"].items():
        is_now = now["providers"][name]
        assert {part: is_now.get(part, "gone") for part in was} == was
    now["providers"] = then["providers"]
    assert {name: now.get(name, "gone") for name in then} == then
    keys = settings.openai_api_key, settings.providers["tavily"].api_key
    assert [key.get_secret_value() for key in keys if key] == ["sk-key", "open-sesame/4+tests"]


def test_passages_are_found_by_vectors_and_words(settings: Settings, expected: Any) -> None:
    """The collection's embedder is known, its vectors and words are searched as before."""
    context = SearchContext(settings=settings, embeddings=ScriptedEmbedder())
    found = retrieve(
        "How is a task cancelled?", collection="docs", tenant="local", k=2, context=context
    )
    passages = [fields_of(one) for one in found]
    places = [[one["provenance"].pop(name) for name in ("headings", "page")] for one in passages]
    assert all(one.pop("evidence") >= 0 for one in passages)
    assert without_scores(passages) == without_scores(expected["retrieved"])
    assert places == [[[], None]] * len(passages)


def test_the_ledger_goes_on(store: SQLiteStore, expected: Any) -> None:
    """Tickets are known, what waits can be claimed, what was given up stays so."""
    for name in ("ticket", "waiting", "queued"):
        known = expected[name]
        status = fields_of(store.ledger.status("local", known["ticket_id"]))
        assert not any(row.pop("put_off_until") for row in status["rows"])
        assert status == known
    claims = [store.ledger.claim("worker", lease_s=60, fetch=fetch) for fetch in (False, True)]
    waiting = [row["url_key"] for name in ("queued", "waiting") for row in expected[name]["rows"]]
    assert [claim.url_key for claim in claims if claim] == waiting
    assert store.ledger.claim("worker", lease_s=60, fetch=True) is None
    assert [fields_of(letter) for letter in store.ledger.dead_letters("local")] == expected["dead"]


def test_staged_texts_and_sessions_are_there(store: SQLiteStore, expected: Any) -> None:
    """By the references that were given out."""
    staged = expected["staged"]
    assert {ref: store.staging.get("local", ref) for ref in staged} == staged
    session = store.staging.session("local", expected["session"])
    assert session is not None
    assert [one["content_ref"] for one in session.candidates] == list(staged)


def test_a_waiting_page_is_stored(settings: Settings, expected: Any) -> None:
    """A worker of this version finishes what that one accepted."""
    context = SearchContext(settings=settings, embeddings=ScriptedEmbedder())
    status = wait(expected["queued"]["ticket_id"], 60, tenant="local", context=context)
    assert [row.state for row in status.rows] == ["stored"]


def test_cached_answers_are_used(settings: Settings, expected: Any) -> None:
    """Plan and searches are known; vectors of single texts are not used any more."""
    asked = expected["question"]
    context = SearchContext(settings=settings, embeddings="lexical")
    _, result = CollectionSearchGraph(context).run(asked["input"])
    assert (result["outcome"], result["flags"]) == ("search_completed", [])
    assert result["strategy"] == asked["strategy"]
    nodes, before = result["telemetry"]["nodes"], asked["telemetry"]["nodes"]
    for name in ("k_generate_strategy", "k_parallel_web_search"):
        assert nodes[name]["cached"] is True
    for name in ("raw_result_count", "result_count"):
        stage = "k_parallel_web_search"
        assert nodes[stage][name] == before[stage][name]
    assert result["telemetry"]["cost_usd"] == 0.0


def test_spending_and_quotas_are_those_of_before(usage: SQLiteUsage, expected: Any) -> None:
    """To the last digit."""
    spent = [each | {"question": None} for each in expected["spent"]]
    assert [fields_of(one) for one in usage.totals("local", by="name")] == spent
    for provider, key_id, period, used in expected["quotas"]:
        assert usage.used(provider, key_id, period=period) == used > 0


def test_a_cassette_plays(folder: Path, expected: Any) -> None:
    """Output and telemetry are those of the recording, name by name.

    But for the ranking: of a model of hashed words this version makes no use.
    """
    cassette = Cassette.replay(folder / "run.jsonl")
    context = SearchContext(settings=Settings(home=folder / "elsewhere"), cassette=cassette)
    _, played = CollectionSearchGraph(context).run(expected["replayed"]["input"])
    live = expected["replayed"]["output"]
    for output in (played, live):
        output.pop("ids", None)
        output["search"].pop("provider_reason")
        output["telemetry"]["nodes"].pop("k_embedding_rank")
    assert played.pop("summary")  # earlier versions had none
    tokens = [played["telemetry"].pop(f"{way}_tokens") for way in ("input", "output")]
    assert all(tokens)  # nor sums of them
    assert played.pop("flags") == [*live.pop("flags"), "model_not_used"]
    ranked = [sorted(row["url"] for row in output.pop("results")) for output in (played, live)]
    assert ranked[0] == ranked[1] != []
    assert without_times(json.loads(json.dumps(played))) == without_times(live)
