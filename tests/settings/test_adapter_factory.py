"""Which adapter a name leads to, and that each is made once."""

from __future__ import annotations

import importlib
import threading
import uuid
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Any

import pytest
from support.other_packages import install_package

from collection_search import SearchContext
from collection_search.errors import ConfigError, MissingExtraError, WebSearchError
from collection_search.settings import Settings
from collection_search.settings.adapter_factory import adapter_of, make_adapter
from collection_search.settings.process_defaults import process_settings
from collection_search.testing import ProviderServer
from collection_search.testing.providers.wire import KEY
from collection_search.tools.service import WebSearchService

if TYPE_CHECKING:
    from pathlib import Path

    from collection_search.settings.registry import Group


async def test_an_adapter_is_made_once_per_settings() -> None:
    """Equal settings share their adapter; other settings have their own."""
    one, other = Settings(tenant="a"), Settings(tenant="b")
    first = await adapter_of(one, "search", "wikipedia")
    assert await adapter_of(Settings(tenant="a"), "search", "wikipedia") is first
    assert await adapter_of(other, "search", "wikipedia") is not first


def test_threads_that_come_at_once_share_one_adapter() -> None:
    """Only the adapter that is kept is handed out."""
    settings, barrier = Settings(tenant="threads"), threading.Barrier(8, timeout=60)

    def make() -> object:
        barrier.wait()
        return make_adapter(settings, "search", "wikipedia")

    with ThreadPoolExecutor(8) as pool:
        futures = [pool.submit(make) for _ in range(8)]
    assert len({id(future.result()) for future in futures}) == 1


@pytest.mark.slow
def test_old_adapters_make_room() -> None:
    """A process with ever new settings keeps a bounded number of adapters."""
    from collection_search.settings import adapter_factory

    for n in range(adapter_factory.MAX_ADAPTERS + 5):
        make_adapter(Settings(tenant=f"tenant-{n}"), "search", "wikipedia")
    assert len(adapter_factory._adapters) <= 2 * adapter_factory.MAX_ADAPTERS


@pytest.mark.slow
def test_the_longest_unused_adapter_goes_and_databases_stay() -> None:
    """Keys that users bring do not push out the store, nor what was asked for just now."""
    from collection_search.settings import adapter_factory

    settings = Settings(tenant="stays")
    store = make_adapter(settings, "stores", "sqlite")
    first = make_adapter(settings, "search", "wikipedia")
    for n in range(2 * adapter_factory.MAX_ADAPTERS):
        make_adapter(Settings(tenant=f"user-{n}"), "search", "wikipedia")
        assert make_adapter(settings, "search", "wikipedia") is first
    assert make_adapter(settings, "stores", "sqlite") is store
    assert len(adapter_factory._adapters) <= 2 * adapter_factory.MAX_ADAPTERS


THIRD_PARTY = """
from collection_search.contracts.search import ProviderSearchResult, SearchAdapterResponse
from collection_search.errors import SearchProviderUnavailable

class Acme:
    provider_name = "Acme Search"
    asked = 0
    fails = False

    @classmethod
    def from_settings(cls, settings):
        return cls()

    def search(self, query, *, max_results):
        type(self).asked += 1
        if self.fails:
            raise SearchProviderUnavailable("Acme is down.", retryable=False)
        row = ProviderSearchResult("https://acme.example/", "Acme", "All of it.", "acme")
        return SearchAdapterResponse([row], 200)

class Sealed(Acme):
    __slots__ = ()
    def __setattr__(self, name, value):
        raise AttributeError(name)
"""


@pytest.fixture
def acme(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Any:
    """A package of a third party with two search adapters, which know nothing of `source`."""
    name = f"acme_{uuid.uuid4().hex}"
    (tmp_path / f"{name}.py").write_text(THIRD_PARTY)
    adapters = {"acme": f"{name}:Acme", "sealed": f"{name}:Sealed"}
    install_package(tmp_path, monkeypatch, name, **adapters)
    return importlib.import_module(name)


def acme_service(tmp_path: Path, provider: str = "acme", **changes: Any) -> WebSearchService:
    access = {"acme": {"api_key": "a key", **changes.pop("access", {})}}
    return WebSearchService(
        Settings(home=tmp_path, default_provider=provider, providers=access, **changes)
    )


def wish(query: str) -> dict[str, Any]:
    return {"query": query, "options": {"includeContent": False}}


def test_a_third_partys_adapter_is_limited_and_cached(acme: Any, tmp_path: Path) -> None:
    """By the name, address and key that the settings have: quota and kept answers count for it."""
    service = acme_service(tmp_path, access={"quota": 1})
    assert not service.search(wish("a")).cached
    assert service.search(wish("a")).cached
    assert acme.Acme.asked == 1
    with pytest.raises(WebSearchError) as caught:
        service.search(wish("b"))
    assert (caught.value.code, acme.Acme.asked) == ("quotaExceeded", 1)


def test_a_third_partys_adapter_has_a_fallback(acme: Any, tmp_path: Path) -> None:
    """And may be one."""
    acme.Acme.fails = True
    with ProviderServer("brave") as brave:
        brave_access = {"api_key": KEY, "base_url": brave.base_url}
        settings = Settings(
            home=tmp_path,
            default_provider="acme",
            use_fallback=True,
            providers={"acme": {"api_key": "a key"}, "brave": brave_access},
        )
        response = WebSearchService(settings).search(wish("a"))
    assert [one.provider for one in response.routing] == ["Acme Search", "brave"]


def test_sources_of_third_parties_differ_with_key_and_address(acme: Any, tmp_path: Path) -> None:
    """And show no key."""
    given = [
        {"api_key": "one key"},
        {"api_key": "another key"},
        {"api_key": "one key", "base_url": "http://proxy.example"},
        {"search_engine_id": "engine"},
    ]
    sources = [
        make_adapter(Settings(home=tmp_path, providers={"acme": access}), "search", "acme").source
        for access in given
    ]
    assert len(set(sources)) == len(given)
    assert not any("key" in source for source in sources)
    again = make_adapter(
        Settings(home=tmp_path / "b", providers={"acme": given[0]}), "search", "acme"
    )
    assert again.source == sources[0]
    assert isinstance(again, acme.Acme)


def test_an_adapter_that_takes_no_source_is_told(
    acme: Any, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """It searches without limits, and the log says so."""
    assert acme_service(tmp_path, "sealed").search(wish("a")).results
    assert "sealed has no limits, cache or fallback" in caplog.text
    assert acme.Acme.asked == 0
    assert acme.Sealed.asked == 1


@pytest.mark.parametrize("name", ["nobody", "offline:gpt"])
def test_a_wrong_name_says_what_is_known(name: str) -> None:
    """A typing error is not a missing key."""
    with pytest.raises(ConfigError, match=r"Known: .*offline|takes no model"):
        make_adapter(Settings(), "search", name)


def test_the_file_gives_keys_that_the_environment_completes(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """The map `providers` and the vendors' variables are one; the environment wins."""
    file = tmp_path / "settings.yaml"
    file.write_text(
        "providers:\n  tavily: {api_key: from-file, base_url: 'http://proxy'}\n  exa: {api_key: a}\n"
    )
    monkeypatch.setenv("COLLECTION_SEARCH_CONFIG", str(file))
    monkeypatch.setenv("TAVILY_API_KEY", "from-environment")
    settings = Settings.load()
    tavily = settings.access("tavily")
    assert tavily.api_key is not None
    assert tavily.api_key.get_secret_value() == "from-environment"
    assert tavily.base_url == "http://proxy"
    assert settings.access("exa").api_key is not None
    assert settings.access("nobody").api_key is None
    assert "from-environment" not in repr(settings)


def test_a_remote_caller_may_name_what_the_operator_configured(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """On a server a provider without key or address cannot be asked for."""
    from types import SimpleNamespace

    from langgraph.runtime import Runtime

    monkeypatch.setenv("BRAVE_API_KEY", "BSA-x")
    process_settings.cache_clear()
    server = SimpleNamespace(user=SimpleNamespace(identity="acme"))

    def asked(provider: str) -> SearchContext:
        context: dict[str, object] = {"collection_search": {"provider": provider}}
        return SearchContext.of(Runtime(context=context, server_info=server))  # type: ignore[arg-type]

    assert asked("brave").provider == "brave"
    with pytest.raises(ConfigError, match="not configured on this server"):
        asked("tavily")


@pytest.mark.parametrize("group", ["models", "embeddings"])
def test_other_vendors_come_by_their_langchain_package(group: Group) -> None:
    """A missing package is named as pip knows it."""
    with pytest.raises(MissingExtraError, match="pip install"):
        make_adapter(Settings(), group, "mistralai:some-model")


async def test_langchain_embeddings_are_an_embedder() -> None:
    """Any LangChain `Embeddings` object is taken as it is."""
    from langchain_core.embeddings import DeterministicFakeEmbedding

    class Named(DeterministicFakeEmbedding):
        model: str = "fake"

    embedder = await SearchContext(embeddings=Named(size=8)).embedder()
    assert embedder is not None
    assert (await embedder.embed(["tea", "coffee"])).vectors.shape == (2, 8)


def test_an_address_with_a_password_does_not_show() -> None:
    """The settings may be printed."""
    password = "hunter2"
    address = f"https://user:{password}@models.example/v1"
    settings = Settings(openai_base_url=address, embeddings_base_url=address)
    assert password not in repr(settings)
    assert password not in repr(SearchContext(settings=settings))


def test_a_user_without_identity_has_no_tenant() -> None:
    """A server's user decides about the tenant; ids of another run cannot be claimed."""
    from types import SimpleNamespace

    from langgraph.runtime import Runtime

    context: dict[str, object] = {"collection_search": {"run_id": "another-run"}}
    nobody = SimpleNamespace(user=SimpleNamespace(identity=""))
    with pytest.raises(ConfigError, match="no identity"):
        SearchContext.of(Runtime(context=context, server_info=nobody))  # type: ignore[arg-type]
    acme = SimpleNamespace(user=SimpleNamespace(identity="acme"))
    given = SearchContext.of(Runtime(context=context, server_info=acme))  # type: ignore[arg-type]
    assert (given.tenant_id, given.run_id) == ("acme", None)
