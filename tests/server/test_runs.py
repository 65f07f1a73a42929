"""Runs over the API: followed, replayed, cancelled, failing, many at once, of two tenants."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest
from fastapi import FastAPI
from support.scripted_world import INPUT, good_pages
from support.served_runs import API, Served, served
from support.server_app import app_with, client_of, issue
from support.waiting import wait_until_async

from collection_search import SearchContext, Settings
from collection_search.contracts.collection import Chunk, Document, TenantScope
from collection_search.contracts.server_run import ServerRun
from collection_search.errors import SearchProviderUnavailable, StoreError
from collection_search.runtime.concurrency import offload
from collection_search.server.problems import answer_problems
from collection_search.server.runs.views import view_run
from collection_search.settings.access_tokens import Role
from collection_search.testing import RecordingTrigger, ScriptedAdapter
from collection_search.text.urls import url_key
from collection_search.tools.removal import adelete_collection

if TYPE_CHECKING:
    from collections.abc import AsyncIterator
    from pathlib import Path


def context_with(settings: Settings, adapter: Any) -> SearchContext:
    return SearchContext(provider=adapter, settings=settings, trigger=RecordingTrigger())


@pytest.fixture
async def server(settings: Settings) -> AsyncIterator[Served]:
    async with served(context_with(settings, ScriptedAdapter(good_pages()))) as server:
        yield server


class HangingAdapter:
    """A provider whose calls end only when they are given up."""

    provider_name = "hanging"

    def __init__(self) -> None:
        self.called, self.given_up = 0, 0

    def search(self, query: str, *, max_results: int) -> Any:
        raise NotImplementedError

    async def asearch(self, query: str, *, max_results: int) -> Any:
        self.called += 1
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            self.given_up += 1
            raise


async def test_a_run_goes_to_its_end(server: Served) -> None:
    """Its events are those of the graph's stream, numbered without gaps, and `end` has the run."""
    run = await server.start(**INPUT)
    assert (run["status"], run["user"], run["question"]) == ("running", "local", INPUT["question"])
    *events, end = await server.events(run["run_id"])
    assert [one.number for one in events] == list(range(1, len(events) + 1))
    kinds = [one.kind for one in events]
    assert kinds[0] == "node_started"
    assert {"query_finished", "node_finished"} <= set(kinds)
    assert events[-1].data == {"type": "run_status", "status": "done", "gate_id": None}
    assert (end.kind, end.data["status"]) == ("end", "done")
    assert end.data["outcome"] == end.data["output"]["outcome"] == "search_completed"
    assert end.data["output"]["results"]
    assert end.data["ended_at"] >= end.data["created_at"]
    shown = await server.show(run["run_id"])
    assert shown.pop("result_facts").keys() == {one["url"] for one in end.data["output"]["results"]}
    assert shown == end.data
    (listed,) = (await server.client.get(f"{API}/runs")).json()["runs"]
    assert listed == {name: value for name, value in end.data.items() if name != "output"}


@pytest.mark.parametrize("options", [{"params": {"after": 3}}, {"headers": {"Last-Event-ID": "3"}}])
async def test_a_stream_goes_on_after_an_event(server: Served, options: dict[str, Any]) -> None:
    """Who lost the connection gets what came since, and nothing twice."""
    run = await server.start(**INPUT)
    whole = await server.events(run["run_id"])
    assert await server.events(run["run_id"], **options) == whole[3:]


async def test_results_tell_what_is_stored_by_now(settings: Settings) -> None:
    """A result's date comes from the provider, its mark from the run's collection as it is now."""
    first, *others = good_pages()
    dated = [replace(first, published_date="2026-03-01"), *others]
    context = context_with(settings, ScriptedAdapter(dated))
    async with served(context) as server:
        run = await server.start(**INPUT)
        await server.end_of(run["run_id"])
        before = (await server.show(run["run_id"]))["result_facts"]
        store = await (await server.runs.context_of("local")).storage()
        page = Document(first.url, url_key(first.url), first.title, "0" * 64)
        text = Chunk(0, first.snippet, 0, len(first.snippet))
        scope = TenantScope("local", run["collection"])
        await offload(store.collections.replace_document, scope, page, [text])
        after = (await server.show(run["run_id"]))["result_facts"]
    assert len(before) == len(dated)
    assert before[first.url] == {"published_date": "2026-03-01", "in_collection": False}
    assert [url for url, facts in after.items() if facts["in_collection"]] == [first.url]
    assert [one["published_date"] for one in after.values()].count(None) == len(others)


async def test_a_cancelled_run_makes_no_more_calls(settings: Settings) -> None:
    """The calls in progress are given up, and the stream ends."""
    adapter = HangingAdapter()
    async with served(context_with(settings, adapter)) as server:
        run = await server.start(**INPUT)
        following = asyncio.create_task(server.events(run["run_id"]))
        await wait_until_async(lambda: adapter.called)
        cancelled = await server.client.post(f"{API}/runs/{run['run_id']}/cancel")
        assert (cancelled.status_code, cancelled.json()["status"]) == (200, "cancelled")
        assert adapter.given_up == adapter.called
        assert (await following)[-1].data["status"] == "cancelled"
        again = await server.client.post(f"{API}/runs/{run['run_id']}/cancel")
        assert (again.status_code, again.json()["error"]["type"]) == (409, "Conflict")


async def test_a_failing_provider_is_an_outcome(settings: Settings) -> None:
    """The run is done; its output says what failed."""
    adapter = ScriptedAdapter(SearchProviderUnavailable("It is down."))
    async with served(context_with(settings, adapter)) as server:
        end = await server.end_of((await server.start(**INPUT))["run_id"])
    assert (end["status"], end["outcome"], end["error"]) == ("done", "search_failed", None)
    assert end["output"]["search"]["errors"]


async def test_a_run_that_fails_tells_its_last_event(settings: Settings) -> None:
    """The node that failed is named before the run's end, in each of several runs."""
    async with served(context_with(settings, "no-such-provider")) as server:
        runs = [await server.start(**INPUT) for _ in range(10)]
        events = await asyncio.gather(*(server.events(run["run_id"]) for run in runs))
    for told in events:
        assert [event.kind for event in told[-3:]] == ["node_failed", "run_status", "end"]
        assert (told[-1].data["status"], told[-2].data["status"]) == ("failed", "failed")


async def test_fifty_runs_at_once_end_well(settings: Settings) -> None:
    """More than the tenant's share wait for their turn; none is refused."""
    adapter = ScriptedAdapter(good_pages())
    few = settings.model_copy(update={"server_runs_per_tenant": 5})
    async with served(context_with(few, adapter)) as server:
        runs = await asyncio.gather(*(server.start(**INPUT) for _ in range(50)))
        ends = await asyncio.gather(*(server.end_of(run["run_id"]) for run in runs))
        assert {end["status"] for end in ends} == {"done"}
        listed = (await server.client.get(f"{API}/runs", params={"limit": 100})).json()["runs"]
        assert {one["run_id"] for one in listed} == {run["run_id"] for run in runs}


async def test_old_runs_go(settings: Settings) -> None:
    """A tenant's last ended runs are kept."""
    few = settings.model_copy(update={"server_runs_kept": 2})
    async with served(context_with(few, ScriptedAdapter(good_pages()))) as server:
        ids = []
        for _ in range(3):
            run = await server.start(**INPUT)
            await server.end_of(run["run_id"])
            ids.append(run["run_id"])
        await wait_until_async(lambda: len(server.runs.store.runs("local", limit=9)) == 2)
        listed = (await server.client.get(f"{API}/runs")).json()["runs"]
        assert [one["run_id"] for one in listed] == ids[:0:-1]


@pytest.mark.usefixtures("offline_index")
async def test_tenants_do_not_see_each_other(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """Another tenant's run is unknown by every route, and the list has one's own."""
    app = app_with(monkeypatch, SERVER_AUTH="true", PROVIDER="offline")
    ann, bob = issue("ann", Role.reviewer, "acme"), issue("bob", Role.admin, "other")
    async with (
        app.router.lifespan_context(app),
        client_of(app, ann) as of_ann,
        client_of(app, bob) as of_bob,
    ):
        run = await Served(app, of_ann).start(**INPUT)
        await Served(app, of_ann).end_of(run["run_id"])
        path = f"{API}/runs/{run['run_id']}"
        for method, further in (("GET", ""), ("GET", "/events"), ("POST", "/cancel")):
            answer = await of_bob.request(method, path + further)
            assert (answer.status_code, answer.json()["error"]["type"]) == (404, "NotFound")
        answer = await of_bob.post(f"{path}/resume", json={"decision": {"status": "approved"}})
        assert answer.status_code == 404
        assert (await of_bob.get(f"{API}/runs")).json() == {"runs": []}


@pytest.mark.parametrize(
    "forged",
    [
        {"tenant_id": "other"},
        {"provider": "tavily"},
        {"model": "openai:gpt-4o"},
        {"settings": {"home": "/tmp"}},
        {"store": {}},
        {"http_client": "https://proxy.example"},
        {"__proto__": 1},
    ],
)
async def test_a_forged_context_is_refused(server: Served, forged: dict[str, Any]) -> None:
    """A caller chooses among what the operator configured, and nothing is started."""
    body = {"graph": "collection_search", "input": INPUT, "context": forged}
    answer = await server.client.post(f"{API}/runs", json=body)
    assert (answer.status_code, answer.json()["error"]["type"]) == (400, "ConfigError")
    assert (await server.client.get(f"{API}/runs")).json() == {"runs": []}


async def test_the_ceiling_can_only_be_lowered(settings: Settings) -> None:
    """The lowest of the settings', the host's and the caller's holds; a higher one is refused."""
    ceiling = settings.model_copy(update={"max_cost_usd": 0.5})
    context = context_with(ceiling, ScriptedAdapter(good_pages()))
    async with served(context.model_copy(update={"max_cost_usd": 0.4})) as server:
        for asked, most in ((9.0, "0.5"), (0.45, "0.4")):
            body = {
                "graph": "collection_search",
                "input": INPUT,
                "context": {"max_cost_usd": asked},
            }
            answer = await server.client.post(f"{API}/runs", json=body)
            assert answer.status_code == 400
            assert f"above this server's ceiling of {most}" in answer.json()["error"]["message"]
        assert (await server.client.get(f"{API}/runs")).json() == {"runs": []}
        for asked, held in ((0.4, 0.4), (0.25, 0.25), (None, 0.4)):
            run = await server.start(context={"max_cost_usd": asked}, **INPUT)
            end = await server.end_of(run["run_id"])
            assert end["output"]["telemetry"]["cost_limit_usd"] == held


async def test_secrets_are_masked(server: Served) -> None:
    """In the run, its events and its output; the addresses of results stay."""
    given = INPUT | {"question": "Why does api_key=sk-proj-abcdefgh12345678 fail in asyncio?"}
    run = await server.start(**given)
    told = await server.client.get(f"{API}/runs/{run['run_id']}/events")
    assert "abcdefgh12345678" not in told.text + str(run)
    assert "api_key=[secret]" in run["question"]
    assert good_pages()[0].url in told.text


async def test_no_receipt_tells_where_the_data_is(
    settings: Settings, caplog: pytest.LogCaptureFixture
) -> None:
    """Nor do the events; the operator finds it in the log."""
    damaged = StoreError(f"The database {settings.collections_path} is damaged.")
    context = context_with(settings, ScriptedAdapter(good_pages()))
    context = context.model_copy(update={"trigger": RecordingTrigger(error=damaged)})
    async with served(context) as server:
        run = await server.start(auto_ingest=True, auto_ingest_min_score=0, **INPUT)
        told = await server.client.get(f"{API}/runs/{run['run_id']}/events")
    assert "The database (data folder)/collections.db is damaged." in told.text
    assert str(settings.home) not in told.text
    assert str(settings.collections_path) in caplog.text


async def test_no_failed_run_tells_where_the_data_is(
    settings: Settings, caplog: pytest.LogCaptureFixture
) -> None:
    """Neither in its error nor in the event of the stage that raised."""
    async with served(context_with(settings, f"no provider in {settings.home}")) as server:
        run = await server.start(**INPUT)
        told = await server.client.get(f"{API}/runs/{run['run_id']}/events")
        end = await server.show(run["run_id"])
    assert "no provider in (data folder)" in end["error"]["message"]
    assert "node_failed" in told.text
    assert str(settings.home) not in told.text
    assert str(settings.home) in caplog.text


async def test_pages_stay_what_the_web_says(settings: Settings) -> None:
    """Also where a word of the question looks like a secret: only what was asked is masked."""
    sha = "11f6ad8ec52a2984abaafd7c3b516503785c2072"
    first, *others = good_pages()
    url = f"https://github.com/python/cpython/commit/{sha}"
    found = [replace(first, url=url, title=f"Cancel a task: {sha}"), *others]
    given = INPUT | {"question": f"How does {sha} cancel an asyncio task after a timeout?"}
    async with served(context_with(settings, ScriptedAdapter(found))) as server:
        run = await server.start(**given, context={"case_id": sha})
        output = (await server.end_of(run["run_id"]))["output"]
        kept = await server.runs.find("local", run["run_id"])
    assert run["context"] == {"case_id": sha}
    assert kept is not None
    for pages in (output["results"], kept.pages):
        (page,) = [one for one in pages if one["url"] == url]
        assert page["title"] == f"Cancel a task: {sha}"
    assert sha not in str((output["question"], output["strategy"], output["search"]))
    assert sha not in str([one["query"] for one in kept.pages])


def test_secrets_among_the_choices_are_masked() -> None:
    """A case id is no secret, whatever it looks like."""
    choices = {"model": "openai:api_key=sk-proj-abcdefgh12345678", "case_id": "a1" * 20}
    run = ServerRun("run-1", "local", "collection_search", "ann", "why?", "docs", {}, choices)
    shown = view_run(run)
    assert shown["context"] == {"model": "openai:api_key=[secret]", "case_id": "a1" * 20}


async def test_wrong_inputs_are_named(server: Served) -> None:
    """Each wrong field has its message, with the nearest name for an unknown one."""
    body = {"graph": "collection_search", "input": {"question": "q", "max_candidate": 5}}
    answer = await server.client.post(f"{API}/runs", json=body)
    error = answer.json()["error"]
    assert (answer.status_code, error["type"]) == (422, "InputError")
    assert {one["field"] for one in error["fields"]} == {"collection_scope", "max_candidate"}
    assert "did you mean max_candidates" in error["message"]
    unknown = await server.client.post(f"{API}/runs", json={"graph": "research", "input": {}})
    assert unknown.json()["error"]["fields"][0]["field"] == "graph"


async def test_runs_go_with_their_collection(server: Served) -> None:
    """A deleted collection leaves no question behind; the runs of others stay."""
    gone, stays = [await server.start(**INPUT | {"collection_scope": name}) for name in "ab"]
    for run in (gone, stays):
        await server.end_of(run["run_id"])
    await adelete_collection(server.app.state.context, "a")
    listed = (await server.client.get(f"{API}/runs")).json()["runs"]
    assert [one["run_id"] for one in listed] == [stays["run_id"]]


async def test_an_unexpected_error_tells_an_id_alone(caplog: pytest.LogCaptureFixture) -> None:
    """The log has the cause under this id, without secrets."""
    app = FastAPI()
    answer_problems(app)

    @app.get(f"{API}/broken")
    async def broken() -> None:
        raise KeyError("api_key=sk-proj-abcdefgh12345678")

    async with client_of(app) as client:
        answer = await client.get(f"{API}/broken")
    error = answer.json()["error"]
    assert (answer.status_code, error["type"]) == (500, "InternalError")
    assert error["message"].split()[-1].strip(".") in caplog.text
    assert "abcdefgh12345678" not in caplog.text + answer.text
