"""The form of a context: what a server's operator has configured, and nothing secret."""

from __future__ import annotations

import json
from typing import Any

import pytest

from collection_search import SearchContext
from collection_search.settings import Settings
from collection_search.settings.remote_caller import remote_choices, restrict_remote_caller
from collection_search.settings.served_form import context_form, input_form
from collection_search.testing import ScriptedAdapter

SERVER = type("Server", (), {"user": None})()


def form(**given: Any) -> dict[str, Any]:
    schema = SearchContext.model_json_schema()
    fields: dict[str, Any] = context_form(schema, Settings(**given))["properties"]
    assert schema == SearchContext.model_json_schema()  # Python's own is as it was
    return fields


def test_the_choices_are_the_configured_names() -> None:
    fields = form(
        provider="offline",
        model="openai:gpt-x",
        embeddings="openai:embed-x",
        ensemble="openai:embed-y",
        providers={"tavily": {"api_key": "tvly-secret"}, "exa": {}},
        reranker="local:judge",
        max_cost_usd=0.25,
        search_purpose=False,
        ranking_profile="literal",
    )
    assert fields["provider"]["enum"] == ["offline", "auto", "tavily"]
    assert fields["model"]["enum"] == ["openai:gpt-x"]
    assert fields["model"]["default"] == "openai:gpt-x"
    assert fields["embeddings"]["enum"] == ["openai:embed-x", "lexical"]
    assert fields["ensemble"]["default"] == "openai:embed-y"
    assert fields["reranker"]["enum"] == ["local:judge", "model", "none"]
    assert (fields["max_cost_usd"]["default"], fields["max_cost_usd"]["maximum"]) == (0.25, 0.25)
    assert fields["search_purpose"]["default"] is False
    assert fields["ranking_profile"]["default"] == "literal"
    assert not any("anyOf" in field for field in fields.values())


@pytest.mark.parametrize(
    "secret",
    ["local:/srv/models/judge", r"local:C:\models\judge", "local:./judge", "x:http://10.0.0.1/v1"],
)
def test_no_address_and_no_path_is_shown(secret: str) -> None:
    """What is configured so is used where the form leaves the field open."""
    fields = form(reranker=secret, model=secret, embeddings=secret, ensemble=secret)
    assert secret not in json.dumps(fields)
    assert json.dumps(secret) not in json.dumps(fields)
    assert fields["reranker"]["enum"] == ["model", "none"]


def test_every_choice_of_the_form_is_accepted() -> None:
    settings = Settings(model="openai:gpt-x", providers={"tavily": {"api_key": "tvly-secret"}})
    choices = remote_choices(settings)
    for field in ("provider", "model", "embeddings", "reranker"):
        assert choices[field]
        for name in choices[field]:
            restrict_remote_caller(SearchContext(**{field: name}), SERVER, settings)


def test_live_objects_and_names_of_an_operator_stay_possible_in_python() -> None:
    """The choices stand in the form only."""
    adapter = ScriptedAdapter()
    assert SearchContext(provider=adapter).provider is adapter
    assert SearchContext(provider="my_own").provider == "my_own"


def test_required_fields_come_first() -> None:
    schema = {
        "properties": {
            "a": {"anyOf": [{"type": "string"}, {"type": "null"}], "default": None},
            "b": {"type": "string"},
            "c": {"anyOf": [{"type": "boolean"}, {"type": "null"}], "default": None},
        },
        "required": ["b"],
    }
    shown = input_form(schema, {"a": "set"})["properties"]
    assert list(shown) == ["b", "a", "c"]
    assert shown["a"] == {"type": "string", "default": "set"}
    assert shown["c"] == schema["properties"]["c"]  # null is its third choice
    assert "default" not in input_form(schema, {})["properties"]["a"]
