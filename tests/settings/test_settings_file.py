"""Mistakes in the settings file are told with their place, in words that a newcomer can follow."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from collection_search import Settings
from collection_search.errors import ConfigError
from collection_search.settings.settings_file import read_settings_file

if TYPE_CHECKING:
    from pathlib import Path

NOT_YAML = [
    ("providers:\n\tbrave:\n\t\tquota: 3\n", "Line 2, column 1: a tab stands where only blanks"),
    ("tenant: a\ntenant: b\n", "Line 2, column 1: the name 'tenant' stands here for the second"),
    (
        "providers:\n  brave: {quota: 1}\n  brave: {quota: 2}\n",
        "Line 3, column 3: the name 'brave'",
    ),
    ("tenant: 'secret\n", "Line 1, column 9: a quotation mark is not closed"),
    ("tenant: secret: b\n", "Line 1, column 15: check the indentation; a text with a colon"),
    ("tenant: a\n  provider: b\n", "Line 2, column 11: check the indentation"),
    ("tenant: *secret\n", "Line 1, column 9: put a text that begins with * into quotes"),
    ("tenant: !secret b\n", "Line 1, column 9: put a text that begins with ! into quotes"),
    ("tenant: @secret\n", "Line 1, column 9: put a text that begins with this character"),
    ("tenant: [a, secret\n", "a bracket is not closed"),
    ("providers: {brave: {quota: 1}\n", "a bracket is not closed"),
    ("tenant: a\nsecret\n", "Line 3, column 1: a colon is missing after the name"),
    ("1: x\n", "Line 1, column 1: a name that YAML reads as something else"),
    (
        "providers:\n  on: {quota: 3}\n",
        "Line 2, column 3: a name that YAML reads as something else",
    ),
    ("? [secret]\n: b\n", "Line 1, column 3: a list or map stands where a name should"),
    ("tenant: a\n---\ntenant: b\n", "Line 2, column 1: a second document begins"),
    ("ab\x00c: 1\n", "It has bytes that are no text"),
    ("tenant: 2001-99-01\n", "A date or number in it does not exist"),
    ("tenant: " + "[" * 3000, "Line 1, column 58: lists or maps are nested too deeply"),
    ("a:\n" + "".join(f"{' ' * n}a:\n" for n in range(1, 99)), "Line 51, column 51: lists or maps"),
]
NO_MAP = ["- a\n- b\n", "just words\n", "7\n"]
ACCESS = "possible names: api_key, base_url, "
WRONG_VALUES = [
    ("tenant: [a, b]\n", "tenant: give a text"),
    ("tenant: {a: b}\n", "tenant: give a text"),
    ("home: [a]\n", "home: give a path"),
    ("model: [openai]\n", "model: give a text"),
    ("providers: brave\n", "providers: give a map of names and values"),
    ("providers: [brave]\n", "providers: give a map of names and values"),
    ("providers:\n", "providers: give a map of names and values"),
    ("providers:\n  brave: secret\n", f"providers.brave: give a map of names and values; {ACCESS}"),
    ("providers:\n  brave: [1]\n", f"providers.brave: give a map of names and values; {ACCESS}"),
    ("providers:\n  brave:\n    api_key: {a: b}\n", "providers.brave.api_key: give a text"),
    (
        "providers:\n  brave:\n    qouta: 3\n",
        "providers.brave.qouta: there is no such setting; did",
    ),
    ("providers:\n  brave:\n    quota: many\n", "providers.brave.quota: give a whole number"),
    (
        "providers:\n  x:\n    json_api: yes\n",
        "providers.x.json_api: give a map of names and values",
    ),
    ("providers:\n  x:\n    json_api: {fields: u}\n", "providers.x.json_api.fields: give a map of"),
    ("providers:\n  web_search: true\n", "providers.web_search: give a map of names and values"),
    ("providers:\n  web_search:\n    settings: [a]\n", "providers.web_search.settings: give a map"),
    ("heuristics: strict\n", "heuristics: give a map of names and values"),
    ("heuristics:\n  blocked_hosts: a.example\n", "heuristics.blocked_hosts: give a list"),
    ("fetch_allowed: [[a]]\n", "fetch_allowed.0: give a text"),
    ("fetch_robots: maybe\n", "fetch_robots: give true or false"),
    ("search_timeout_s: {a: 1}\n", "search_timeout_s: give a number"),
]
LIMITS = [
    "search_timeout_s",
    "search_retry_timeout_s",
    "run_deadline_s",
    "model_timeout_s",
    "gate_deadline_h",
    "ingest_lease_s",
    "fetch_timeout_s",
    "fetch_delay_s",
    "coverage_timeout_s",
    "coverage_interval_s",
    "answer_cache_s",
    "max_cost_usd",
]


@pytest.fixture
def file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    path = tmp_path / "own.yaml"
    monkeypatch.setenv("COLLECTION_SEARCH_CONFIG", str(path))
    monkeypatch.delenv("COLLECTION_SEARCH_HOME", raising=False)
    return path


def refusal(file: Path, text: str) -> str:
    """Return what is said of the file; it has neither its values nor words of a library."""
    file.write_text(text, encoding="utf-8")
    with pytest.raises(ConfigError) as caught:
        Settings.load()
    said = str(caught.value)
    assert str(file) in said
    assert "\n" not in said
    for word in ("secret", "pydantic", "yaml.org", "mapping", "scalar", "constructor", "errors."):
        assert word not in said
    return said


@pytest.mark.parametrize(("text", "says"), NOT_YAML)
def test_what_is_no_yaml_is_told_by_line(file: Path, text: str, says: str) -> None:
    assert f"cannot be read as YAML. {says}" in refusal(file, text) or says in refusal(file, text)


@pytest.mark.parametrize("text", NO_MAP)
def test_what_is_no_map_is_told(file: Path, text: str) -> None:
    assert "must hold one setting a line, as in 'tenant: acme'" in refusal(file, text)


@pytest.mark.parametrize(("text", "says"), WRONG_VALUES)
def test_a_value_of_the_wrong_form_is_told_by_name(file: Path, text: str, says: str) -> None:
    assert f"{file}: {says}" in refusal(file, text)


@pytest.mark.parametrize("value", [".inf", ".nan", "inf", "-.inf"])
@pytest.mark.parametrize("name", LIMITS)
def test_a_limit_is_a_finite_number(file: Path, name: str, value: str) -> None:
    """A limit that never comes is none."""
    assert f"{name}: give " in refusal(file, f"{name}: {value}\n")


@pytest.mark.parametrize("value", ["inf", "nan", "Infinity"])
def test_a_limit_in_the_environment_is_finite(value: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLLECTION_SEARCH_SEARCH_TIMEOUT_S", value)
    with pytest.raises(ConfigError, match=r"_SEARCH_TIMEOUT_S: give a finite number$"):
        Settings.load()


def test_a_merged_map_may_say_a_name_again(file: Path) -> None:
    """YAML's own way to take over a map and to change a part of it."""
    file.write_text(
        "providers:\n  brave: &plan {quota: 1, rate_per_s: 2}\n  serper: {<<: *plan, quota: 5}\n",
        encoding="utf-8",
    )
    serper = Settings.load().providers["serper"]
    assert (serper.quota, serper.rate_per_s) == (5, 2)


def test_an_empty_file_and_none_set_nothing(tmp_path: Path) -> None:
    empty = tmp_path / "empty.yaml"
    empty.write_text("# nothing yet\n", encoding="utf-8")
    assert read_settings_file(empty) == read_settings_file(tmp_path / "none.yaml") == {}


# --- passwords in addresses

WITH_PASSWORD = "https://ann:hunter2@host.example:8443/v1"
MASKED = "https://ann:***@host.example:8443/v1"


def test_no_form_of_the_settings_shows_a_password(tmp_path: Path) -> None:
    """Printed, as JSON and as a map; the code that connects has the whole address."""
    from rich.pretty import pretty_repr

    providers: Any = {
        "searxng": {"base_url": WITH_PASSWORD},
        "web_search": {"settings": {"backend": "searxng", "url": WITH_PASSWORD}},
    }
    settings = Settings(
        home=tmp_path,
        fetch_proxy=WITH_PASSWORD,
        openai_base_url=WITH_PASSWORD,
        embeddings_base_url=WITH_PASSWORD,
        langfuse_base_url=WITH_PASSWORD,
        providers=providers,
    )
    shown = (
        f"{settings} {settings!r} {settings.model_dump()} {settings.model_dump_json()}"
        f" {settings.model_dump(mode='json')} {pretty_repr(settings)} {settings.providers!r}"
        f" {settings.web_search!r} {settings.providers['searxng'].model_dump_json()}"
    )
    assert "hunter2" not in shown
    assert settings.model_dump()["fetch_proxy"] == MASKED
    assert settings.model_dump()["providers"]["searxng"]["base_url"] == MASKED
    assert settings.fetch_proxy == settings.providers["searxng"].base_url == WITH_PASSWORD
