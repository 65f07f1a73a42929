"""The description of a JSON endpoint in the settings, and what is said of its mistakes."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import pytest
import yaml

from collection_search.errors import ConfigError
from collection_search.settings import Settings
from collection_search.settings.key_sources import key_names

if TYPE_CHECKING:
    from pathlib import Path

FILE = """
providers:
  intranet:
    base_url: https://search.intra.example/api
    rate_per_s: 5
    json_api:
      path: /search
      query: q
      count: limit
      params: {format: json}
      results: data.items
      fields:
        url: link
        title: name
"""


@pytest.fixture(autouse=True)
def empty_surroundings(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """No variable and no file of this machine reaches a test."""
    for name in os.environ:
        if name.endswith(("_API_KEY", "_BASE_URL")) or name.startswith("COLLECTION_SEARCH_"):
            monkeypatch.delenv(name)
    monkeypatch.chdir(tmp_path)


def load(text: str) -> Settings:
    with open("collection-search.yaml", "w", encoding="utf-8") as file:  # noqa: PTH123
        file.write(text)
    return Settings.load()


def test_a_description_makes_a_name_known(monkeypatch: pytest.MonkeyPatch) -> None:
    """Key and address may come from variables of that name."""
    monkeypatch.setenv("INTRANET_API_KEY", "hunter2")
    monkeypatch.setenv("INTRANET_BASE_URL", "https://elsewhere.example")
    settings = load(FILE)
    access = settings.access("intranet")
    assert access.base_url == "https://elsewhere.example"
    assert access.api_key is not None
    assert access.api_key.get_secret_value() == "hunter2"
    assert access.rate_per_s == 5
    described = settings.described("intranet")
    assert described is not None
    assert (described.method, described.page_size, described.prefix()) == ("GET", 20, "Bearer ")
    assert settings.described("tavily") is None
    assert "intranet" in key_names(settings)
    assert "hunter2" not in repr(settings)


@pytest.mark.parametrize(
    ("old", "new", "told"),
    [
        ("title:", "titel:", r"intranet\.json_api\.fields\.titel: .* did you mean title\?"),
        ("results:", "resutls:", r"intranet\.json_api\.resutls: .* did you mean results\?"),
        ("json_api:", "json_apy:", r"intranet\.json_apy: .* did you mean json_api\?"),
        ("query: q", "query: [q]", r"intranet\.json_api\.query: give a text"),
        ("query: q", "query: ''", r"intranet\.json_api\.query: give 1 or more characters"),
        ("      query: q\n", "", r"intranet\.json_api\.query: it is missing"),
        ("url: link", "url: ''", r"intranet\.json_api\.fields\.url: give 1 or more characters"),
        ("url: link", "url: a..b", r"fields\.url: a path is names and list indexes"),
        ("data.items", "data.items[0]", r"json_api\.results: a path is names and list indexes"),
        ("/search", "/search?x=1", r"json_api\.path: only the path stands here"),
        ("/search", "https://a.example/x", r"json_api\.path: only the path stands here"),
        ("count: limit", "count: q", r"intranet\.json_api: q is set twice"),
        ("{format: json}", "{q: x}", r"intranet\.json_api: q is set twice"),
        ("{format: json}", "{a: [1]}", r"json_api: params\.a is a list or an object"),
        ("count: limit", "method: PUT", r"json_api\.method: give GET or POST"),
        ("count: limit", 'key_header: "X: y"', r"json_api\.key_header: give the name of a header"),
        ("count: limit", "page_size: 0", r"json_api\.page_size: give 1 or more"),
        ("count: limit", "score_scale: 0", r"json_api\.score_scale: give more than 0"),
        (
            "count: limit",
            "storage_rights: yes",
            r"json_api\.storage_rights: give unknown, allowed or by plan",
        ),
        ("  intranet:", "  tavily:", r"providers\.tavily: tavily means something else"),
        ("  intranet:", "  json_api:", r"providers\.json_api: json_api means something else"),
        ("  intranet:", "  openai:", r"providers\.openai: openai means something else"),
        ("  intranet:", "  auto:", r"providers\.auto: auto means something else"),
        ("  intranet:", "  My-Wiki:", r"providers\.My-Wiki: the name of an endpoint is"),
        ("    base_url: https://search.intra.example/api\n", "", r"set base_url, or INTRANET_BASE"),
    ],
)
def test_a_mistake_is_named_with_its_place(old: str, new: str, told: str) -> None:
    """Where it is, what is wrong, and the nearest name."""
    assert old in FILE
    with pytest.raises(ConfigError, match=told) as caught:
        load(FILE.replace(old, new))
    assert "collection-search.yaml: providers." in str(caught.value)


def test_a_post_may_nest_but_not_into_a_text() -> None:
    """The query goes where the constant parameters leave room for it."""
    nested = yaml.safe_load(FILE)
    described = nested["providers"]["intranet"]["json_api"]
    described |= {"method": "POST", "query": "query.text", "params": {"query": {"lang": "de"}}}
    settings = load(yaml.safe_dump(nested))
    found = settings.described("intranet")
    assert found is not None
    assert found.parameters("x", 3) == {"query": {"lang": "de", "text": "x"}, "limit": 3}
    described["params"] = {"query": "*"}
    with pytest.raises(ConfigError, match=r"query\.text lies below query, which is no object"):
        load(yaml.safe_dump(nested))
