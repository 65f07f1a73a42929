"""Settings and costs over the API: findings and sums, by tenant, and never a secret."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

import pytest
from support.api_client import ONE, TWO, as_caller, open_api, put_page
from support.planted_secrets import SECRETS, VENDORS, leaks, quoted

from collection_search import SearchContext
from collection_search.ports.usage import SpendEntry
from collection_search.settings.adapter_factory import make_adapter
from collection_search.settings.process_defaults import process_settings
from collection_search.testing.provider_server import ProviderServer

if TYPE_CHECKING:
    import httpx

pytestmark = pytest.mark.usefixtures("operated_by_one")


@pytest.fixture
def planted(monkeypatch: pytest.MonkeyPatch) -> None:
    """Secrets wherever the settings may have one."""
    for name in VENDORS:
        variable = "BRAVE_SEARCH_API_KEY" if name == "brave" else f"{name.upper()}_API_KEY"
        monkeypatch.setenv(variable, SECRETS[name])
    monkeypatch.setenv("OPENAI_API_KEY", SECRETS["chat"])
    monkeypatch.setenv("COLLECTION_SEARCH_EMBEDDINGS_API_KEY", SECRETS["embeddings"])
    monkeypatch.setenv("LANGFUSE_BASE_URL", "http://127.0.0.1:9")
    monkeypatch.setenv("LANGFUSE_PUBLIC_KEY", "pk-lf-of-the-test")
    monkeypatch.setenv("LANGFUSE_SECRET_KEY", SECRETS["langfuse"])
    address = f"http://me:{quoted('chat-password')}@127.0.0.1:9/v1"
    monkeypatch.setenv("OPENAI_BASE_URL", address)
    monkeypatch.setenv("COLLECTION_SEARCH_MODEL", "openai:gpt-4o-mini")


async def test_no_answer_has_a_secret(planted: None, api: httpx.AsyncClient) -> None:
    """Of no route that reads, with and without live checks that all fail."""
    put_page("https://example.com/tea", "Green tea is steamed.")
    answers = {
        path: await api.get(path)
        for path in ("/settings", "/settings?check=true", "/keys", "/costs", "/collections")
    }
    answers["ask"] = await api.post("/collections/docs/ask", json={"question": "Green tea?"})
    for name in ("openai", "tavily", "langfuse", "embeddings"):
        answers[name] = await api.post(f"/keys/{name}/check")
    assert {one.status_code for one in answers.values()} == {200}
    told = [one for name, answer in answers.items() for one in leaks(name, answer.text)]
    assert not told


async def test_nobody_is_contacted_without_a_check(monkeypatch: pytest.MonkeyPatch) -> None:
    """What is set up is unchecked, until an admin checks it."""
    with ProviderServer("tavily") as server:
        monkeypatch.setenv("TAVILY_BASE_URL", server.base_url)
        monkeypatch.setenv("TAVILY_API_KEY", server.key)
        monkeypatch.setenv("COLLECTION_SEARCH_PROVIDER", "tavily")
        async with open_api() as api:
            shown = (await api.get("/settings")).json()
            assert not server.requests
            checked = (await api.get("/settings", params={"check": "true"})).json()
            assert server.requests
    found = [
        next(one for one in answer["findings"] if one["name"] == "tavily")
        for answer in (shown, checked)
    ]
    assert [one["state"] for one in found] == ["unchecked", "ok"]
    assert found[0]["configured_by"].startswith("its name in the settings")
    assert shown["provider"]["name"] == "tavily"
    assert (shown["checked"], checked["checked"]) == (False, True)


@pytest.mark.parametrize(("tenant", "role"), [(ONE, "viewer"), (TWO, "admin")])
async def test_only_the_operator_checks_and_sees_the_folder(
    api: httpx.AsyncClient, tenant: str, role: str
) -> None:
    home = str(process_settings().home)
    caller = as_caller(tenant, role)
    shown = await api.get("/settings", **caller)
    assert shown.status_code == 200
    assert home not in shown.text
    assert shown.json()["tenant"] == tenant
    for path in ("/settings?check=true", "/metrics"):
        assert (await api.get(path, **caller)).status_code == 403
        assert (await api.get(path)).status_code != 403
    assert (await api.get("/settings")).json()["home"] == home


@pytest.mark.parametrize("path", ["/settings", "/options"])
async def test_names_of_models_tell_no_place_and_no_secret(
    path: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The operator reads where a model is; what is a secret is shown to nobody."""
    key, folder = "tvly-dev-abcdefgh12345678", "/srv/private/emb"
    monkeypatch.setenv("COLLECTION_SEARCH_EMBEDDINGS", f"local:{folder}")
    monkeypatch.setenv("COLLECTION_SEARCH_MODEL", "http://u:hunter2@secret.intra:foo")
    monkeypatch.setenv("COLLECTION_SEARCH_PROVIDER", key)
    async with open_api(SearchContext()) as api:
        mine = await api.get(path)
        theirs = await api.get(path, **as_caller(ONE, "viewer"))
    assert (mine.status_code, theirs.status_code) == (200, 200)
    for answer in (mine, theirs):
        assert "hunter2" not in answer.text
        assert key not in answer.text
    assert f"local:{folder}" in mine.text
    assert "local:emb" in theirs.text
    assert "/srv/private" not in theirs.text
    assert "secret.intra" not in theirs.text


async def test_costs_are_the_tenant_s_own(api: httpx.AsyncClient) -> None:
    """By day, run and name; unknown prices make the sum incomplete."""
    now = time.time()
    spent = [
        SpendEntry(ONE, "run-1", now, "search", "tavily", cost_usd=0.008, question="Which tea?"),
        SpendEntry(ONE, "run-2", now, "chat", "gpt", input_tokens=5, output_tokens=2),
        SpendEntry(ONE, "run-0", now - 40 * 86_400, "search", "tavily", cost_usd=1),
        SpendEntry(TWO, "run-1", now, "search", "tavily", cost_usd=2),
    ]
    make_adapter(process_settings(), "usage", "sqlite").add(spent)
    by_name = (await api.get("/costs", params={"by": "name"})).json()
    assert (by_name["total_usd"], by_name["complete"]) == (0.008, False)
    rows = {one["key"]: one for one in by_name["rows"]}
    assert (rows["tavily"]["calls"], rows["tavily"]["complete"]) == (1, True)
    assert (rows["gpt"]["tokens"], rows["gpt"]["complete"]) == (7, False)
    by_run = (await api.get("/costs", params={"by": "run", "days": 60})).json()
    assert {one["key"]: one["question"] for one in by_run["rows"]} == {
        "run-0": None,
        "run-1": "Which tea?",
        "run-2": None,
    }
    assert by_run["total_usd"] == 1.008
    assert (await api.get("/costs", params={"by": "month"})).status_code == 422


async def test_an_estimate_asks_nobody(monkeypatch: pytest.MonkeyPatch) -> None:
    with ProviderServer("tavily") as server:
        monkeypatch.setenv("TAVILY_BASE_URL", server.base_url)
        monkeypatch.setenv("TAVILY_API_KEY", server.key)
        monkeypatch.setenv("COLLECTION_SEARCH_PROVIDER", "tavily")
        async with open_api() as api:
            given = {"question": "Which tea?", "collection_scope": "tea"}
            shown = (await api.post("/estimate", json=given)).json()
            free = (await api.post("/estimate?provider=offline", json=given)).json()
            wrong = await api.post("/estimate", json={**given, "max_candidates": 1})
            unknown = await api.post("/estimate?provider=nobody", json=given)
    assert free["high_usd"] == 0
    assert unknown.status_code == 400
    assert 0 < shown["low_usd"] <= shown["high_usd"]
    assert shown["parts"][0]["name"] == "tavily"
    assert wrong.status_code == 422
    assert "max_candidates" in wrong.json()["error"]["message"]
    assert not server.requests
