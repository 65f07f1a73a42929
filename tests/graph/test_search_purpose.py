"""The words of a purpose: searched for, as the form says, or kept in the house."""

from __future__ import annotations

from typing import Any

import pytest
from support.scripted_world import INPUT, good_pages

from collection_search import CollectionSearchGraph, GraphInput, SearchContext
from collection_search.settings import Settings
from collection_search.testing import ScriptedAdapter, ScriptedQueryModel

PURPOSE = "compare vendors for Müller"
GIVEN = {**INPUT, "purpose": PURPOSE}


def queries_of(run: tuple[dict[str, Any], Any]) -> str:
    return " ".join(run[1]["strategy"]["queries"])


def context(**choices: Any) -> SearchContext:
    return SearchContext(provider=ScriptedAdapter(good_pages()), **choices)


def test_its_words_are_searched_for():
    """The specified fallback: the question, the purpose, variations."""
    assert "Müller" in queries_of(CollectionSearchGraph(context()).run(GIVEN))


def test_the_form_says_so():
    """Who fills in the form reads it before he writes a client's name."""
    description = GraphInput.model_json_schema()["properties"]["purpose"]["description"]
    assert "searched for" in description
    assert "clients" in description


@pytest.mark.parametrize("by", ["context", "settings"])
def test_switched_off_no_word_of_it_reaches_a_model_or_a_query(by, tmp_path):
    """Neither the model's prompt nor a query has it; the run's state keeps it."""
    model = ScriptedQueryModel(["cancel asyncio task", "asyncio timeout", "asyncio wait_for"])
    choices: dict[str, Any] = {"search_purpose": False}
    if by == "settings":
        choices = {"settings": Settings(home=tmp_path, search_purpose=False)}
    state, output = CollectionSearchGraph(context(model=model, **choices)).run(GIVEN)
    assert "Müller" not in queries_of((state, output))
    assert [purpose for _, purpose, _ in model.calls] == [""]
    assert state["purpose"] == PURPOSE
    fallback = CollectionSearchGraph(context(**choices)).run(GIVEN)
    assert len(fallback[1]["strategy"]["queries"]) == 3
    assert "Müller" not in queries_of(fallback)


def test_it_has_a_default():
    """A caller without a purpose need not invent one."""
    given = {name: value for name, value in INPUT.items() if name != "purpose"}
    _, output = CollectionSearchGraph(context()).run(given)
    assert output["outcome"] == "search_completed"
