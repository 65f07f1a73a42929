"""Coverage over the API: the dashboard, a new verification and a refresh."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

import pytest
from support.api_client import ONE, TWO, as_caller, process_store, put_page

from collection_search.contracts.collection import QuestionRecord, TenantScope
from collection_search.contracts.refresh_report import RefreshReport
from collection_search.ports.usage import SpendEntry
from collection_search.settings.adapter_factory import make_adapter
from collection_search.settings.process_defaults import process_settings

if TYPE_CHECKING:
    import httpx

SCOPE = TenantScope(ONE, "docs")
QUESTION = "How is green tea steamed?"
RECORD = QuestionRecord(question=QUESTION, queries=["green tea steamed", "quantum chromodynamics"])
TEXT = "Green tea is steamed for half a minute, so that its leaves stay green."


def _fill(collection: str = "docs") -> None:
    put_page("https://example.com/tea", TEXT, run_id="run-1", collection=collection)
    process_store().collections.remember_question(TenantScope(ONE, collection), RECORD)


async def test_the_dashboard_without_a_verification(api: httpx.AsyncClient) -> None:
    """Nothing is known of the queries; documents, freshness and cost are."""
    _fill()
    spent = [
        SpendEntry(ONE, "run-1", 1.0, "search", "tavily", cost_usd=0.008),
        SpendEntry(ONE, "run-of-another-collection", 1.0, "search", "tavily", cost_usd=1),
        SpendEntry(TWO, "run-1", 1.0, "search", "tavily", cost_usd=2),
    ]
    make_adapter(process_settings(), "usage", "sqlite").add(spent)
    shown = (await api.get("/collections/docs/coverage")).json()
    (question,) = shown["questions"]
    assert question["question"] == QUESTION
    assert question["verified_at"] is None
    assert [(one["query"], one["answered"]) for one in question["queries"]] == [
        (QUESTION, None),
        ("green tea steamed", None),
        ("quantum chromodynamics", None),
    ]
    assert (question["answered"], question["open"], question["unverified"]) == (0, 0, 3)
    assert (shown["documents"], shown["cost_usd"], shown["cost_complete"]) == (1, 0.008, True)
    assert shown["freshness"]["oldest"] == shown["freshness"]["newest"]
    assert shown["freshness"]["newest"].endswith("Z")


async def test_the_dashboard_shows_no_secret_of_a_question(api: httpx.AsyncClient) -> None:
    """Nor of the queries that were made of it."""
    put_page("https://example.com/tea", TEXT, run_id="run-1")
    asked = QuestionRecord(question="why does api_key=abcdef1 fail", queries=["abcdef1 fail"])
    process_store().collections.remember_question(SCOPE, asked)
    shown = await api.get("/collections/docs/coverage")
    assert shown.json()["questions"][0]["question"] == "why does api_key=[secret] fail"
    assert "abcdef1" not in shown.text


async def test_a_question_is_verified_as_the_dashboard_shows_it(api: httpx.AsyncClient) -> None:
    """All questions that are shown so are verified, and the answer shows no secret."""
    put_page("https://example.com/tea", TEXT, run_id="run-1")
    for key in ("abcdef1", "ghijkl2"):
        queries = [f"green tea steamed {key}", "green tea"]
        asked = QuestionRecord(question=f"How is api_key={key} tea steamed?", queries=queries)
        process_store().collections.remember_question(SCOPE, asked)
    shown = "How is api_key=[secret] tea steamed?"
    for body in ({"question": shown}, {}):
        verified = await api.post("/collections/docs/coverage", json=body)
        assert verified.status_code == 200
        assert "abcdef1" not in verified.text
        assert "ghijkl2" not in verified.text
        told = verified.json()
        assert {one["question"] for one in told.get("questions", [told])} == {shown}
    dashboard = (await api.get("/collections/docs/coverage")).json()
    for question in dashboard["questions"]:
        assert (question["question"], question["unverified"]) == (shown, 0)
        assert len(question["queries"]) == 3


async def test_an_answer_to_a_question_with_a_secret_masks_it(api: httpx.AsyncClient) -> None:
    """The secret of the purpose too, although the caller names the question alone."""
    put_page("https://example.com/tea", TEXT, run_id="run-1")
    asked = QuestionRecord(
        question=QUESTION, purpose="api_key=abcdef1", queries=["green tea abcdef1"]
    )
    process_store().collections.remember_question(SCOPE, asked)
    verified = await api.post("/collections/docs/coverage", json={"question": QUESTION})
    assert "green tea [secret]" in verified.text
    assert "abcdef1" not in verified.text


async def test_a_verification_is_remembered(api: httpx.AsyncClient) -> None:
    """With the best score of each query, answered or open."""
    _fill()
    caller = as_caller(ONE, "reviewer")
    verified = await api.post("/collections/docs/coverage", json={"question": QUESTION}, **caller)
    assert verified.json()["gaps"] == ["quantum chromodynamics"]
    assert verified.json()["question"] == QUESTION
    (question,) = (await api.get("/collections/docs/coverage")).json()["questions"]
    assert (question["answered"], question["open"], question["unverified"]) == (2, 1, 0)
    scores = {one["query"]: one["best_score"] for one in question["queries"]}
    assert scores["green tea steamed"] > 50
    assert question["verified_at"].endswith("Z")


async def test_all_questions_are_verified(api: httpx.AsyncClient) -> None:
    """Those that filled the collection, where none is named."""
    _fill()
    asked = QuestionRecord(question="Which leaves stay green?")
    process_store().collections.remember_question(SCOPE, asked)
    verified = (await api.post("/collections/docs/coverage")).json()["questions"]
    assert [one["question"] for one in verified] == [QUESTION, "Which leaves stay green?"]


async def test_without_questions_one_is_asked_for(api: httpx.AsyncClient) -> None:
    put_page("https://example.com/tea", TEXT)
    answer = await api.post("/collections/docs/coverage", json={})
    assert answer.status_code == 422
    assert "give one" in answer.json()["error"]["message"]


async def test_a_refresh_reports_and_its_state_is_kept(api: httpx.AsyncClient) -> None:
    """Two requests at once share one refresh; texts without an address are not fetched."""
    put_page("https://example.com/tea", TEXT)
    assert (await api.get("/collections/docs/refresh")).json()["status"] == "none"
    path, caller = "/collections/docs/refresh", as_caller(ONE, "reviewer")
    answers = await asyncio.gather(*(api.post(path, json={}, **caller) for _ in range(2)))
    reports = [RefreshReport.model_validate_json(one.text) for one in answers]
    assert reports[0] == reports[1]
    assert (reports[0].unchanged, reports[0].not_looked_at) == ([], ["https://example.com/tea"])
    state = (await api.get(path)).json()
    assert (state["status"], state["report"]["collection"]) == ("done", "docs")
    assert (await api.get(path, **as_caller(TWO))).status_code == 404


@pytest.mark.usefixtures("operated_by_one")
@pytest.mark.parametrize(("tenant", "is_told"), [(ONE, True), (TWO, False)])
async def test_only_the_operator_reads_where_a_refresh_failed(
    api: httpx.AsyncClient, tenant: str, *, is_told: bool
) -> None:
    """The data folder stands in the errors of its questions."""
    home = process_settings().home
    put_page("https://example.com/tea", TEXT, tenant=tenant)
    record = QuestionRecord(question=QUESTION, provider=f"unknown in {home}")
    process_store().collections.remember_question(TenantScope(tenant, "docs"), record)
    path, caller = "/collections/docs/refresh", as_caller(tenant)
    report = await api.post(path, json={}, **caller)
    assert report.status_code == 200
    state = await api.get(path, **caller)
    for told in (report, state):
        assert (str(home) in told.text) is is_told
        assert ("(data folder)" in told.text) is not is_told


@pytest.mark.parametrize("path", ["coverage", "refresh"])
async def test_viewers_start_nothing(api: httpx.AsyncClient, path: str) -> None:
    _fill()
    caller = as_caller(ONE, "viewer")
    assert (await api.get(f"/collections/docs/{path}", **caller)).status_code == 200
    refused = await api.post(f"/collections/docs/{path}", json={}, **caller)
    assert refused.status_code == 403
