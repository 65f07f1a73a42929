"""The cassette: what stands in the file, who may write it at once, and how it plays."""

from __future__ import annotations

import asyncio
import inspect
import json
import multiprocessing
import signal
import stat
import threading
from typing import TYPE_CHECKING, Any

import pytest

from collection_search import Settings
from collection_search.cassette import Cassette
from collection_search.contracts.options import SearchOptions
from collection_search.contracts.search import SearchAdapterResponse
from collection_search.errors import (
    InputError,
    ModelError,
    SearchProviderError,
    SearchProviderQuotaExceeded,
)
from collection_search.ports import BaseSearchAdapter, Embedder, QueryModel, QueryPlan
from collection_search.resilience.provider_limits import MAY_BE_BILLED
from collection_search.testing import (
    FakeClock,
    ScriptedAdapter,
    ScriptedEmbedder,
    ScriptedQueryModel,
    example_context,
    rows,
)
from collection_search.tools.web_search import WebSearchWorker

if TYPE_CHECKING:
    from pathlib import Path

SPAWN = multiprocessing.get_context("spawn")
SECRET = 'tricky "key" + more/äß'


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "run.jsonl"


def lines(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text("ascii").splitlines()]


def exchanges(path: Path) -> list[dict[str, Any]]:
    return [line for line in lines(path) if "kind" in line]


def search(cassette: Cassette, query: str = "asyncio", adapter: Any = None, **keywords: Any) -> Any:
    return cassette.search(adapter).search(query, **({"max_results": 5} | keywords))


def recorded(path: Path, *answers: Any, query: str = "asyncio") -> None:
    """Record one search per answer."""
    adapter = Cassette.record(path).search(ScriptedAdapter(*answers))
    for _ in answers:
        try:
            adapter.search(query, max_results=5)
        except SearchProviderQuotaExceeded:
            continue


# --- the file


def test_the_file_tells_what_was_asked_of_whom(path: Path) -> None:
    """A header, a line for each part, and one for each exchange with its time."""
    cassette = Cassette.record(path)
    adapter = cassette.search(ScriptedAdapter(rows(1), page_size=20))
    model = cassette.model(ScriptedQueryModel(["a", "b"], model_name="m"))
    adapter.search("asyncio", max_results=5)
    assert model is not None
    asyncio.run(model.plan("why?", purpose="test", count=2))
    header, *parts = lines(path)
    assert (header["format"], header["version"]) == ("collection-search cassette", 1)
    assert header["product"]
    assert header["recorded"].startswith("20")
    assert [part for part in parts if "part" in part] == [
        {
            "part": "search",
            "name": "scripted",
            "keywords": ["max_results", "timeout"],
            "page_size": 20,
        },
        {"part": "model", "name": "m"},
    ]
    first, second = exchanges(path)
    assert first.pop("latency_ms") >= 0
    assert first == {
        "kind": "search",
        "by": "scripted",
        "key": first["key"],
        "request": {"query": "asyncio", "max_results": 5},
        "answer": {
            "results": [
                {
                    "url": "https://example.com/asyncio/1",
                    "title": "asyncio 1",
                    "snippet": "Page 1 about asyncio.",
                    "source": "scripted",
                }
            ],
            "status_code": 200,
        },
    }
    assert second["request"] == {"question": "why?", "purpose": "test", "count": 2}


def test_only_its_owner_can_read_it(path: Path) -> None:
    """Questions are private, also in a file that was there before."""
    path.touch(mode=0o644)
    recorded(path, rows(1))
    assert stat.S_IMODE(path.stat().st_mode) == 0o600


def test_a_killed_run_leaves_what_was_said_before(path: Path) -> None:
    """An unfinished line is no part of a replay, and the next recording removes it."""
    recorded(path, rows(1))
    sound = path.read_bytes()
    path.write_bytes(sound + b'{"kind": "search", "by": "scr')
    assert len(search(Cassette.replay(path)).results) == 1
    recorded(path, rows(2))
    assert path.read_bytes().startswith(sound)
    assert len(exchanges(path)) == 2


@pytest.mark.parametrize("left", [b"", b'{"form', b'{"format": "collection-search cassette", "v'])
def test_a_run_killed_at_its_first_line_can_be_repeated(path: Path, left: bytes) -> None:
    """Then the header is written anew."""
    path.write_bytes(left)
    recorded(path, rows(1))
    assert len(search(Cassette.replay(path)).results) == 1


def test_a_long_unfinished_line_is_removed_too(path: Path) -> None:
    """One that is longer than what is read at once."""
    recorded(path, rows(1))
    sound = path.read_bytes()
    path.write_bytes(sound + b'{"x": "' + b"y" * 200_000)
    Cassette.record(path)
    assert path.read_bytes() == sound


@pytest.mark.slow
def test_many_threads_and_processes_write_whole_lines(path: Path) -> None:
    """Nobody's line is cut by another's."""
    processes = [SPAWN.Process(target=_write_many, args=(path, n)) for n in range(2)]
    for process in processes:
        process.start()
    threads = [threading.Thread(target=_write_many, args=(path, n)) for n in range(2, 5)]
    for thread in threads:
        thread.start()
    for worker in (*threads, *processes):
        worker.join()
    assert [process.exitcode for process in processes] == [0, 0]
    found = {line["request"]["query"] for line in exchanges(path)}
    assert found == {f"{n} {turn}" for n in range(5) for turn in range(10)}
    assert sum("format" in line for line in lines(path)) == 1


def _write_many(path: Path, number: int) -> None:
    adapter = Cassette.record(path).search(ScriptedAdapter(rows(20)))
    for turn in range(10):
        adapter.search(f"{number} {turn}", max_results=20)


@pytest.mark.parametrize("content", [b"notes of mine", b"notes of mine\n", b"{}\n", b"[]\n"])
def test_another_file_is_not_written_to(path: Path, content: bytes) -> None:
    """A slip of the keyboard costs nobody his notes."""
    path.write_bytes(content)
    with pytest.raises(InputError, match="cassette"):
        Cassette.record(path)
    assert path.read_bytes() == content


def test_a_file_that_cannot_be_written_is_told_at_once(tmp_path: Path) -> None:
    """Not after the first answer has been paid for."""
    with pytest.raises(InputError, match="There is no folder"):
        Cassette.record(tmp_path / "no" / "run.jsonl")
    with pytest.raises(InputError, match="cannot be read: Is a directory"):
        Cassette.record(tmp_path)


@pytest.mark.slow
def test_a_disk_that_is_full_leaves_no_half_line(path: Path) -> None:
    """What was begun is taken back, and the error says what cannot be written."""
    Cassette.record(path).search(ScriptedAdapter(rows(1)))
    sound = path.read_bytes()
    process = SPAWN.Process(target=_write_beyond, args=(path, len(sound) + 20))
    process.start()
    process.join()
    assert process.exitcode == 0
    assert path.read_bytes() == sound


def _write_beyond(path: Path, limit: int) -> None:
    """Record in a process whose files must not grow beyond the limit."""
    import resource

    adapter = Cassette.record(path).search(ScriptedAdapter(rows(1)))
    path.write_bytes(path.read_bytes()[: limit - 20])  # who answers stands there already
    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit))
    with pytest.raises(InputError, match="cannot be written: File too large"):
        adapter.search("more", max_results=5)


# --- secrets


def test_no_secret_stands_in_the_file_in_any_form(path: Path) -> None:
    """Those of the settings literally, quoted for JSON, addresses, HTML and basic authentication."""
    settings = Settings(
        providers={"tavily": {"api_key": SECRET, "base_url": "https://me:pass%20word@a.example"}},
        openai_api_key="sesame-open-7",
    )
    forms = [
        SECRET,
        json.dumps(SECRET),
        json.dumps(SECRET, ensure_ascii=False),
        "tricky%20%22key%22%20%2B%20more%2F%C3%A4%C3%9F",
        "tricky+%22key%22+%2b+more%2f%c3%a4%c3%9f",
        "tricky &quot;key&quot; + more/äß",
        "pass word",
        "pass%20word",
        "sesame-open-7",
        "c2VzYW1lLW9wZW4tNw==",
        "Bearer abcdef0123456789",
        "sk-proj-Aa1Bb2Cc3Dd4Ee5Ff6Gg7Hh8Ii9Jj0",
        "jane@example.com",
        "+49 30 1234567",
        "DE89 3704 0044 0532 0130 00",
    ]
    found = rows(len(forms))
    for row, form in zip(found, forms, strict=True):
        row.snippet = f"It is {form}, says the page."
    answer = SearchAdapterResponse(
        results=found,
        status_code=200,
        raw_results=[{form: [form]} for form in forms] + [{"api_key": "abc"}],
        notices=forms,
    )
    cassette = Cassette.record(path)
    cassette.hide(settings)
    failing = ScriptedAdapter(
        answer, *(SearchProviderQuotaExceeded(f"no {form}") for form in forms)
    )
    adapter = cassette.search(failing)
    for form in ["all", *forms]:
        try:
            adapter.search(form, max_results=50)
        except SearchProviderQuotaExceeded:
            continue
    model = cassette.model(ScriptedQueryModel(forms))
    assert model is not None
    asyncio.run(model.plan(" ".join(forms), purpose=SECRET, count=3))
    written = path.read_text("ascii")
    told = json.dumps(lines(path), ensure_ascii=False)
    for form in forms:
        assert form not in told
        assert form not in written
        assert json.dumps(form)[1:-1] not in written
    assert '"abc"' not in written


def test_the_run_itself_sees_what_the_provider_said(path: Path) -> None:
    """Only the file is masked."""
    found = rows(1)
    found[0].snippet = "Write to jane@example.com."
    assert search(Cassette.record(path), adapter=ScriptedAdapter(found)).results == found


def test_keys_of_an_adapter_that_was_given_alive_are_known(path: Path) -> None:
    """They stand in no settings."""
    adapter = ScriptedAdapter(SearchProviderQuotaExceeded("key open-sesame-7 is used up"))
    adapter.api_key = "open-sesame-7"  # type: ignore[attr-defined]
    with pytest.raises(SearchProviderQuotaExceeded):
        search(Cassette.record(path), adapter=adapter)
    assert "sesame" not in path.read_text()


def test_a_masked_question_is_found_again(path: Path) -> None:
    """A request with a secret or an address is compared as it is written."""
    question = f"who is jane@example.com with {SECRET}?"
    settings = Settings(openai_api_key=SECRET)
    cassette = Cassette.record(path)
    cassette.hide(settings)
    search(cassette, question, ScriptedAdapter(rows(2)))
    replay = Cassette.replay(path)
    replay.hide(settings)
    assert len(search(replay, question).results) == 2


def test_vectors_are_not_masked(path: Path) -> None:
    """Base64 looks as random as a key."""
    texts = [f"text {n}" for n in range(40)]
    recording = Cassette.record(path).embedder(ScriptedEmbedder(dimension=100))
    assert recording is not None
    embedded = asyncio.run(recording.embed(texts))
    replay = Cassette.replay(path).embedder(None)
    assert replay is not None
    assert (asyncio.run(replay.embed(texts)).vectors == embedded.vectors).all()


# --- the wrappers


def test_what_stands_for_a_port_has_its_form(path: Path) -> None:
    """The protocols hold, names and attributes are those of what is wrapped."""
    adapter = ScriptedAdapter(rows(1), provider_name="mine", page_size=20)
    model, embedder = ScriptedQueryModel(["a"], model_name="m"), ScriptedEmbedder()
    cassette = Cassette.record(path)
    _introduced(cassette)
    for tape in (cassette, Cassette.replay(path)):
        wrapped = tape.search(adapter)
        assert isinstance(wrapped, BaseSearchAdapter)
        assert (wrapped.provider_name, wrapped.page_size) == ("mine", 20)
        assert inspect.iscoroutinefunction(wrapped.asearch)
        for function in (wrapped.search, wrapped.asearch):
            assert list(inspect.signature(function).parameters) == [
                "query",
                "max_results",
                "timeout",
            ]
        planning, embedding = tape.model(model), tape.embedder(embedder)
        assert isinstance(planning, QueryModel)
        assert isinstance(embedding, Embedder)
        assert (planning.model_name, embedding.fingerprint) == ("m", "scripted:64")


def _introduced(cassette: Cassette) -> None:
    """Write the parts, so that a replay has them."""
    cassette.search(ScriptedAdapter(provider_name="mine", page_size=20))
    cassette.model(ScriptedQueryModel(["a"], model_name="m"))
    cassette.embedder(ScriptedEmbedder())


class Legacy:
    """An adapter as they were before: its own words for count and name, and no time limit."""

    rates = "a table"

    def provider(self) -> str:
        return "legacy"

    def search(self, query: str, limit: int) -> SearchAdapterResponse:
        return SearchAdapterResponse(results=rows(limit), status_code=200)


def test_an_older_dialect_is_kept(path: Path) -> None:
    """The worker speaks to the wrapper as it would to the adapter."""
    recording = Cassette.record(path).search(Legacy())
    assert recording.rates == "a table"
    assert not hasattr(recording, "asearch")
    live = WebSearchWorker(recording).run(query="a", context=example_context())
    played = WebSearchWorker(Cassette.replay(path).search(None)).run(
        query="a", context=example_context()
    )
    assert live.outcome.meta["provider"] == played.outcome.meta["provider"] == "legacy"
    assert played.results == live.results
    assert len(played.results) == 10


class Odd(ScriptedAdapter):
    asearch = None  # type: ignore[assignment]

    def search(self, *arguments: Any, **options: Any) -> Any:
        return {"results": []}


def test_an_answer_of_another_form_plays_as_the_worker_judged_it(path: Path) -> None:
    """An adapter that returns anything else ends in the same outcome."""
    told = []
    for make in (Cassette.record, Cassette.replay):
        worker = WebSearchWorker(make(path).search(Odd()))
        response = worker.run(query="a", context=example_context())
        error = response.outcome.meta["error"]
        told.append((response.outcome.rationale, error["kind"], error["http_status"]))
        assert "dict" in error["message"]
    assert told == [("provider_bad_response", "SearchProviderBadResponse", None)] * 2


class Hanging(ScriptedAdapter):
    async def asearch(self, *arguments: Any, **options: Any) -> Any:
        await asyncio.Event().wait()


async def test_a_call_that_was_cut_off_plays_as_a_timeout(path: Path) -> None:
    """So it is for the run as well."""
    adapter = Cassette.record(path).search(Hanging())
    task = asyncio.ensure_future(adapter.asearch("asyncio", max_results=5))
    await asyncio.sleep(0)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    with pytest.raises(TimeoutError, match="cut off"):
        search(Cassette.replay(path))


# --- replaying


def test_the_same_request_plays_its_answers_in_order(path: Path) -> None:
    """And then repeats the last one, as often as it is asked."""
    recorded(path, rows(1), rows(2), rows(3))
    replay = Cassette.replay(path)
    assert [len(search(replay).results) for _ in range(5)] == [1, 2, 3, 3, 3]


def test_time_makes_no_difference_but_options_do(path: Path) -> None:
    """A request is its query, its count and what was wished, not how long it may take."""

    class Wishing(ScriptedAdapter):
        asearch = None  # type: ignore[assignment]

        def search(self, query, *, max_results, timeout=None, options=None):  # type: ignore[no-untyped-def,override]
            return super().search(query, max_results=max_results)

    live = Cassette.record(path).search(Wishing(rows(3)))
    live.search("a", max_results=5, timeout=1.0, options=SearchOptions(topic="news"))
    played = Cassette.replay(path).search(None)
    assert "options" in inspect.signature(played.search).parameters
    played.search("a", max_results=5, timeout=9.0, options=SearchOptions(topic="news"))
    for other in ({}, {"options": SearchOptions(topic="general")}, {"max_results": 6}):
        with pytest.raises(InputError, match="holds no search for 'a'"):
            played.search("a", **({"max_results": 5, "options": SearchOptions()} | other))


def test_a_recorded_throttle_is_raised_again_and_not_waited_for(path: Path) -> None:
    """The worker tries again at once; with `waits` it waits as it did."""
    throttled = SearchProviderQuotaExceeded("slow down", retry_in_ms=9_000)
    recorded(path, throttled, throttled, rows(2))
    for waits, slept in ((False, [0.0, 0.0]), (True, [9.0, 9.0])):
        clock = FakeClock()
        adapter = Cassette.replay(path, waits=waits).search(None)
        worker = WebSearchWorker(
            adapter, max_results=5, oversample_factor=1, sleep=clock.sleep, timer=clock.monotonic
        )
        response = worker.run(query="asyncio", context=example_context())
        assert clock.slept == slept
        assert response.outcome.meta["attempts"] == 3
        assert len(response.results) == 2


def test_the_failure_that_ended_a_search_is_told_as_it_was(path: Path) -> None:
    """With the time that the provider asked for."""
    recorded(path, SearchProviderQuotaExceeded("slow down", retry_in_ms=9_000_000))
    response = WebSearchWorker(
        Cassette.replay(path).search(None), max_results=5, oversample_factor=1
    ).run(query="asyncio", context=example_context())
    error = response.outcome.meta["error"]
    assert (error["kind"], error["retry_in_ms"]) == ("SearchProviderQuotaExceeded", 9_000_000)


async def test_plans_and_vectors_that_failed_fail_again(path: Path) -> None:
    """With class and message."""
    cassette = Cassette.record(path)
    model = cassette.model(ScriptedQueryModel(ModelError("out of order"), ["a"]))
    embedder = cassette.embedder(ScriptedEmbedder(errors=[TimeoutError("late")]))
    await _fails_then_plans(model, embedder)
    replay = Cassette.replay(path)
    await _fails_then_plans(replay.model(None), replay.embedder(None))


async def _fails_then_plans(model: QueryModel | None, embedder: Embedder | None) -> None:
    assert model is not None
    assert embedder is not None
    with pytest.raises(ModelError, match="out of order"):
        await model.plan("q", purpose="p", count=1)
    with pytest.raises(TimeoutError, match="late"):
        await embedder.embed(["a"])
    assert await model.plan("q", purpose="p", count=1) == QueryPlan(["a"], "scripted", 29, 44)


async def test_what_is_not_there_is_named(path: Path) -> None:
    """Query, question or texts, and why they may be missing; the cassette remembers them."""
    _introduced(Cassette.record(path))
    replay = Cassette.replay(path)
    model, embedder = replay.model(None), replay.embedder(None)
    assert model is not None
    assert embedder is not None
    with pytest.raises(InputError, match="no search for 'a' with max_results 5 by mine") as caught:
        search(replay, "a")
    assert isinstance(caught.value, SearchProviderError)
    assert caught.value.code not in MAY_BE_BILLED
    with pytest.raises(InputError, match=r"no plan of 3 queries for 'b \[email\]' and 'p' by m"):
        await model.plan("b jane@example.com", purpose="p", count=3)
    with pytest.raises(InputError, match="no vectors of 2 texts, the first 'c' by scripted:64"):
        await embedder.embed(["c", "d"])
    assert len(replay.missing) == 3


def test_parts_are_named_as_they_were(path: Path) -> None:
    """With the vendor before the model or without, with the dimension after it or without."""
    cassette = Cassette.record(path)
    cassette.model(ScriptedQueryModel(["a"], model_name="gpt-x"))
    cassette.embedder(ScriptedEmbedder(fingerprint="openai:small@512"))
    replay = Cassette.replay(path)
    for name in (None, "gpt-x", "openai:gpt-x"):
        model = replay.model(name)
        assert model is not None
        assert model.model_name == "gpt-x"
    for name in (None, "openai:small", "openai:small@512"):
        embedder = replay.embedder(name)
        assert embedder is not None
        assert embedder.fingerprint == "openai:small@512"
    with pytest.raises(InputError, match="another model than 'gpt-y': gpt-x"):
        replay.model("gpt-y")
    with pytest.raises(InputError, match="holds no search"):
        replay.search(None)


def test_several_runs_of_several_providers_play_the_last_one(path: Path) -> None:
    """The others by their names."""
    for name, count in (("first", 1), ("second", 2)):
        adapter = ScriptedAdapter(rows(count), provider_name=name)
        search(Cassette.record(path), adapter=adapter)
    replay = Cassette.replay(path)
    for given, count in ((None, 2), ("auto", 2), ("first", 1), ("second", 2)):
        assert len(search(replay, adapter=given).results) == count


def test_a_run_without_a_model_plays_without_one(path: Path) -> None:
    """So it plans and compares as it did then."""
    recorded(path, rows(1))
    assert Cassette.record(path).model(None) is None
    assert Cassette.record(path).embedder(None) is None
    assert Cassette.replay(path).model(None) is None
    assert Cassette.replay(path).embedder(None) is None


# --- damage


def _edited(line: bytes, name: str, value: Any) -> bytes:
    return json.dumps(json.loads(line) | {name: value}).encode()


@pytest.mark.parametrize(
    ("edit", "problem"),
    [
        (lambda line: line[:-9], "it is no JSON"),
        (lambda _: b"[]", "it is no JSON object"),
        (lambda _: b'{"kind": NaN}', "it is no JSON"),
        (lambda _: b"[" * 100_000, "it is no JSON"),
        (lambda _: b'{"part": "search"}', "a part has no name"),
        (lambda line: _edited(line, "kind", "shell"), "no exchange of the kind 'shell'"),
        (lambda line: _edited(line, "kind", []), "no exchange of the kind"),
        (lambda line: _edited(line, "by", None), "does not say what was asked of whom"),
        (lambda line: _edited(line, "request", {"query": "b"}), "the key is not that of"),
        (lambda line: _edited(line, "answer", {"results": []}), "the answer has no status_code"),
        (lambda line: _edited(line, "error", {}), "either an answer or an error"),
        (lambda line: line.replace(b'"answer"', b'"error"'), "no error called None"),
    ],
)
def test_a_damaged_line_is_named(path: Path, edit: Any, problem: str) -> None:
    """File, line and what is wrong with it, before anything is asked."""
    recorded(path, rows(1), rows(1))
    written = path.read_bytes().splitlines()
    written[2] = edit(written[2])
    path.write_bytes(b"\n".join(written) + b"\n")
    with pytest.raises(InputError, match=f"run.jsonl, line 3: .*{problem}.*record it anew"):
        Cassette.replay(path)


@pytest.mark.parametrize(
    ("content", "problem"),
    [
        (b"", "holds no recording"),
        (b"\n\n", "holds no recording"),
        (b"notes\n", "line 1: it is no JSON"),
        (b"\xff\xfe\n", "line 1: it is no JSON"),
        (b"{}\n", "its first line is not the header"),
        (b'{"format": "collection-search cassette", "version": 2}\n', "is of version 2"),
    ],
)
def test_another_file_is_not_played(path: Path, content: bytes, problem: str) -> None:
    """It is told what it lacks."""
    path.write_bytes(content)
    with pytest.raises(InputError, match=problem):
        Cassette.replay(path)


def test_lines_of_a_later_version_do_no_harm(path: Path) -> None:
    """What has neither part nor kind is passed over, and so are blank lines."""
    recorded(path, rows(1))
    path.write_bytes(path.read_bytes() + b'{"remark": "ours"}\r\n\n')
    assert len(search(Cassette.replay(path)).results) == 1
