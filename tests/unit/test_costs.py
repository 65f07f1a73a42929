"""Costs: dated list prices, exact sums, and no guess where a price is unknown."""

from __future__ import annotations

import datetime as dt

import pytest

from collection_search.costs import (
    PRICES,
    chat_cost,
    embedding_cost,
    search_cost,
    total_cost,
)


def test_a_chat_call_costs_input_and_output_tokens():
    """A million tokens each way cost the two list prices."""
    assert chat_cost("gpt-4o-mini", 1_000_000, 1_000_000) == 0.75
    assert chat_cost("gpt-4o-mini", 29, 44) == 0.00003075


@pytest.mark.parametrize("name", ["gpt-4o-mini-2024-07-18", "openai:gpt-4o-mini"])
def test_a_dated_snapshot_costs_what_its_model_costs(name):
    """Endpoints answer with the snapshot's name, settings name the vendor."""
    assert chat_cost(name, 1_000_000, 0) == 0.15


@pytest.mark.parametrize(
    "name", ["gpt-4o-mini-tts", "gpt-4o", "gpt-4o-min", "openrouter/gpt-4o-mini", "qwen3:8b", ""]
)
def test_an_unlisted_model_has_no_price(name):
    """A longer or shorter name is another product, and a price is never guessed."""
    assert chat_cost(name, 1_000, 1_000) is None


@pytest.mark.parametrize("tokens", [(None, 44), (29, None), (None, None)])
def test_unreported_usage_has_no_price(tokens):
    """An endpoint that reports no usage leaves the cost unknown, not zero."""
    assert chat_cost("gpt-4o-mini", *tokens) is None
    assert embedding_cost("text-embedding-3-small", None) is None


def test_an_embedding_call_costs_its_tokens():
    """The price of 2,612 tokens is exact, lexical similarity is free."""
    assert embedding_cost("text-embedding-3-small", 2_612) == 0.00005224
    assert embedding_cost("my-embedder", 2_612) is None


@pytest.mark.parametrize(
    "fingerprint", ["openai:text-embedding-3-small", "openai:text-embedding-3-small@512"]
)
def test_a_fingerprint_finds_the_price_of_its_model(fingerprint):
    """Shorter vectors cost the same."""
    assert embedding_cost(fingerprint, 1_000_000) == 0.02


@pytest.mark.parametrize("tokens", [2_612, None])
@pytest.mark.parametrize("model", ["lexical", "local:BAAI/bge-small-en-v1.5", "local:minilm:0a1b"])
def test_what_this_machine_computes_costs_nothing(model, tokens):
    """Whether or not the tokens were counted."""
    assert embedding_cost(model, tokens) == 0.0


@pytest.mark.parametrize(
    "model", ["text-embedding-3-small:latest", "langchain:Some:text-embedding-3-small", "localhost"]
)
def test_a_name_that_only_resembles_one_has_no_price(model):
    """Another server's model of the same name may have another price."""
    assert embedding_cost(model, 1_000) is None


@pytest.mark.parametrize(
    ("provider", "cost"),
    [("offline", 0.0), ("searxng", 0.0), ("tavily", 0.032), ("brave", 0.02), ("mine", None)],
)
def test_search_requests_cost_by_provider(provider, cost):
    """Four requests cost four times the list price of one."""
    assert search_cost(provider, 4) == cost


def test_no_request_costs_nothing():
    """A run that sent nothing owes nothing."""
    assert search_cost("tavily", 0) == 0.0


def test_a_sum_is_exact_to_the_last_digit():
    """A thousand small amounts add up without the rounding of binary fractions."""
    assert total_cost([0.0001] * 1_000) == 0.1
    assert total_cost([]) == 0.0


@pytest.mark.parametrize(
    ("kind", "name"), [(kind, name) for kind, names in PRICES.items() for name in names]
)
def test_every_price_says_when_and_where_it_was_seen(kind, name):
    """A price without a date and a source could not be checked by anybody."""
    price = PRICES[kind][name]
    assert isinstance(price["seen"], dt.date)
    assert price["source"]
    amounts = [value for key, value in price.items() if "_per_" in key or key.startswith("per_")]
    assert amounts
    assert all(amount >= 0 for amount in amounts)
