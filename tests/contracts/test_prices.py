"""Costs: dated list prices, exact sums, and no guess where a price is unknown."""

from __future__ import annotations

import datetime as dt

import pytest

from collection_search.contracts.price_list import LIST_PRICES, PRICES
from collection_search.contracts.prices import format_usd, tokens_in, total_cost


def test_a_chat_call_costs_input_and_output_tokens():
    """A million tokens each way cost the two list prices."""
    assert LIST_PRICES.chat_cost("gpt-4o-mini", 1_000_000, 1_000_000) == 0.75
    assert LIST_PRICES.chat_cost("gpt-4o-mini", 29, 44) == 0.00003075


@pytest.mark.parametrize("name", ["gpt-4o-mini-2024-07-18", "openai:gpt-4o-mini"])
def test_a_dated_snapshot_costs_what_its_model_costs(name):
    """Endpoints answer with the snapshot's name, settings name the vendor."""
    assert LIST_PRICES.chat_cost(name, 1_000_000, 0) == 0.15


@pytest.mark.parametrize(
    ("name", "cost"),
    [
        ("anthropic:claude-sonnet-4-5", 18.0),
        ("claude-sonnet-4-5-20250929", 18.0),
        ("google_genai:gemini-2.5-flash", 2.8),
        ("models/gemini-2.5-flash", 2.8),
        ("mistralai:mistral-small-latest", 0.24),
        ("gpt-4o-2024-08-06", 12.5),
        ("gpt-4o-2024-05-13", 20.0),
    ],
)
def test_names_of_vendors_and_answers_are_listed(name, cost):
    """As LangChain names them, and as their answers do; one snapshot has a price of its own."""
    assert LIST_PRICES.chat_cost(name, 1_000_000, 1_000_000) == pytest.approx(cost)


@pytest.mark.parametrize(
    "name",
    [
        "gpt-4o-mini-tts",
        "gpt-4",
        "ollama:gpt-4o",
        "gpt-4o-min",
        "openrouter/gpt-4o-mini",
        "qwen3:8b",
        "",
    ],
)
def test_an_unlisted_model_has_no_price(name):
    """A longer or shorter name is another product, and a price is never guessed."""
    assert LIST_PRICES.chat_cost(name, 1_000, 1_000) is None


@pytest.mark.parametrize("tokens", [(None, 44), (29, None), (None, None)])
def test_unreported_usage_has_no_price(tokens):
    """An endpoint that reports no usage leaves the cost unknown, not zero."""
    assert LIST_PRICES.chat_cost("gpt-4o-mini", *tokens) is None
    assert LIST_PRICES.embedding_cost("text-embedding-3-small", None) is None


def test_an_embedding_call_costs_its_tokens():
    """The price of 2,612 tokens is exact, lexical similarity is free."""
    assert LIST_PRICES.embedding_cost("text-embedding-3-small", 2_612) == 0.00005224
    assert LIST_PRICES.embedding_cost("my-embedder", 2_612) is None


@pytest.mark.parametrize(
    "fingerprint", ["openai:text-embedding-3-small", "openai:text-embedding-3-small@512"]
)
def test_a_fingerprint_finds_the_price_of_its_model(fingerprint):
    """Shorter vectors cost the same."""
    assert LIST_PRICES.embedding_cost(fingerprint, 1_000_000) == 0.02


@pytest.mark.parametrize("tokens", [2_612, None])
@pytest.mark.parametrize("model", ["lexical", "local:BAAI/bge-small-en-v1.5", "local:minilm:0a1b"])
def test_what_this_machine_computes_costs_nothing(model, tokens):
    """Whether or not the tokens were counted."""
    assert LIST_PRICES.embedding_cost(model, tokens) == 0.0


@pytest.mark.parametrize(
    "model", ["text-embedding-3-small:latest", "langchain:Some:text-embedding-3-small", "localhost"]
)
def test_a_name_that_only_resembles_one_has_no_price(model):
    """Another server's model of the same name may have another price."""
    assert LIST_PRICES.embedding_cost(model, 1_000) is None


@pytest.mark.parametrize(
    ("provider", "cost"),
    [("offline", 0.0), ("searxng", 0.0), ("tavily", 0.032), ("brave", 0.02), ("mine", None)],
)
def test_search_requests_cost_by_provider(provider, cost):
    """Four requests cost four times the list price of one."""
    assert LIST_PRICES.search_cost(provider, 4) == cost


def test_no_request_costs_nothing():
    """A run that sent nothing owes nothing."""
    assert LIST_PRICES.search_cost("tavily", 0) == 0.0


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


def test_deep_searches_cost_their_units():
    """Units of the list price may be more than one a request, or parts of one."""
    assert LIST_PRICES.search_cost("tavily", 2.0) == 0.016
    assert LIST_PRICES.search_cost("brave", 0.5) == 0.0025


@pytest.mark.parametrize(
    ("texts", "tokens"), [([], 0), (["abc"], 1), (["abcd", "ab"], 2), (["日本語"], 3), (["aé"], 2)]
)
def test_tokens_are_rather_counted_too_high(texts, tokens):
    """Three characters a token, and every character of its own where they are not ASCII."""
    assert tokens_in(texts) == tokens


def test_models_that_think_may_write_more():
    """Their thoughts are billed as output; the price table knows them, dated names included."""
    assert (
        LIST_PRICES.plan_tokens("gpt-5-mini-2025-08-07")[1]
        > 10 * LIST_PRICES.plan_tokens("gpt-4o-mini")[1]
    )
    assert LIST_PRICES.plan_tokens("nobody-knows") == LIST_PRICES.plan_tokens("gpt-4o-mini")


@pytest.mark.parametrize(
    ("kind", "name"),
    [("chat", "gpt-4o-mini"), ("embedding", "openai:text-embedding-3-small@512"),
     ("embedding", "local:minilm"), ("search", "tavily")],
)  # fmt: skip
def test_a_price_has_its_day(kind, name):
    """An estimate says how old its prices are; what has none has no day."""
    day = LIST_PRICES.price_date(kind, name)
    assert isinstance(day, dt.date)
    assert LIST_PRICES.price_date(kind, f"un{name}") is None


@pytest.mark.parametrize(
    ("amount", "text"),
    [(0.0, "$0.00"), (0.1 + 0.2, "$0.30000000000000004"), (1e-12, "$0.000000000001"),
     (1200.0, "$1200.00"), (0.008, "$0.008")],
)  # fmt: skip
def test_amounts_are_told_in_full(amount, text):
    """Neither rounded nor in powers of ten."""
    assert format_usd(amount) == text
