"""What a provider needs before it is used, and what is told of one that is half there."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from collection_search.errors import ConfigError
from collection_search.ports import ProviderInfo
from collection_search.ports.description import read_info
from collection_search.settings import Settings, registry
from collection_search.settings.adapter_factory import make_adapter
from collection_search.settings.provider_choice import AUTO_ORDER
from collection_search.settings.provider_needs import (
    NEEDS,
    has_stored_key,
    is_configured,
    missing_variables,
    needed_variables,
    own_endpoints,
    touched_names,
)

if TYPE_CHECKING:
    from pathlib import Path

GIVEN = {"api_key": "made-up-0123456789", "base_url": "http://x:1", "search_engine_id": "cx"}
ENDPOINT = {
    "base_url": "http://x:1",
    "json_api": {"query": "q", "results": "", "fields": {"url": "u", "title": "t"}},
}
NAMES = sorted(set(registry.BUILTIN["search"]) - registry.UNNAMED - {"ddgs"})
"""ddgs needs an extra and nothing else."""


@pytest.mark.parametrize("name", NAMES)
def test_the_table_has_what_the_adapters_ask_for(name: str, tmp_path: Path) -> None:
    """With all of it an adapter is made; the variables are those that its class names."""
    info, needed = read_info(registry.load_adapter("search", name)), NEEDS.get(name, ())
    settings = Settings(home=tmp_path, providers={name: {part: GIVEN[part] for part in needed}})
    make_adapter(settings, "search", name)
    assert info.needs_key <= ("api_key" in needed)
    assert (info.default_address == "") == ("base_url" in needed)
    variables = {info.key_variable, info.address_variable, "GOOGLE_SEARCH_ENGINE_ID"}
    assert variables >= set(needed_variables(settings, name))


@pytest.mark.parametrize(
    ("name", "part"), [(name, part) for name, parts in NEEDS.items() for part in parts]
)
def test_one_part_is_not_enough_where_another_is_needed(name: str, part: str) -> None:
    """All else may be there: without that part it is not configured, and its variable is told."""
    others = {key: value for key, value in GIVEN.items() if key != part}
    settings = Settings(providers={name: others})
    assert not is_configured(settings, name)
    (variable,) = missing_variables(settings, name)
    assert variable in needed_variables(settings, name)
    if not read_info(registry.load_adapter("search", name)).without_key:
        with pytest.raises(ConfigError, match=variable):
            make_adapter(settings, "search", name)


@pytest.mark.parametrize("blank", [None, "", "  "])
def test_blanks_are_no_key(blank: str | None) -> None:
    """In the file; those of the environment are left out before."""
    settings = Settings(providers={"brave": {"api_key": blank}})
    assert not is_configured(settings, "brave")
    assert missing_variables(settings, "brave") == ["BRAVE_API_KEY"]


def test_what_needs_nothing_is_configured_by_anything() -> None:
    """An operator who gives Wikipedia's address means it; a rate alone is no choice of it."""
    assert is_configured(Settings(providers={"wikipedia": {"base_url": "http://x:1"}}), "wikipedia")
    assert not is_configured(Settings(providers={"wikipedia": {"rate_per_s": 1}}), "wikipedia")
    assert missing_variables(Settings(), "wikipedia") == []


def test_another_package_s_adapter_names_what_it_needs() -> None:
    """By its info, as long as nothing is given; what is enough is known to itself alone."""
    keyed = ProviderInfo(name="notes", key_variable="NOTES_API_KEY")
    placed = ProviderInfo(
        name="notes", key_variable="K", address_variable="NOTES_URL", default_address=""
    )
    assert missing_variables(Settings(), "notes", keyed) == ["NOTES_API_KEY"]
    assert missing_variables(Settings(), "notes", placed) == ["NOTES_URL"]
    assert missing_variables(Settings(), "notes", ProviderInfo(name="notes")) == []
    given = Settings(providers={"notes": {"api_key": "x"}})
    assert is_configured(given, "notes")
    assert missing_variables(given, "notes", keyed) == []


def test_endpoints_need_their_address() -> None:
    """In the order of the settings; a key is optional."""
    settings = Settings(providers={"wiki": ENDPOINT, "intranet": ENDPOINT, "brave": {}})
    assert own_endpoints(settings) == ["wiki", "intranet"]
    assert is_configured(settings, "wiki")
    assert needed_variables(settings, "wiki") == ["WIKI_BASE_URL"]
    assert not has_stored_key(settings, "wiki")


def test_keys_of_other_parts_are_no_providers(monkeypatch: pytest.MonkeyPatch) -> None:
    """Those of models, of tracing and of LangSmith have the same form."""
    for variable in ("OPENAI_API_KEY", "LANGCHAIN_API_KEY", "BRAVE_API_KEY"):
        monkeypatch.setenv(variable, "x")
    assert touched_names(Settings.load()) == ["brave"]


def test_auto_looks_at_all_that_need_something() -> None:
    """Five in the order of old, then the others; the endpoints of the settings at last."""
    assert AUTO_ORDER.configured[:5] == ("tavily", "brave", "searxng", "serper", "exa")
    assert set(AUTO_ORDER.configured) == {*NEEDS, registry.JSON_API}
    assert AUTO_ORDER.configured[-1] == registry.JSON_API
