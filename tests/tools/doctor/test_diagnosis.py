"""What the doctor finds out about each part, and that it neither spends nor tells a secret."""

from __future__ import annotations

import asyncio
import importlib.util
import json
import sqlite3
from dataclasses import asdict
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

import keyring.errors
import pytest

from collection_search import SearchContext, Settings
from collection_search.ranking.calibration import scale_of
from collection_search.settings import keyring as keys
from collection_search.settings.registry import BUILTIN
from collection_search.testing import OpenAIServer, OtlpServer, ProviderServer, ScriptedEmbedder
from collection_search.testing.keyring import MemoryKeyring
from collection_search.testing.openai_server import OpenAIFailure, RawReply
from collection_search.testing.provider_server import DIALECTS
from collection_search.testing.providers.json_endpoint import JsonEndpoint
from collection_search.testing.providers.wire import KEY, Reply
from collection_search.tools.doctor.diagnosis import Diagnosis, diagnose
from collection_search.tools.spending.spend_writer import spend_writer

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from collection_search.tools.doctor.finding import Finding

WRONG = "another-key-than-that-0123456789"
FREE = {"tavily", "serpapi", "openalex", "searxng", "wikipedia"}
"""Those with a call that costs nothing."""
KEYLESS = {"searxng", "wikipedia"}
LIMIT_S = 60.0


async def diagnosed(*, limit_s: float = LIMIT_S, spend: bool = False, **settings: Any) -> Diagnosis:
    context = SearchContext(settings=Settings.load(**settings))
    found = await diagnose(context, spend=spend, limit_s=limit_s)
    told = json.dumps([asdict(one) for one in found.findings]) + found.reason
    assert KEY not in told
    assert WRONG not in told
    return found


async def alone(
    provider: str, *, limit_s: float = LIMIT_S, spend: bool = False, **settings: Any
) -> Finding:
    context = SearchContext(settings=Settings.load(**settings))
    (finding,) = (await diagnose(context, provider=provider, spend=spend, limit_s=limit_s)).findings
    told = "; ".join([*finding.facts(), json.dumps(finding.as_json())])
    assert KEY not in told
    assert WRONG not in told
    return finding


def part(found: Diagnosis, name: str) -> Finding:
    return next(one for one in found.findings if name in (one.part, one.name))


def access(server: ProviderServer, name: str, key: str = KEY) -> dict[str, Any]:
    given = {"base_url": server.base_url, "search_engine_id": "made-up-engine"}
    return {"providers": {name: given if name in KEYLESS else given | {"api_key": key}}}


@pytest.fixture(params=sorted(DIALECTS))
def server(request: pytest.FixtureRequest) -> Iterator[ProviderServer]:
    with ProviderServer(request.param) as server:
        yield server


async def test_out_of_the_box_all_is_well() -> None:
    """What needs nothing works, what needs a key says which, and nothing is contacted."""
    found = await diagnosed()
    assert found.is_well
    assert (found.provider, part(found, "offline").chosen) == ("offline", True)
    states = {one.name: one.state for one in found.findings}
    assert {name for name, state in states.items() if state == "ok"} == {
        "offline",
        "lexical",
        "sqlite",
    }
    assert set(BUILTIN["search"]) - {"json_api"} <= set(states)
    brave = part(found, "brave")
    assert (brave.key, brave.storage_rights) == ("missing", "by plan")
    assert brave.price is not None
    assert (brave.price.usd, brave.price.seen) == (0.005, "2026-11-21")
    assert "BRAVE_API_KEY" in brave.next_step
    assert "keys set brave" in brave.next_step
    assert "SEARXNG_URL" in part(found, "searxng").next_step
    assert part(found, "google").ends_on == "2027-01-01"
    assert part(found, "wikipedia").storage_rights == "allowed"


async def test_the_offline_search_fails_with_its_list_of_folders(tmp_path: Path) -> None:
    """Every run would end with the same sentence."""
    assert (await alone("offline", home=tmp_path)).state == "ok"
    path = tmp_path / "corpus-folders.db"
    path.write_bytes(b"no database " * 400)
    finding = await alone("offline", home=tmp_path)
    assert finding.state == "failed"
    assert finding.detail.startswith(f"The list of added folders, {path}, cannot be used")
    assert "delete it and add the folders again" in finding.detail


@pytest.mark.slow
async def test_every_provider_is_looked_at_without_spending(server: ProviderServer) -> None:
    """A free call tells of the key; else the host is asked, without key and query."""
    name = server.dialect.name
    finding = await alone(name, **access(server, name))
    assert (finding.state, finding.reachable) == ("ok", True)
    (request,) = server.requests
    if name in FREE:
        expected = None if name in KEYLESS else "valid"
        assert finding.key in (expected, "not needed")
        if name not in KEYLESS:
            assert (finding.key, finding.quota_left) == (
                "valid",
                {"tavily": 870, "serpapi": 125, "openalex": 90}[name],
            )
    else:
        assert finding.key == "not checked"
        assert "--spend" in finding.detail
        assert (request.method, request.target) == ("GET", "/")
        assert KEY not in str(request.headers)


@pytest.mark.slow
async def test_spending_makes_one_search_where_it_tells_more(server: ProviderServer) -> None:
    """The vendor sees one more request, for one result; a key that was checked is not paid for."""
    name = server.dialect.name
    finding = await alone(name, spend=True, **access(server, name))
    assert finding.state == "ok"
    assert finding.key in ("valid", "not needed", None)
    assert len(server.requests) == (1 if name in FREE - KEYLESS else 2)
    searches = [one for one in server.requests if "python" in f"{one.target}{one.body}"]
    assert len(searches) == len(server.requests) - 1
    assert not server.dialect.name.startswith("brave") or finding.detail == "one search was made"


def context_with(server: ProviderServer, home: Path, **more: Any) -> SearchContext:
    name = server.dialect.name
    limits = more.pop("limits", {})
    given = access(server, name)
    given["providers"][name] |= limits
    return SearchContext(settings=Settings(home=home, **given, **more))


async def test_spending_is_written_down_and_keeps_to_the_ceiling(tmp_path: Path) -> None:
    """What the search cost stands in the ledger; one that the ceiling forbids is not made."""
    with ProviderServer("brave") as server:
        context = context_with(server, tmp_path)
        await diagnose(context, provider="brave", spend=True, limit_s=LIMIT_S)
        usage = await context.usage()
        assert usage is not None
        await asyncio.to_thread(spend_writer().flush)
        [total] = usage.totals(context.tenant(), by="name")
        assert (total.group, total.requests, float(total.cost_usd)) == ("brave", 1, 0.005)
        made = len(server.requests)
        poor = context.model_copy(update={"max_cost_usd": 0.001})
        [finding] = (await diagnose(poor, provider="brave", spend=True, limit_s=LIMIT_S)).findings
        assert len(server.requests) == made + 1  # the free call
    assert (finding.state, finding.key) == ("ok", "not checked")
    assert "ceiling" in finding.detail


async def test_spending_keeps_to_the_quota_of_the_settings(tmp_path: Path) -> None:
    """It is counted, told with its source where less is left of it, and never overrun."""
    with ProviderServer("brave") as server:
        context = context_with(server, tmp_path, limits={"quota": 1})
        found = [
            (await diagnose(context, provider="brave", spend=True, limit_s=LIMIT_S)).findings[0]
            for _ in range(2)
        ]
        searches = [one for one in server.requests if "python" in one.target]
    assert len(searches) == 1
    assert [one.quota_left for one in found] == [0, 0]
    assert [one.state for one in found] == ["failed", "failed"]
    assert "0 searches of the 1 that the settings allow this month left" in found[0].facts()


@pytest.mark.parametrize(("quota", "left"), [(100, 100), (1_000, 870)])
async def test_the_smaller_quota_is_told(tmp_path: Path, quota: int, left: int) -> None:
    """Ours or the provider's: Tavily's account says that 870 are left."""
    with ProviderServer("tavily") as server:
        context = context_with(server, tmp_path, limits={"quota": quota})
        [finding] = (await diagnose(context, provider="tavily", limit_s=LIMIT_S)).findings
    assert (finding.state, finding.quota_left) == ("ok", left)
    assert ("settings" in finding.quota_unit) == (quota == 100)


@pytest.mark.slow
@pytest.mark.parametrize("name", sorted({*DIALECTS} - KEYLESS))
async def test_a_wrong_key_is_told(name: str) -> None:
    """By the free call or by the paid one, with what to do, and never with the key."""
    with ProviderServer(name) as server:
        finding = await alone(name, spend=True, **access(server, name, WRONG))
    assert (finding.state, finding.key, finding.reachable) == ("failed", "refused", True)
    assert f"{name.upper()}_API_KEY" in finding.next_step
    assert f"keys set {name}" in finding.next_step


@pytest.mark.parametrize("name", ["tavily", "serpapi", "openalex"])
async def test_an_endpoint_without_the_free_call(name: str) -> None:
    """It is not known whether the key is good; no remedy is given for a key that may be."""
    with ProviderServer(name) as server:
        server.reply(Reply.of_json({"detail": "no such page"}, 404))
        finding = await alone(name, **access(server, name))
    assert (finding.state, finding.key, finding.reachable) == ("unchecked", "not checked", True)
    assert "--spend" in finding.detail
    assert not finding.next_step


@pytest.mark.parametrize("name", ["tavily", "serpapi"])
async def test_an_answer_that_repeats_the_key(name: str) -> None:
    """It is masked."""
    with ProviderServer(name) as server:
        server.fail("key_echoed")
        finding = await alone(name, **access(server, name))
    assert finding.state == "failed"


USED_UP = {
    "tavily": {"key": {"usage": 5, "limit": None}, "account": {"plan_usage": 9, "plan_limit": 9}},
    "serpapi": {"plan_searches_left": 0},
    "openalex": {"rate_limit": {"daily_remaining_usd": 0.0004}},
}


@pytest.mark.parametrize("name", sorted(USED_UP))
async def test_a_used_up_quota_fails(name: str) -> None:
    """The key is good, and yet no search would work."""
    with ProviderServer(name) as server:
        server.reply(Reply.of_json(USED_UP[name]))
        finding = await alone(name, **access(server, name))
    assert (finding.state, finding.key, finding.quota_left) == ("failed", "valid", 0)
    assert "plan" in finding.next_step


@pytest.mark.parametrize(
    ("answer", "left"),
    [
        (
            {"key": {"usage": 900, "limit": 1000}, "account": {"plan_usage": 1, "plan_limit": 500}},
            100,
        ),
        ({"account": {"plan_usage": 9, "plan_limit": 9, "paygo_usage": 1, "paygo_limit": 8}}, 7),
        ({"key": {"usage": 1500, "limit": 1000}}, 0),
        ({}, None),
        ({"key": None, "account": []}, None),
        ({"key": {"usage": "7", "limit": True}}, None),
        ({"key": {"usage": 1e400, "limit": float("nan")}}, None),
    ],
)
async def test_an_account_is_read_without_trust(answer: Any, left: int | None) -> None:
    """The shape is not certain: what cannot be read is not known."""
    with ProviderServer("tavily") as server:
        server.reply(Reply.of_json(answer))
        finding = await alone("tavily", **access(server, "tavily"))
    assert (finding.key, finding.quota_left) == ("valid", left)


@pytest.mark.slow
@pytest.mark.parametrize("name", sorted(FREE))
@pytest.mark.parametrize(
    "reply",
    [
        Reply.of_json([]),
        Reply.of_json(None),
        Reply.of_text("<html>hello</html>", 200, kind="text/html"),
        Reply(204),
        Reply(200, b"{", mishap="cut"),
        Reply(302, headers={"Location": "https://elsewhere.example"}),
        Reply.of_json({"error": "boom"}, 500),
        Reply(200, mishap="reset"),
        Reply(200, mishap="garbled"),
    ],
)
async def test_a_strange_answer_is_a_failure_in_words(name: str, reply: Reply) -> None:
    """Never one of Python's own."""
    with ProviderServer(name) as server:
        server.reply(reply)
        finding = await alone(name, **access(server, name))
    assert finding.state == "failed"
    assert "the check failed" not in finding.detail
    assert finding.next_step


async def test_searxng_without_json_is_told() -> None:
    """The most usual mistake of an instance, found without asking its engines."""
    with ProviderServer("searxng") as server:
        server.fail("json_disabled")
        finding = await alone("searxng", **access(server, "searxng"))
    assert finding.state == "failed"
    assert "search.formats" in finding.detail


async def test_a_gateway_without_a_vendor_behind_it_fails() -> None:
    """It answers, but not in the vendor's place."""
    with ProviderServer("brave") as server:
        server.reply(Reply.of_text("Bad Gateway", 502))
        finding = await alone("brave", **access(server, "brave"))
    assert (finding.state, finding.reachable) == ("failed", False)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["brave", "tavily"])
async def test_a_silent_vendor_does_not_hold_up_the_rest(name: str) -> None:
    """After the limit it is out of reach; all others are told as usual."""
    with ProviderServer(name) as server, ProviderServer("serpapi") as other:
        server.reply(Reply(200, mishap="held"))
        both = access(server, name)["providers"] | access(other, "serpapi")["providers"]
        found = await diagnosed(providers=both, limit_s=5.0)
    held = part(found, name)
    assert (held.state, held.reachable) == ("failed", False)
    assert held.price is not None
    assert part(found, "sqlite").state == "ok"
    assert not found.is_well


async def test_nobody_listens() -> None:
    """A closed port is out of reach, with the address to check."""
    finding = await alone("searxng", providers={"searxng": {"base_url": "http://127.0.0.1:9"}})
    assert (finding.state, finding.reachable) == ("failed", False)
    assert "SEARXNG_URL" in finding.next_step


@pytest.mark.slow
@pytest.mark.parametrize("name", sorted({*DIALECTS} - KEYLESS - {"tavily", "openalex"}))
async def test_what_is_not_configured_is_not_contacted(name: str) -> None:
    """An address alone does not configure a provider that needs a key."""
    with ProviderServer(name) as server:
        found = await diagnosed(providers={name: {"base_url": server.base_url}})
    assert part(found, name).state == "off"
    assert not server.requests


async def test_a_key_of_google_for_other_purposes_is_no_failure(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Many have one for its models: without a search engine's id nothing is configured."""
    monkeypatch.setenv("GOOGLE_API_KEY", WRONG)
    found = await diagnosed()
    google = part(found, "google")
    assert google.state == "off"
    assert google.next_step.startswith("Set GOOGLE_SEARCH_ENGINE_ID, or take another one")
    assert found.is_well


async def test_an_address_is_asked_for_where_it_is_what_is_missing() -> None:
    """A key for the proxy in front of SearXNG does not say where it is."""
    found = await diagnosed(providers={"searxng": {"api_key": WRONG}})
    searxng = part(found, "searxng")
    assert (searxng.state, searxng.next_step) == ("off", "Set SEARXNG_URL.")
    assert "searxng lacks SEARXNG_URL" in found.reason


async def test_the_fallbacks_notices_are_those_of_a_run() -> None:
    """What one lacks, and that one has no other index; nothing where they are switched off."""
    told = []
    for is_on in (True, False):
        settings = Settings.load(
            provider="serper",
            use_fallback=is_on,
            fallback_provider="serpapi brave",
            providers={name: {"api_key": KEY} for name in ("serper", "serpapi")},
        )
        found = await diagnose(SearchContext(settings=settings), contacts=False, limit_s=LIMIT_S)
        told.append(found.notices)
    (same, lacking), nothing = told
    assert "same index as serper" in same
    assert "BRAVE_API_KEY" in lacking
    assert not nothing


@pytest.mark.slow
@pytest.mark.parametrize("spend", [False, True])
async def test_a_described_endpoint_is_looked_at(*, spend: bool) -> None:
    """By its own name, with what the description says; a search tells more than the address."""
    with ProviderServer(JsonEndpoint()) as server:
        described = JsonEndpoint.description | {"storage_rights": "by plan"}
        access = {"base_url": server.base_url, "api_key": KEY, "json_api": described}
        finding = await alone("intranet", spend=spend, providers={"intranet": access})
        assert (finding.state, finding.storage_rights, finding.price) == ("ok", "by plan", None)
        assert finding.key == ("valid" if spend else "not checked")
        wrong = access | {"json_api": described | {"results": "data.rows"}}
        finding = await alone("intranet", spend=spend, providers={"intranet": wrong})
        assert finding.state == ("failed" if spend else "ok")
        assert not spend or "data has the keys items, total" in finding.detail


async def test_wrong_paths_of_a_described_endpoint_fail_a_search() -> None:
    """They are named, and nothing blames the address."""
    fields = {"url": "lnik", "title": "name"}
    with ProviderServer(JsonEndpoint()) as server:
        described = JsonEndpoint.description | {"fields": fields}
        access = {"base_url": server.base_url, "api_key": KEY, "json_api": described}
        finding = await alone("intranet", spend=True, providers={"intranet": access})
    assert (finding.state, finding.reachable) == ("failed", True)
    assert "no http(s) address at fields.url ('lnik')" in finding.detail
    assert "the first row has the keys id, link, name" in finding.detail
    assert finding.next_step == "Check what the settings say of intranet."
    assert "BASE_URL" not in finding.detail + finding.next_step


@pytest.mark.slow
async def test_a_described_endpoint_is_in_the_list() -> None:
    """With its state, and without the adapter's own name."""
    nowhere = {"base_url": "http://127.0.0.1:9", "json_api": JsonEndpoint.description}
    found = await diagnosed(providers={"intranet": nowhere})
    assert part(found, "intranet").state == "failed"
    assert "INTRANET_BASE_URL" in part(found, "intranet").next_step
    assert "json_api" not in {one.name for one in found.findings}


async def test_a_provider_that_works_without_a_key_misses_none() -> None:
    """It says how far that goes, and what a key is for."""
    found = await diagnosed()
    openalex, tavily = part(found, "openalex"), part(found, "tavily")
    assert [one.state for one in (openalex, tavily)] == ["off", "off"]
    assert [one.key for one in (openalex, tavily)] == ["not needed", "not needed"]
    assert openalex.next_step == (
        "Use it with: --provider openalex. For more searches set OPENALEX_API_KEY, or run:"
        " collection-search keys set openalex"
    )
    assert "COLLECTION_SEARCH_FETCH_CONTACT" in openalex.detail
    assert "by name" in tavily.detail


@pytest.mark.parametrize("name", ["openalex", "tavily"])
async def test_a_provider_that_is_asked_without_a_key_misses_none(name: str) -> None:
    """Where it answers, and where its address is wrong."""
    with ProviderServer(name) as server:
        finding = await alone(name, providers={name: {"base_url": server.base_url}})
    assert (finding.state, finding.key) == ("ok", "not needed")
    assert "without a key: " in finding.detail
    wrong = await alone(name, providers={name: {"base_url": "no address"}})
    assert (wrong.state, wrong.key, wrong.next_step) == ("failed", None, "")
    assert f"{name.upper()}_BASE_URL is no address" in wrong.detail


async def test_an_api_that_ends_is_told() -> None:
    """It works, and says until when."""
    with ProviderServer("google") as server:
        finding = await alone("google", **access(server, "google"))
    assert (finding.state, finding.ends_on) == ("ok", "2027-01-01")
    assert "2027-01-01" in finding.next_step


async def test_a_provider_that_there_is_not_is_told_with_the_nearest() -> None:
    """As a run says it."""
    found = part(await diagnosed(provider="tavly"), "tavly")
    assert found.state == "failed"
    assert found.detail.endswith("Did you mean tavily?")


@pytest.mark.parametrize("field", ["provider", "default_provider"])
async def test_a_named_provider_without_its_key_fails(field: str) -> None:
    """It is configured, and cannot work."""
    found = await diagnosed(**{field: "brave"})
    brave = part(found, "brave")
    assert (brave.state, brave.key) == ("failed", "missing")
    assert brave.configured_by == "its name in the settings"
    assert "BRAVE_API_KEY" in brave.next_step
    assert not found.is_well


async def test_a_named_variant_is_looked_at() -> None:
    """A language of Wikipedia is a provider of its own."""
    with ProviderServer("wikipedia") as server:
        found = await diagnosed(
            provider="wikipedia:de", providers={"wikipedia": {"base_url": server.base_url}}
        )
    assert part(found, "wikipedia:de").state == "failed"  # a language or an address, not both
    assert part(found, "wikipedia").state == "ok"


async def test_sources_of_keys_are_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Environment, settings, keyring."""
    home = Settings.load().prepared_home()
    with MemoryKeyring(), ProviderServer("tavily") as tavily, ProviderServer("serpapi") as serpapi:
        keys.store_key(home, "tavily", KEY)
        monkeypatch.setenv("TAVILY_BASE_URL", tavily.base_url)
        monkeypatch.setenv("SERPAPI_BASE_URL", serpapi.base_url)
        monkeypatch.setenv("SERPAPI_API_KEY", KEY)
        found = await diagnosed()
    assert part(found, "tavily").configured_by == "the keyring, TAVILY_BASE_URL"
    assert part(found, "tavily").key == "valid"
    assert part(found, "serpapi").configured_by == "SERPAPI_API_KEY"
    assert found.provider == "tavily"


async def test_a_locked_keyring_fails_the_provider_alone() -> None:
    """A run passes it over, and the doctor says why."""
    home = Settings.load().prepared_home()
    (home / keys.INDEX_FILE).write_text("brave\n")
    with MemoryKeyring(error=keyring.errors.KeyringLocked()):
        found = await diagnosed()
    assert part(found, "brave").state == "failed"
    assert "locked" in part(found, "brave").detail
    assert found.provider == "offline"
    assert part(found, "sqlite").state == "ok"


async def test_known_languages_of_embedders_are_told() -> None:
    """Once the scale was measured; each embedder of the ensemble is looked at too."""
    with OpenAIServer(models=["one", "two"], key=KEY) as server:
        settings = {
            "embeddings": "openai:one",
            "ensemble": "openai:two",
            "openai_api_key": KEY,
            "openai_base_url": server.base_url,
        }
        before = await diagnosed(**settings)
        known = ScriptedEmbedder(fingerprint="openai:two", tells=["english"])
        await scale_of(known, folder=Settings.load().home)
        after = await diagnosed(**settings)
    told = {one.name: one.detail for one in after.findings if one.part == "embedder"}
    assert set(told) == {"openai:one", "openai:two"}
    assert told["openai:two"].endswith(
        "English told apart (AUC 1.000), German left to words (AUC 0.787)"
    )
    assert not any("told apart" in one.detail for one in before.findings)
    assert "told apart" not in told["openai:one"]


@pytest.mark.slow
async def test_a_model_and_an_embedder_are_looked_at() -> None:
    """By the list of models; a key is valid where the list is refused without it."""
    with OpenAIServer(models=["gpt-4o-mini"], key=KEY) as server:
        found = await diagnosed(
            model="openai:gpt-4o-mini",
            embeddings="openai:text-embedding-3-small",
            openai_api_key=KEY,
            openai_base_url=server.base_url,
        )
    model, embedder = part(found, "model"), part(found, "embedder")
    assert (model.state, model.key, model.detail) == ("ok", "valid", "it serves gpt-4o-mini")
    assert model.price is not None
    assert str(model.price).startswith("$0.15 and $0.6 per million tokens read and written")
    assert (embedder.state, embedder.key) == ("ok", "valid")
    assert "lacks text-embedding-3-small" in embedder.detail
    assert embedder.next_step.startswith("Check COLLECTION_SEARCH_EMBEDDINGS: write openai:NAME")
    assert model.next_step == ""
    assert {one.path for one in server.requests} == {"/v1/models"}


async def test_a_models_wrong_key_is_told() -> None:
    """With the variable to check."""
    with OpenAIServer(models=["gpt-4o-mini"], key=KEY) as server:
        found = await diagnosed(
            model="openai:gpt-4o-mini", openai_api_key=WRONG, openai_base_url=server.base_url
        )
    model = part(found, "model")
    assert (model.state, model.key, model.reachable) == ("failed", "refused", True)
    assert "keys set openai" in model.next_step
    assert "OPENAI_API_KEY" in model.detail


async def test_a_model_out_of_reach_is_told() -> None:
    """Nobody listens at its address."""
    found = await diagnosed(model="openai:m", openai_base_url="http://127.0.0.1:9/v1")
    model = part(found, "model")
    assert (model.state, model.reachable) == ("failed", False)
    assert "address" in model.next_step


@pytest.mark.slow
@pytest.mark.parametrize("key", [None, KEY])
async def test_a_list_for_anybody_says_nothing_of_the_key(key: str | None) -> None:
    """Gateways show it: the key counts as not checked."""
    with OpenAIServer(models=["m"]) as server:
        found = await diagnosed(
            model="openai:m", openai_api_key=key, openai_base_url=server.base_url
        )
    assert (part(found, "model").state, part(found, "model").key) == ("ok", "not checked")


@pytest.mark.slow
@pytest.mark.parametrize(
    ("reply", "state"),
    [
        (OpenAIFailure(404, "no such page"), "ok"),
        (RawReply.json(["m"]), "ok"),
        (RawReply.json([{"id": "m"}]), "ok"),
        (RawReply.json({"data": None}), "ok"),
        (RawReply(b"<html>", 200), "failed"),
        (OpenAIFailure(500, "down"), "failed"),
        (OpenAIFailure(429, "no money", code="insufficient_quota"), "failed"),
    ],
)
async def test_lists_of_models_are_read_without_trust(reply: Any, state: str) -> None:
    """An endpoint without a list answers all the same."""
    with OpenAIServer(listed=reply) as server:
        found = await diagnosed(
            model="openai:m", openai_api_key=KEY, openai_base_url=server.base_url
        )
    assert part(found, "model").state == state


async def test_a_model_that_cannot_be_looked_at() -> None:
    """A missing package fails; nothing else does."""
    found = await diagnosed(model="mistralai:some-model", embeddings="nobody:any")
    assert part(found, "model").state == "failed"
    assert part(found, "model").next_step == "Run: pip install langchain-mistralai"
    assert part(found, "embedder").state == "failed"
    assert part(found, "offline").state == "ok"


async def test_an_extra_that_is_missing_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whoever is told to use ddgs could not without its package."""
    installed = importlib.util.find_spec
    monkeypatch.setattr(
        importlib.util, "find_spec", lambda name: None if name == "ddgs" else installed(name)
    )
    step = "Run: pip install 'collection-search[ddgs]'"
    ddgs = part(await diagnosed(), "ddgs")
    assert (ddgs.state, ddgs.next_step) == ("off", step)
    ddgs = await alone("ddgs")
    assert (ddgs.state, ddgs.key, ddgs.next_step) == ("failed", None, step)
    assert part(await diagnosed(), "wikipedia").next_step == "Use it with: --provider wikipedia"


@pytest.mark.parametrize(("answer", "state"), [(200, "ok"), (401, "failed"), ("refuse", "failed")])
async def test_tracing_is_looked_at(answer: Any, state: str) -> None:
    """Both keys are tried on the server's own project; no observation is sent."""
    with OtlpServer(answer) as server:
        found = await diagnosed(
            langfuse_public_key="pk-lf-1",
            langfuse_secret_key=KEY,
            langfuse_base_url=server.base_url,
        )
    tracing = part(found, "tracing")
    assert tracing.state == state
    assert not server.exports
    if state == "ok":
        assert (tracing.key, tracing.detail) == ("valid", "its project is demo")
    else:
        assert "LANGFUSE_" in tracing.detail


@pytest.mark.slow
@pytest.mark.parametrize(
    ("settings", "state"),
    [
        ({"langfuse_public_key": "pk-lf-1"}, "failed"),
        ({"langfuse_secret_key": KEY}, "failed"),
        ({"langfuse_tracing": False, "langfuse_public_key": "pk-lf-1"}, "off"),
        ({}, "off"),
    ],
)
async def test_tracing_with_half_its_keys(settings: dict[str, Any], state: str) -> None:
    """Half of the keys is a mistake; none, or switched off, is a choice."""
    found = await diagnosed(**settings)
    assert part(found, "tracing").state == state
    assert "LANGFUSE_" in part(found, "tracing").next_step


async def test_a_folder_that_cannot_be_written_fails_the_store_alone(tmp_path: Path) -> None:
    """With the variable that names another."""
    (tmp_path / "file").touch()
    found = await diagnosed(home=tmp_path / "file")
    assert part(found, "store").state == "failed"
    assert "COLLECTION_SEARCH_HOME" in part(found, "store").detail
    assert part(found, "lexical").state == "ok"


async def test_a_foreign_database_fails_the_store() -> None:
    """It is told which file it is."""
    settings = Settings.load()
    settings.prepared_home()
    with sqlite3.connect(settings.collections_path) as database:
        database.execute("CREATE TABLE theirs (x)")
    database.close()
    found = await diagnosed()
    assert part(found, "store").state == "failed"
    assert "collections.db" in part(found, "store").detail


@pytest.mark.slow
@pytest.mark.parametrize("name", sorted(FREE))
@pytest.mark.parametrize("status", [200, 401, 500])
async def test_a_page_that_repeats_the_request_tells_no_key(name: str, status: int) -> None:
    """Neither as it is nor as it stands in an address."""
    page = Reply(status, b"<html>wrong: ", {"Content-Type": "text/html"}, shows_request=True)
    with ProviderServer(name) as server:
        server.reply(page)
        finding = await alone(name, **access(server, name))
    assert finding.state == "failed"
    assert quote(KEY, safe="") not in json.dumps(finding.as_json())


@pytest.mark.parametrize("scheme", ["", "http://"])
async def test_a_password_in_an_address_is_told_nowhere(scheme: str) -> None:
    """Not even where the scheme is missing and the address is no URL."""
    address = f"{scheme}ann:hunter2@127.0.0.1:9"
    found = await diagnosed(
        model="openai:m",
        embeddings="openai:e",
        openai_api_key=KEY,
        openai_base_url=address,
        langfuse_public_key="pk-lf-1",
        langfuse_secret_key="sk-lf-1",
        langfuse_base_url=address,
    )
    assert part(found, "model").state == part(found, "embedder").state == "failed"
    assert "hunter2" not in repr([each.as_json() for each in found.findings])
