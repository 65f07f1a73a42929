"""The user's own prices."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from collection_search import Settings
from collection_search.contracts.price_list import LIST_PRICES, PriceList
from collection_search.errors import ConfigError
from collection_search.settings.price_settings import OwnPrices

if TYPE_CHECKING:
    from pathlib import Path

MINE = {"input_per_million_tokens": 0.5, "output_per_million_tokens": 1.5}


def price_list(**prices: Any) -> PriceList:
    """Return the list with prices of one's own."""
    return Settings(prices=OwnPrices.model_validate(prices)).price_list


def chat_cost(name: str, **chat: dict[str, float]) -> float | None:
    """Return the cost of a million tokens each way."""
    return price_list(chat=chat).chat_cost(name, 10**6, 10**6)


def test_the_file_gives_them(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """They win over the list, which goes on for all others."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "collection-search.yaml").write_text(
        "prices:\n"
        "  chat: {my-model: {input_per_million_tokens: 0.5, output_per_million_tokens: 1.5}}\n"
        "  embedding: {my-embedder: {per_million_tokens: 0.02}}\n"
        "  search: {brave: {per_thousand_requests: 3.0}, intranet: {per_thousand_requests: 0}}\n"
    )
    prices = Settings.load().price_list
    assert prices.chat_cost("my-model", 10**6, 10**6) == 2.0
    assert prices.embedding_cost("openai:my-embedder@512", 10**6) == 0.02
    assert prices.search_cost("brave", 1) == 0.003
    assert prices.search_cost("intranet", 1) == 0.0
    assert prices.search_cost("tavily", 1) == LIST_PRICES.search_cost("tavily", 1) == 0.008


def test_the_variable_gives_them_as_json(monkeypatch: pytest.MonkeyPatch) -> None:
    """Broken JSON is a mistake that names the variable."""
    monkeypatch.setenv("COLLECTION_SEARCH_PRICES", json.dumps({"chat": {"m": MINE}}))
    assert Settings.load().price_list.chat_cost("m", 10**6, 0) == 0.5
    monkeypatch.setenv("COLLECTION_SEARCH_PRICES", "{m")
    with pytest.raises(ConfigError, match="COLLECTION_SEARCH_PRICES: give a map as JSON"):
        Settings.load()


@pytest.mark.parametrize(
    "name", ["m", "openai:m", "ollama:m", "m-2026-01-01", "anthropic:m-20260101", "models/m"]
)
def test_a_name_without_a_vendor_is_for_every_vendor(name: str) -> None:
    """And for the snapshots that answers tell."""
    assert chat_cost(name, m=MINE) == 2.0


def test_a_name_with_a_vendor_is_for_that_vendor() -> None:
    """And for the model's name alone, which the vendor's answers tell."""
    mine = {"anthropic:m": MINE}
    assert chat_cost("anthropic:m", **mine) == chat_cost("m-20260101", **mine) == 2.0
    assert chat_cost("groq:m", **mine) is None
    assert chat_cost("m", **{"anthropic:m": MINE, "groq:m": MINE}) is None


@pytest.mark.parametrize("name", ["llama3.3:70b", "ollama:llama3.3:70b"])
def test_a_tag_is_a_part_of_the_name(name: str) -> None:
    """As Ollama writes it."""
    assert chat_cost(name, **{"llama3.3:70b": MINE}) == 2.0


def test_a_price_holds_for_the_name_that_was_asked() -> None:
    """A gateway answers with names of its own; a price for the name in the answer comes first."""
    mine = price_list(chat={"alias": MINE, "behind": {**MINE, "input_per_million_tokens": 5.0}})

    def cost(answered: str, asked: str = "alias") -> float | None:
        return mine.chat_cost(answered, 10**6, 10**6, asked=asked)

    assert cost("llama-q4") == cost("gpt-4o-mini-2024-07-18") == 2.0
    assert cost("behind") == 6.5
    assert cost("gpt-4o-mini", asked="other") == LIST_PRICES.chat_cost("gpt-4o-mini", 10**6, 10**6)
    assert cost("llama-q4", asked="gpt-4o-mini") is None


def test_they_have_no_day() -> None:
    """Whoever set them knows it; a model that thinks gets its tokens."""
    prices = price_list(chat={"gpt-4o-mini": MINE | {"thinks": True}})
    assert prices.price_date("chat", "gpt-4o-mini") is None
    assert prices.plan_tokens("gpt-4o-mini") == (60, 4300)


def test_langchain_embedders_are_found_by_their_model() -> None:
    """With and without an address of their own."""
    prices = price_list(embedding={"nomic:v1": {"per_million_tokens": 1}})
    for name in (
        "langchain:OllamaEmbeddings:nomic:v1",
        "langchain:OllamaEmbeddings:nomic:v1:0a1b2c3d",
    ):
        assert prices.embedding_cost(name, 10**6) == 1.0
