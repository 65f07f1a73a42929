"""How the search vendors are called, and what their adapters need to be made."""

from __future__ import annotations

import pytest
from pydantic import SecretStr

from collection_search.adapters.http import HttpRequest
from collection_search.adapters.search.brave import BraveSearch
from collection_search.adapters.search.google import GoogleSearchAdapter
from collection_search.adapters.search.http.adapter import HttpSearch
from collection_search.adapters.search.searxng import SearxngSearch, without_commands
from collection_search.adapters.search.tavily import TavilySearch
from collection_search.adapters.search.wikipedia import WikipediaSearch
from collection_search.errors import ConfigError, InputError
from collection_search.ports import BaseSearchAdapter
from collection_search.settings import Settings, registry
from collection_search.settings.adapter_factory import made

VARIABLES = {
    "tavily": {"TAVILY_API_KEY": "tvly-key"},
    "brave": {"BRAVE_API_KEY": "brave-key"},
    "google": {"GOOGLE_API_KEY": "google-key", "GOOGLE_SEARCH_ENGINE_ID": "engine"},
    "searxng": {"SEARXNG_URL": "http://localhost:8080/"},
    "wikipedia": {},
}


def test_tavily_sends_the_key_in_a_header_and_the_depth_in_the_body():
    request = TavilySearch(api_key="tvly-key").request("asyncio", 7, 0)
    assert request == HttpRequest(
        "POST",
        "https://api.tavily.com/search",
        headers={"Authorization": "Bearer tvly-key"},
        json={"query": "asyncio", "search_depth": "basic", "max_results": 7},
    )


def test_tavily_without_a_key_says_so():
    assert TavilySearch().request("asyncio", 7, 0).headers == {"X-Tavily-Access-Mode": "keyless"}


def test_brave_counts_pages():
    request = BraveSearch(api_key=SecretStr("brave-key")).request("asyncio", 20, 2)
    assert (request.method, request.url) == (
        "GET",
        "https://api.search.brave.com/res/v1/web/search",
    )
    assert request.params == {"q": "asyncio", "count": 20, "offset": 2, "result_filter": "web"}
    assert request.headers["X-Subscription-Token"] == "brave-key"


def test_google_counts_rows_from_one_and_stays_within_a_hundred():
    adapter = GoogleSearchAdapter(api_key="google-key", search_engine_id="engine")
    assert adapter.request("asyncio", 10, 0) == HttpRequest(
        "GET",
        "https://www.googleapis.com/customsearch/v1",
        params={"key": "google-key", "cx": "engine", "q": "asyncio", "num": 10, "start": 1},
    )
    last = adapter.request("asyncio", adapter.page_size, adapter.max_pages - 1).params
    assert int(last["start"]) + int(last["num"]) == 101


def test_searxng_counts_pages_from_one_and_knows_no_number_of_rows():
    adapter = SearxngSearch(base_url="https://search.example.org/searx/")
    assert adapter.request("asyncio", 20, 1) == HttpRequest(
        "GET",
        "https://search.example.org/searx/search",
        params={"q": "asyncio", "format": "json", "pageno": 2},
    )
    guarded = SearxngSearch(base_url="https://search.example.org", api_key="for-the-proxy")
    assert guarded.request("x", 20, 0).headers == {"Authorization": "Bearer for-the-proxy"}


def test_wikipedia_counts_rows_from_zero():
    assert WikipediaSearch().request("asyncio", 50, 1) == HttpRequest(
        "GET",
        "https://en.wikipedia.org/w/api.php",
        params={
            "action": "query",
            "list": "search",
            "format": "json",
            "srsearch": "asyncio",
            "srlimit": 50,
            "sroffset": 50,
        },
    )


@pytest.mark.parametrize(
    ("query", "sent"),
    [
        ("asyncio timeouts", "asyncio timeouts"),
        ("!!w asyncio", "asyncio"),
        ("!al :de <3 asyncio", "asyncio"),
        (":all <b> asyncio", "asyncio"),
        ("css !important rule", "css important rule"),
        ("python !!w", "python w"),
        ("python !!", "python"),
        ("python :de-DE async", "python de-DE async"),
        ("timeout <5 seconds", "timeout 5 seconds"),
        ("a != b, x < y, std::vector<int> :memory: <div>", None),
        ("!!w :de", ""),
        ("", ""),
    ],
)
def test_searxng_gets_no_commands(query, sent):
    """What the server would take for one is taken out; what only looks similar stays."""
    assert without_commands(query) == (query if sent is None else sent)


def test_page_sizes_are_those_of_the_vendors():
    adapters = [TavilySearch, BraveSearch, GoogleSearchAdapter, SearxngSearch, WikipediaSearch]
    assert [adapter.page_size for adapter in adapters] == [20, 20, 10, 20, 50]


@pytest.mark.parametrize("name", VARIABLES)
def test_a_name_and_its_variables_make_an_adapter(name, monkeypatch):
    for variable, value in VARIABLES[name].items():
        monkeypatch.setenv(variable, value)
    adapter = made(Settings.load(search_timeout_s=3), "search", name)
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
        made(Settings.load(), "search", name)
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
    request = made(Settings.load(), "search", name).request("q", 1, 0)
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
    adapter = made(Settings.load(), "search", "wikipedia:de")
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
    adapter = made(Settings.load(), "search", name)
    request = adapter.request("q", 1, 0)
    assert "-key" not in f"{adapter!r} {vars(adapter)} {request!r}"


def test_the_names_are_registered():
    assert {*VARIABLES, "offline"} <= set(registry.names("search"))
    assert all(issubclass(registry.load("search", name), HttpSearch) for name in VARIABLES)
