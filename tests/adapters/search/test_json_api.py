"""A JSON endpoint that the settings describe: requests, paths, and what is told when they fail."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from support.vendor_adapters import KEY, answer

from collection_search import SearchContext, Settings, WebSearchService
from collection_search.adapters.search.json_api import JsonApiSearch
from collection_search.contracts.options import SearchOptions
from collection_search.errors import ConfigError, SearchProviderBadResponse
from collection_search.ports.description import describe
from collection_search.settings.adapter_factory import make_adapter, provider_guard
from collection_search.settings.endpoint_description import JsonApi
from collection_search.settings.provider_choice import choose_provider
from collection_search.testing import ProviderServer
from collection_search.testing.providers.json_endpoint import JsonEndpoint
from collection_search.tools.ingestion.storage_rights import may_store, storing_providers

if TYPE_CHECKING:
    from pathlib import Path

USUAL: dict[str, Any] = {
    "query": "q",
    "results": "data.items",
    "fields": {"url": "link", "title": "name"},
}
ROW = {"link": "https://wiki.example/1", "name": "Asyncio"}


def endpoint(**changes: Any) -> JsonApiSearch:
    description = JsonApi.model_validate(USUAL | changes)
    return JsonApiSearch(description, name="intranet", api_key=KEY, base_url="https://a.example/b")


def settings_of(home: Path, server: ProviderServer | None = None, **changes: Any) -> Settings:
    base_url = server.base_url if server else "https://a.example"
    described = JsonEndpoint.description | changes
    access = {"api_key": KEY, "base_url": base_url, "json_api": described}
    return Settings(home=home, providers={"intranet": access}, answer_cache_s=0)


# --- the request


@pytest.mark.parametrize(
    ("path", "url"),
    [
        ("", "https://a.example/b"),
        ("/", "https://a.example/b"),
        ("/find", "https://a.example/b/find"),
        ("v1/find/", "https://a.example/b/v1/find/"),
    ],
)
def test_the_path_is_appended_to_the_address(path, url):
    assert endpoint(path=path).request("asyncio", 7, 0).url == url


@pytest.mark.parametrize(
    ("changes", "header"),
    [
        ({}, {"Authorization": f"Bearer {KEY}"}),
        ({"key_header": "authorization"}, {"authorization": f"Bearer {KEY}"}),
        ({"key_prefix": "Token "}, {"Authorization": f"Token {KEY}"}),
        ({"key_prefix": ""}, {"Authorization": KEY}),
        ({"key_header": "X-Api-Key"}, {"X-Api-Key": KEY}),
    ],
)
def test_the_key_is_in_a_header_alone(changes, header):
    request = endpoint(**changes).request("asyncio", 7, 0)
    assert request.headers == header
    assert KEY not in f"{request.url}{request.params}{request.json}"


def test_without_a_key_there_is_no_header():
    made = JsonApiSearch(JsonApi.model_validate(USUAL), name="a", base_url="https://a.example")
    assert made.request("asyncio", 7, 0).headers == {}


def test_a_get_sends_text():
    """A dot is part of a parameter's name there; what is null is not sent."""
    params = {"draft": False, "share": 0.5, "n": 7, "nothing": None}
    sent = endpoint(query="query.text", count="size", params=params).request("a b", 7, 0)
    assert sent.params == {
        "draft": "false",
        "share": "0.5",
        "n": 7,
        "query.text": "a b",
        "size": 7,
    }


def test_a_post_sends_objects_and_leaves_the_description_alone():
    params = {"query": {"lang": "de"}, "flags": [True]}
    made = endpoint(method="POST", query="query.text", count="page.size", params=params)
    for text in ("one", "two"):
        assert made.request(text, 7, 0).json == {
            "query": {"lang": "de", "text": text},
            "flags": [True],
            "page": {"size": 7},
        }
    assert made.description.params == params


# --- the answer


@pytest.mark.parametrize(
    ("path", "value"),
    [
        ("", [ROW]),
        (".", [ROW]),
        ("data.items", {"data": {"items": [ROW]}}),
        ("0.hits", [{"hits": [ROW]}]),
        ("a.1.0", {"a": [[], [[ROW]]]}),
    ],
)
def test_the_list_is_found_by_its_path(path, value):
    (row,) = endpoint(results=path).parse(answer(value)).rows
    assert (row.url, row.title, row.snippet) == ("https://wiki.example/1", "Asyncio", "Asyncio")


@pytest.mark.parametrize(
    ("value", "told"),
    [
        (
            {"data": {"hits": [], "took": 3}},
            "'data.items' (HTTP 200): data has the keys hits, took",
        ),
        ({"results": [], "total": 0}, "the answer has the keys results, total"),
        ({"data": {"items": None}}, "data.items is null"),
        ({"data": {"items": {"rows": []}}}, "data.items has the keys rows"),
        ({"data": {"items": "none"}}, "data.items is a text"),
        ({"data": [ROW]}, "data is a list"),
        ([ROW], "the answer is a list"),
        ({}, "the answer is an empty object"),
        (7, "the answer is a number"),
        (None, "the answer is"),
    ],
)
def test_an_answer_without_the_list_says_what_was_there(value, told):
    """And which setting to correct."""
    with pytest.raises(SearchProviderBadResponse) as caught:
        endpoint().parse(answer(value))
    assert told in str(caught.value)
    assert "providers.intranet.json_api.results" in str(caught.value)


def test_many_keys_and_keys_with_a_secret_are_not_repeated():
    value = {f"{n}-{'x' * 500}": 1 for n in range(1000)}
    with pytest.raises(SearchProviderBadResponse) as caught:
        endpoint().parse(answer({KEY: 1} | value))
    assert KEY not in str(caught.value)
    assert len(str(caught.value)) < 600


@pytest.mark.parametrize(
    ("scale", "given", "score"),
    [(1, 0.5, 0.5), (100, 50, 0.5), (1, 17.5, None), (100, -1, None), (1, "0.5", None)],
)
def test_a_score_is_on_the_scale_of_the_description(scale, given, score):
    fields = USUAL["fields"] | {"score": "relevance"}
    made = endpoint(results="", fields=fields, score_scale=scale)
    (row,) = made.parse(answer([ROW | {"relevance": given}])).rows
    assert row.score == score


def test_a_path_is_no_expression():
    """Neither attributes nor negative indexes."""
    fields = {"url": "link.__class__", "title": "name.-1"}
    made = endpoint(results="", fields=fields)
    with pytest.raises(SearchProviderBadResponse, match=r"'link\.__class__'.*'name\.-1'"):
        made.parse(answer([ROW]))


# --- the rows


FULL = {"url": "link", "title": "name", "snippet": "summary", "content": "text"}


@pytest.mark.parametrize(
    ("fields", "more", "snippet"),
    [
        (FULL, {"summary": "How to cancel."}, "How to cancel."),
        (FULL, {"text": "How to\ncancel."}, "How to cancel."),
        (FULL, {"summary": "<p></p>", "text": " "}, "Asyncio"),
        (FULL, {"summary": 7, "text": None}, "Asyncio"),
        (FULL, {}, "Asyncio"),
        (USUAL["fields"], {"summary": "How to cancel."}, "Asyncio"),
    ],
)
def test_a_row_without_a_snippet_has_the_beginning_of_its_text_or_its_title(fields, more, snippet):
    """A field that is optional loses no row."""
    (row,) = endpoint(results="", fields=fields).parse(answer([ROW | more])).rows
    assert row.snippet == snippet


def test_rows_that_are_no_results_are_left_to_the_worker_beside_a_valid_one():
    rows = [{"link": "/1", "name": "a"}, {"name": "b"}, ROW]
    assert "https://wiki.example/1" in [
        row.url for row in endpoint(results="").parse(answer(rows)).rows
    ]


def test_a_path_that_leads_nowhere_in_every_row_is_a_notice():
    """The rows are usable; their title or snippet is not what was meant."""
    fields = {"url": "link", "title": "nam", "snippet": "name"}
    page = endpoint(results="", fields=fields).parse(answer([ROW, ROW]))
    assert len(page.rows) == 2
    (notice,) = page.notices
    assert notice == (
        "intranet has no text at fields.title ('nam') in any row."
        " Check providers.intranet.json_api.fields."
    )
    in_one = endpoint(results="", fields=fields).parse(answer([ROW, ROW | {"nam": "Tasks"}]))
    assert in_one.notices == []


def test_a_list_without_rows_is_no_failure():
    assert endpoint(results="").parse(answer([])).rows == []


NO_ADDRESS = "no http(s) address at fields.url ('{}')"
NO_TITLE = "no text at fields.title ('{}')"


@pytest.mark.parametrize(
    ("fields", "rows", "lost", "there"),
    [
        (
            {"url": "lnik", "title": "name"},
            [ROW, ROW],
            [NO_ADDRESS.format("lnik")],
            "the first row has the keys link, name",
        ),
        (
            {"url": "link", "title": "nmae"},
            [ROW],
            [NO_TITLE.format("nmae")],
            "the first row has the keys link, name",
        ),
        (
            {"url": "doc.lnik", "title": "nmae"},
            [{"doc": ROW}],
            [NO_ADDRESS.format("doc.lnik"), NO_TITLE.format("nmae")],
            "the first row has the keys doc; doc has the keys link, name",
        ),
        (
            {"url": "link", "title": "name", "snippet": "smumary"},
            [{"link": "https://wiki.example/1", "name": None}],
            [NO_TITLE.format("name"), "no text at fields.snippet ('smumary')"],
            "the first row has the keys link, name; name is null",
        ),
        (
            USUAL["fields"],
            [{"link": "/wiki/1", "name": "Asyncio"}],
            [NO_ADDRESS.format("link")],
            "the first row has the keys link, name; link is a text",
        ),
        (
            USUAL["fields"],
            [{}],
            [NO_ADDRESS.format("link"), NO_TITLE.format("name")],
            "the first row is an empty object",
        ),
        (
            USUAL["fields"],
            [{"link": "https://wiki.example/1"}, {"name": "Asyncio"}],
            ["no row has both an http(s) address and a text"],
            "the first row has the keys link",
        ),
    ],
)
def test_rows_of_which_none_is_a_result_name_the_paths_that_lead_nowhere(fields, rows, lost, there):
    """With the keys that were there; the address is not blamed, and no value is repeated."""
    with pytest.raises(SearchProviderBadResponse) as caught:
        endpoint(results="", fields=fields).parse(answer(rows))
    assert str(caught.value) == (
        f"intranet answered with no usable row of {len(rows)} (HTTP 200): {', '.join(lost)}."
        f" Correct providers.intranet.json_api.fields; {there}."
    )
    assert not caught.value.retryable


@pytest.mark.parametrize("rows", [["a", "b"], [7], [None]])
def test_a_list_of_something_else_names_its_path(rows):
    """The address is not blamed."""
    with pytest.raises(SearchProviderBadResponse) as caught:
        endpoint(results="").parse(answer(rows))
    assert "providers.intranet.json_api.results" in str(caught.value)
    assert "BASE_URL" not in str(caught.value)


def test_many_keys_and_keys_with_a_secret_of_a_row_are_not_repeated():
    row = {KEY: 1} | {f"{n}-{'x' * 500}": 1 for n in range(1000)}
    with pytest.raises(SearchProviderBadResponse) as caught:
        endpoint(results="").parse(answer([row]))
    assert KEY not in str(caught.value)
    assert len(str(caught.value)) < 800


# --- in the settings


def test_its_name_is_everywhere(tmp_path):
    """Results, costs, limits and cache; another description has other answers."""
    adapter = make_adapter(settings_of(tmp_path), "search", "intranet")
    other = make_adapter(settings_of(tmp_path, results="data.rows"), "search", "intranet")
    first, second = describe(adapter).info, describe(other).info
    assert (first.name, first.key_variable, first.page_size) == (
        "intranet",
        "INTRANET_API_KEY",
        20,
    )
    assert first.source == second.source
    assert first.cache_identity != second.cache_identity
    assert KEY not in repr(first)
    settings = settings_of(tmp_path)
    assert provider_guard(settings, adapter) is provider_guard(settings, other)


async def test_auto_chooses_it_where_nothing_else_is_configured(tmp_path):
    """Any vendor with a key comes before it, and a name before all."""
    settings = settings_of(tmp_path)
    assert (await choose_provider(settings)).name == "intranet"
    keyed = {**settings.providers, "mojeek": {"api_key": KEY}}
    keyed = Settings(home=tmp_path, providers=keyed)
    assert (await choose_provider(keyed)).name == "mojeek"
    named = keyed.model_copy(update={"default_provider": "intranet"})
    assert (await choose_provider(named)).name == "intranet"


@pytest.mark.parametrize("name", ["json_api", "intranett", "intranet:x"])
def test_other_names_are_refused(tmp_path, name):
    """The adapter's own name, a misspelt one, and one with a model."""
    meant = {"json_api": "providers.NAME.json_api", "intranett": "Did you mean intranet?"}
    with pytest.raises(ConfigError) as caught:
        make_adapter(settings_of(tmp_path), "search", name)
    assert meant.get(name, "takes no model") in str(caught.value)


async def test_the_service_asks_it_and_it_may_be_the_fallback(tmp_path):
    with ProviderServer(JsonEndpoint()) as server, ProviderServer("tavily") as first:
        settings = settings_of(tmp_path, server)
        tavily = {"api_key": first.key, "base_url": first.base_url}
        providers = {**settings.providers, "tavily": tavily}
        settings = Settings(
            home=tmp_path,
            provider="tavily",
            providers=providers,
            use_fallback=True,
            fallback_provider="intranet",
        )
        service = WebSearchService(settings)
        assert await service.ainitialize(None, "intranet")
        found = await service.asearch("asyncio")
        assert found.provider == "intranet"
        assert len(found.results) == 5
        routes, notices = await SearchContext(settings=settings).search_providers()
        assert [describe(one.adapter).info.name for one in routes] == ["tavily", "intranet"]
        assert notices == []


def test_options_without_a_place_are_left_to_the_worker():
    """Contents with a path, a number with a parameter: nothing else."""
    wish = SearchOptions(max_results=3, include_content=True, language="de", freshness="day")
    assert endpoint().applied(wish) == {"max_results": "post_filtered"}
    fields = USUAL["fields"] | {"content": "text"}
    assert endpoint(count="n", fields=fields).applied(wish) == {
        "max_results": "native",
        "include_content": "native",
    }


@pytest.mark.parametrize(
    ("rights", "stored"), [("allowed", True), ("by plan", False), (None, False)]
)
def test_its_texts_are_stored_if_the_description_allows_it(tmp_path, rights, stored):
    changes = {} if rights is None else {"storage_rights": rights}
    settings = settings_of(tmp_path, **changes)
    assert may_store("intranet", settings) is stored
    assert storing_providers(["intranet"], settings) == ({"intranet"} if stored else set())
