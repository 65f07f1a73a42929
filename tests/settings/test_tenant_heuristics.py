"""The setting `heuristics`: per tenant, per collection, and its mistakes."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from collection_search.errors import ConfigError
from collection_search.settings import Settings

if TYPE_CHECKING:
    from pathlib import Path

    from collection_search.contracts.heuristic_rules import HeuristicRules

FILE = """
heuristics:
  trusted_hosts: [Docs.Python.org]
  blocked_hosts: [spam.example]
  freshness_days: 365
  tenants:
    acme:
      blocked_hosts: [rival.example]
      weights: {title: 40}
      collections:
        manuals: {freshness_days: null, weights: {embedding_share: 0.5}}
        plain: {weights: null}
"""


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def rules(tenant: str, collection: str, settings: Settings | None = None) -> HeuristicRules:
    found = (settings or Settings.load()).heuristics
    assert found is not None
    return found.rules_for(tenant, collection)


def test_nothing_is_set_at_first() -> None:
    """Without the setting no rule counts."""
    assert Settings.load().heuristics is None


def test_the_narrower_rule_wins(folder: Path) -> None:
    """Field by field: of the collection, of the tenant, of all."""
    (folder / "collection-search.yaml").write_text(FILE)
    other, acme = rules("other", "manuals"), rules("acme", "any")
    assert (other.trusted_hosts, other.blocked_hosts) == (("docs.python.org",), ("spam.example",))
    assert (other.freshness_days, other.weights) == (365, None)
    assert (acme.trusted_hosts, acme.blocked_hosts) == (("docs.python.org",), ("rival.example",))
    assert acme.weights is not None
    assert (acme.weights.title, acme.weights.embedding_share) == (40, 0.6)


def test_a_collection_may_take_a_rule_back(folder: Path) -> None:
    """By null; weights are merged one by one."""
    (folder / "collection-search.yaml").write_text(FILE)
    manuals = rules("acme", "manuals")
    assert manuals.freshness_days is None
    assert manuals.weights is not None
    assert (manuals.weights.title, manuals.weights.embedding_share) == (40, 0.5)
    assert rules("acme", "plain").weights is None


def test_from_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    """As JSON."""
    monkeypatch.setenv("COLLECTION_SEARCH_HEURISTICS", json.dumps({"language": "de"}))
    assert rules("local", "c").language == "de"


@pytest.mark.parametrize(
    ("given", "told"),
    [
        ({"trusted_host": []}, "did you mean trusted_hosts?"),
        ({"tenants": {"acme": {"blocked_host": []}}}, "did you mean blocked_hosts?"),
        ({"tenants": {"acme": {"collections": {"c": {"langage": "de"}}}}}, "did you mean language"),
        ({"weights": {"titel": 3}}, "did you mean title?"),
        ({"weights": {"title": 0, "coverage": 0}}, "title and coverage may not both be 0"),
        (
            {"weights": {"title": 0}, "tenants": {"acme": {"weights": {"coverage": 0}}}},
            "tenants.acme: the weights of title and coverage may not both be 0",
        ),
        ({"weights": {"embedding_share": 1.5}}, "give 1 or less"),
        ({"trusted_points": 50}, "give 20 or less"),
        ({"trusted_points": float("nan")}, "trusted_points"),
        ({"blocked_hosts": ["https://a.example/path"]}, "is no domain"),
        ({"blocked_hosts": ["*"]}, "is no domain"),
        ({"language": "fr"}, "give ar, "),
        ({"freshness_days": 0}, "give 1 or more"),
    ],
)
def test_mistakes(given: dict[str, Any], told: str) -> None:
    """Each names its place and what to write."""
    with pytest.raises(ConfigError) as refused:
        Settings.load(heuristics=given)
    assert str(refused.value).startswith("Settings are not valid. heuristics")
    assert told in str(refused.value)


def test_a_variable_that_is_no_map(monkeypatch: pytest.MonkeyPatch) -> None:
    """An example is given."""
    monkeypatch.setenv("COLLECTION_SEARCH_HEURISTICS", "spam.example")
    with pytest.raises(ConfigError, match=r"COLLECTION_SEARCH_HEURISTICS: give a map as JSON"):
        Settings.load()


def test_a_mistake_in_the_file_names_its_place(folder: Path) -> None:
    """File and key."""
    text = "heuristics: {tenants: {acme: {trusted_points: many}}}"
    (folder / "collection-search.yaml").write_text(text)
    with pytest.raises(ConfigError) as refused:
        Settings.load()
    place = "collection-search.yaml: heuristics.tenants.acme.trusted_points"
    assert place in str(refused.value)
