"""What the adapters of the search vendors need to be made: names, keys, addresses."""

from __future__ import annotations

import pytest
from pydantic import SecretStr

from collection_search.adapters.search.exa import ExaSearch
from collection_search.adapters.search.google import GoogleSearchAdapter
from collection_search.adapters.search.http.adapter import HttpSearch
from collection_search.adapters.search.kagi import KagiSearch
from collection_search.adapters.search.linkup import LinkupSearch
from collection_search.adapters.search.mojeek import MojeekSearch
from collection_search.adapters.search.perplexity import PerplexitySearch
from collection_search.adapters.search.searxng import SearxngSearch
from collection_search.adapters.search.serpapi import SerpApiSearch
from collection_search.adapters.search.serper import SerperSearch
from collection_search.adapters.search.tavily import TavilySearch
from collection_search.adapters.search.wikipedia import WikipediaSearch
from collection_search.errors import ConfigError, InputError
from collection_search.ports import BaseSearchAdapter
from collection_search.settings import Settings, registry
from collection_search.settings.adapter_factory import make_adapter

VARIABLES = {
    "tavily": {"TAVILY_API_KEY": "tvly-key"},
    "brave": {"BRAVE_API_KEY": "brave-key"},
    "google": {"GOOGLE_API_KEY": "google-key", "GOOGLE_SEARCH_ENGINE_ID": "engine"},
    "searxng": {"SEARXNG_URL": "http://localhost:8080/"},
    "wikipedia": {},
    "openalex": {},
}
VENDORS: dict[str, type[HttpSearch]] = {
    "serper": SerperSearch,
    "serpapi": SerpApiSearch,
    "exa": ExaSearch,
    "linkup": LinkupSearch,
    "perplexity": PerplexitySearch,
    "mojeek": MojeekSearch,
    "kagi": KagiSearch,
}
KEYS_IN_ADDRESSES = {"serpapi", "mojeek"}


@pytest.mark.parametrize("name", VARIABLES)
def test_a_name_and_its_variables_make_an_adapter(name, monkeypatch):
    for variable, value in VARIABLES[name].items():
        monkeypatch.setenv(variable, value)
    adapter = make_adapter(Settings.load(search_timeout_s=3), "search", name)
    assert isinstance(adapter, BaseSearchAdapter)
    assert (adapter.provider_name, adapter.timeout) == (name, 3)
    assert adapter.key() == VARIABLES[name].get(f"{name.upper()}_API_KEY", "")


@pytest.mark.parametrize(
    ("name", "variables"),
    [
        ("brave", ["BRAVE_API_KEY"]),
        ("google", ["GOOGLE_API_KEY", "GOOGLE_SEARCH_ENGINE_ID"]),
        ("searxng", ["SEARXNG_URL"]),
    ],
)
def test_what_is_missing_is_named(name, variables):
    with pytest.raises(ConfigError) as error:
        make_adapter(Settings.load(), "search", name)
    assert all(variable in str(error.value) for variable in variables)


def test_google_needs_its_engine_too():
    with pytest.raises(ConfigError, match="GOOGLE_SEARCH_ENGINE_ID"):
        GoogleSearchAdapter(api_key="key", search_engine_id=" ")


@pytest.mark.parametrize("name", VARIABLES)
def test_every_address_can_be_set(name, monkeypatch):
    for variable, value in VARIABLES[name].items():
        monkeypatch.setenv(variable, value)
    monkeypatch.delenv("SEARXNG_URL", raising=False)
    monkeypatch.setenv(f"{name.upper()}_BASE_URL", "http://127.0.0.1:9/vendor/")
    request = make_adapter(Settings.load(), "search", name).request("q", 1, 0)
    assert request.url.startswith("http://127.0.0.1:9/vendor/")


@pytest.mark.parametrize("key", ["", " ", "\n", "two words", "schlüssel", "a\tb", "bell\a"])
@pytest.mark.parametrize("wrap", [str, SecretStr])
def test_a_key_that_is_none_is_refused(key, wrap):
    """A blank one too: Tavily would take it for keyless mode."""
    with pytest.raises(ConfigError, match="TAVILY_API_KEY") as error:
        TavilySearch(api_key=wrap(key))
    assert not key.strip() or key not in str(error.value)


def test_white_space_around_a_key_is_a_slip_of_copying():
    assert TavilySearch(api_key=" tvly-key\n").key() == "tvly-key"


@pytest.mark.parametrize(
    "address",
    [
        "localhost:8080",
        "ftp://localhost",
        "http://",
        "http:///search",
        "http://[::1",
        "http://localhost:99999",
        "http://user:hunter2@localhost",
        "http://localhost/search?q=%s",
        "http://localhost/#/",
        "http://local host",
        "http://localhost\x00",
    ],
)
def test_an_address_that_cannot_be_right_is_refused(address):
    with pytest.raises(ConfigError, match="SEARXNG_URL") as error:
        SearxngSearch(base_url=address)
    assert "hunter2" not in str(error.value)


@pytest.mark.parametrize("timeout", [0, -1, float("inf"), float("nan")])
def test_a_time_limit_is_a_number_of_seconds(timeout):
    with pytest.raises(InputError, match="timeout"):
        WikipediaSearch(timeout=timeout)


def test_a_wikipedia_has_a_language():
    adapter = make_adapter(Settings.load(), "search", "wikipedia:de")
    assert adapter.base_url == "https://de.wikipedia.org"
    assert adapter.provider_name == "wikipedia"


@pytest.mark.parametrize("language", ["DE", "de.evil.example/", "d", "de@x", "../de", "de\n"])
def test_a_language_is_no_address(language):
    with pytest.raises(ConfigError, match="wikipedia:de"):
        WikipediaSearch.from_settings(Settings.load(), model=language)


def test_language_and_address_exclude_each_other(monkeypatch):
    monkeypatch.setenv("WIKIPEDIA_BASE_URL", "http://127.0.0.1:9")
    with pytest.raises(ConfigError, match="WIKIPEDIA_BASE_URL"):
        WikipediaSearch.from_settings(Settings.load(), model="de")


@pytest.mark.parametrize("name", VARIABLES)
def test_no_key_shows(name, monkeypatch):
    """Neither an adapter nor a request shows its key when it is printed."""
    for variable, value in VARIABLES[name].items():
        monkeypatch.setenv(variable, value)
    adapter = make_adapter(Settings.load(), "search", name)
    request = adapter.request("q", 1, 0)
    assert "-key" not in f"{adapter!r} {vars(adapter)} {request!r}"


def test_the_names_are_registered():
    assert {*VARIABLES, "offline"} <= set(registry.names("search"))
    assert all(issubclass(registry.load_adapter("search", name), HttpSearch) for name in VARIABLES)


@pytest.mark.parametrize("name", VENDORS)
def test_a_name_and_its_key_make_an_adapter(name, monkeypatch):
    monkeypatch.setenv(f"{name.upper()}_API_KEY", "a-key")
    adapter = make_adapter(Settings.load(search_timeout_s=3), "search", name)
    assert type(adapter) is VENDORS[name] is registry.load_adapter("search", name)
    assert (adapter.provider_name, adapter.timeout, adapter.key()) == (name, 3, "a-key")


@pytest.mark.parametrize("name", VENDORS)
def test_a_missing_key_is_named(name):
    with pytest.raises(ConfigError, match=f"{name.upper()}_API_KEY"):
        make_adapter(Settings.load(), "search", name)


@pytest.mark.parametrize("name", VENDORS)
def test_the_address_can_be_set(name, monkeypatch):
    monkeypatch.setenv(f"{name.upper()}_API_KEY", "a-key")
    monkeypatch.setenv(f"{name.upper()}_BASE_URL", "http://127.0.0.1:9/vendor/")
    adapter = make_adapter(Settings.load(), "search", name)
    path = adapter.request("q", 1, 0).url.removeprefix("http://127.0.0.1:9/vendor/")
    assert VENDORS[name](api_key="k").request("q", 1, 0).url.endswith(f"/{path}")


@pytest.mark.parametrize(("name", "vendor"), VENDORS.items())
def test_a_key_is_in_the_address_only_where_it_has_to_be(name, vendor):
    request = vendor(api_key="a-key").request("q", 1, 0)
    assert ("a-key" in request.params.values()) == (name in KEYS_IN_ADDRESSES)
    assert "a-key" not in request.url + str(request.json)
    assert "a-key" not in f"{request!r} {vars(vendor(api_key='a-key'))}"


def test_a_vendor_without_its_data_is_no_class() -> None:
    """What is missing is named when the class is made, with the name that is nearly right."""
    with pytest.raises(TypeError, match=r"page_size\. page_sise is not page_size\."):

        class Toy(HttpSearch):
            provider_name, title, address_variable = "toy", "Toy", "TOY_BASE_URL"
            page_sise = 10
