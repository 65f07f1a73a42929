"""The function tool `web_search` in the map `providers`, beside the vendors."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest
from support.other_packages import install_package

from collection_search.errors import ConfigError
from collection_search.settings import Settings
from collection_search.settings.function_settings import FunctionEntry, WebSearchSettings

if TYPE_CHECKING:
    from pathlib import Path

SPECIFIED = """
providers:
  web_search:
    enabled: true
    settings:
      backend: searxng
      url: http://searxng:8080
      max_results: 5
"""
ENTRY = FunctionEntry(
    enabled=True,
    settings=WebSearchSettings(backend="searxng", url="http://searxng:8080", max_results=5),
)


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def write(folder: Path, text: str) -> None:
    (folder / "collection-search.yaml").write_text(text)


def test_the_specified_map_from_the_file(folder: Path) -> None:
    """FR-008: in the specification's own shape."""
    write(folder, SPECIFIED)
    settings = Settings.load()
    assert settings.web_search == ENTRY
    assert settings.providers == {}


def test_it_lives_beside_the_vendors(folder: Path) -> None:
    """Whose entries stay as they are."""
    write(folder, f"{SPECIFIED}  brave: {{quota: 7}}\n  searxng: {{base_url: 'http://s:1'}}\n")
    settings = Settings.load()
    assert settings.web_search == ENTRY
    assert settings.providers.keys() == {"brave", "searxng"}
    assert settings.providers["brave"].quota == 7


def test_from_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    """As JSON, in the same shape."""
    given = {"web_search": {"settings": {"max_results": 3}}, "brave": {"quota": 7}}
    monkeypatch.setenv("COLLECTION_SEARCH_PROVIDERS", json.dumps(given))
    settings = Settings.load()
    assert settings.web_search == FunctionEntry(settings=WebSearchSettings(max_results=3))
    assert settings.providers["brave"].quota == 7


def test_from_a_variable_of_its_own(monkeypatch: pytest.MonkeyPatch) -> None:
    """Every setting has one."""
    monkeypatch.setenv("COLLECTION_SEARCH_WEB_SEARCH", '{"enabled": false}')
    assert Settings.load().web_search == FunctionEntry(enabled=False)


def test_from_arguments() -> None:
    """As plain values and as models, in the map or by its own name."""
    plain: dict[str, Any] = {"settings": {"max_results": 3}}
    entry = FunctionEntry(settings=WebSearchSettings(max_results=3))
    for given in (plain, entry):
        assert Settings.load(providers={"web_search": given}).web_search == entry
        assert Settings(providers={"web_search": given}).web_search == entry
        assert Settings(web_search=given).web_search == entry


def test_environment_and_arguments_win_over_the_file(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As with every setting."""
    write(folder, SPECIFIED)
    given = {"web_search": {"enabled": False}}
    monkeypatch.setenv("COLLECTION_SEARCH_PROVIDERS", json.dumps(given))
    entry = Settings.load().web_search
    assert entry is not None
    assert entry.enabled is False
    entry = Settings.load(providers={"web_search": {"settings": {"max_results": 9}}}).web_search
    assert entry is not None
    assert entry.settings.max_results == 9


@pytest.mark.parametrize(
    ("text", "entry"),
    [
        ("providers: {web_search: {}}", FunctionEntry()),
        ("providers: {web_search: {settings: {}}}", FunctionEntry()),
        ("providers: {web_search: {enabled: no}}", FunctionEntry(enabled=False)),
        ("providers: {}", None),
        ("tenant: acme", None),
        ("web_search: {enabled: no}", FunctionEntry(enabled=False)),
    ],
)
def test_what_is_left_out_is_usual(folder: Path, text: str, entry: FunctionEntry | None) -> None:
    """Enabled, five results, the backend of the settings; without an entry there is none."""
    write(folder, text)
    assert Settings.load().web_search == entry


DESCRIBED = "intranet: {base_url: 'http://s:1', json_api: {query: q, results: r, fields: {url: u, title: t}}}"
BACKEND = "providers.web_search.settings.backend: there is no such search provider"
MISTAKES = [
    ("web_serch: {}", "providers.web_serch: .* did you mean web_search\\?"),
    ("web_serch: {enabled: yes}", "providers.web_serch.enabled: .* did you mean web_search\\?"),
    ("brave: {settings: {}}", "providers.brave.settings: there is no such setting"),
    ("web_search: {enable: yes}", "providers.web_search.enable: .* did you mean enabled\\?"),
    ("web_search: {setting: {}}", "providers.web_search.setting: .* did you mean settings\\?"),
    ("web_search: {enabled: perhaps}", "providers.web_search.enabled: give true or false$"),
    (
        "web_search: yes",
        "providers.web_search: give a map of names and values; possible names: enabled, settings$",
    ),
    (
        "web_search: {settings: [a]}",
        "providers.web_search.settings: give a map .*; possible names: backend, url, max_results$",
    ),
    (
        "web_search: {settings: {backnd: x}}",
        "providers.web_search.settings.backnd: .* did you mean backend\\?",
    ),
    (
        "web_search: {settings: {max_result: 3}}",
        "providers.web_search.settings.max_result: .* did you mean max_results\\?",
    ),
    ("web_search: {settings: {max_results: 0}}", "settings.max_results: give 1 or more$"),
    ("web_search: {settings: {max_results: 11}}", "settings.max_results: give 10 or less$"),
    ("web_search: {settings: {max_results: many}}", "settings.max_results: give a whole number$"),
    ("web_search: {settings: {url: 7}}", "providers.web_search.settings.url: give a text$"),
    (
        "web_search: {settings: {url: 'http://s:1'}}",
        "providers.web_search.settings.url: it needs a backend beside it, such as searxng$",
    ),
    (
        "web_search: {settings: {backend: auto, url: 'http://s:1'}}",
        "providers.web_search.settings.url: it needs a backend beside it, such as searxng$",
    ),
    ("web_search: {settings: {backend: [], url: 'http://s:1'}}", "settings.backend: give a text$"),
    ("web_search: {settings: {backend: ''}}", "settings.backend: give 1 or more characters$"),
    ("web_search: {settings: {backend: serxng}}", f"{BACKEND}; did you mean searxng\\?$"),
    ("web_search: {settings: {backend: wikipdia:de}}", f"{BACKEND}; did you mean wikipedia\\?$"),
    (
        f"web_search: {{settings: {{backend: intra}}}}, {DESCRIBED}",
        f"{BACKEND}; did you mean intranet\\?$",
    ),
    ("web_search: {settings: {backend: gopher}}", f"{BACKEND}; take one of auto, brave, ddgs, "),
    ("web_search: {settings: {backend: json_api}}", f"{BACKEND}; take one of auto, brave, ddgs, "),
    ("web_search: {settings: {backend: langchain}}", f"{BACKEND}; take one of auto, brave, ddgs, "),
    ("web_search: {enabled: no, settings: {backend: serxng}}", f"{BACKEND}; did you"),
    ("web_search: {api_key: k}", "providers.web_search.api_key: there is no such setting"),
]


@pytest.mark.parametrize(("entry", "told"), MISTAKES)
def test_a_mistake_in_the_file_is_named(folder: Path, entry: str, told: str) -> None:
    """At every level, with its place and the nearest name."""
    write(folder, f"providers: {{{entry}}}")
    with pytest.raises(ConfigError, match=f"collection-search.yaml: {told}|yaml: .*{told}"):
        Settings.load()


@pytest.mark.parametrize(
    ("entry", "told"),
    [
        ({"enable": True}, "providers.web_search.enable: .* did you mean enabled\\?"),
        (
            {"settings": {"max_results": 0}},
            "providers.web_search.settings.max_results: give 1 or more$",
        ),
        ({"settings": {"ulr": "x"}}, "settings.ulr: .* did you mean url\\?"),
        ({"settings": {"backend": "serxng"}}, f"{BACKEND}; did you mean searxng\\?"),
    ],
)
def test_a_mistake_in_the_variable_is_named(
    monkeypatch: pytest.MonkeyPatch, entry: dict[str, Any], told: str
) -> None:
    """By the variable."""
    monkeypatch.setenv("COLLECTION_SEARCH_PROVIDERS", json.dumps({"web_search": entry}))
    with pytest.raises(ConfigError, match=f"COLLECTION_SEARCH_PROVIDERS: .*{told}"):
        Settings.load()


@pytest.mark.parametrize("name", ["brave", "wikipedia:de", "auto", "intranet", "acme", "mine"])
def test_a_backend_may_be_any_known_provider(
    folder: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    """A vendor, a described endpoint, another package's, or one that is given in Python."""
    install_package(folder / "site", monkeypatch, "others", acme="acme:Search")
    write(folder, f"providers: {{web_search: {{settings: {{backend: '{name}'}}}}, {DESCRIBED}}}")
    entry = Settings.load(providers={"mine": {"rate_per_s": 1}}).web_search
    assert entry is not None
    assert entry.settings.backend == name


def test_a_mistake_in_an_argument_is_named() -> None:
    """By its place in the argument."""
    with pytest.raises(ConfigError, match=r"\. web_search\.settings\.backend: there is no such"):
        Settings.load(web_search={"settings": {"backend": "serxng"}})
    with pytest.raises(
        ConfigError, match=r"\. providers\.web_search\.settings\.max_results: give 1 or more$"
    ):
        Settings.load(providers={"web_search": {"settings": {"max_results": 0}}})
    with pytest.raises(ConfigError, match=r"web_search\.enable: .* did you mean enabled\?"):
        Settings.load(web_search={"enable": True})


@pytest.mark.parametrize("variable", ["WEB_SEARCH_API_KEY", "WEB_SEARCH_BASE_URL"])
def test_variables_of_other_programs_do_not_disturb(
    folder: Path, monkeypatch: pytest.MonkeyPatch, variable: str
) -> None:
    """They look like a vendor's, and there is no vendor of this name."""
    monkeypatch.setenv(variable, "sk-of-another-program")
    assert Settings.load().web_search is None
    assert Settings.load().providers == {}
    write(folder, SPECIFIED)
    assert Settings.load().web_search == ENTRY


def test_the_address_is_not_shown() -> None:
    """It may hold a password."""
    given = {"settings": {"backend": "searxng", "url": "http://u:hunter2@searxng:8080"}}
    settings = Settings.load(providers={"web_search": given})
    assert "hunter2" not in repr(settings)
    with pytest.raises(ConfigError) as caught:
        Settings.load(providers={"web_search": {"settings": {"url": ["http://u:hunter2@s"]}}})
    assert "hunter2" not in str(caught.value)
