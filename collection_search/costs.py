"""What calls cost, by the dated list prices of `prices.toml`.

Amounts are US dollars. None means that the price is not known: nothing is ever guessed.
"""

from __future__ import annotations

import re
import tomllib
from decimal import Decimal
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Literal

if TYPE_CHECKING:
    from collections.abc import Iterable

_Kind = Literal["chat", "embedding", "search"]

_MILLION: Final = Decimal(1_000_000)
_THOUSAND: Final = Decimal(1_000)
_SNAPSHOT = re.compile(r"-\d{4}-\d{2}-\d{2}$")
_DIMENSIONS = re.compile(r"@\d+$")

PRICES: Final[dict[str, dict[str, dict[str, Any]]]] = tomllib.loads(
    Path(__file__).with_name("prices.toml").read_text("utf-8"), parse_float=Decimal
)
"""The price table; read once on import, so that no run waits for a file."""


def chat_cost(model: str, input_tokens: int | None, output_tokens: int | None) -> float | None:
    """Return what a chat call cost.

    >>> chat_cost("gpt-4o-mini-2024-07-18", 1_000, 100)
    0.00021
    >>> chat_cost("a-model-of-my-own", 1_000, 100) is None
    True
    """
    price = _price("chat", model)
    if price is None or input_tokens is None or output_tokens is None:
        return None
    return float(
        input_tokens * price["input_per_million_tokens"] / _MILLION
        + output_tokens * price["output_per_million_tokens"] / _MILLION
    )


def embedding_cost(model: str, input_tokens: int | None) -> float | None:
    """Return what an embedding call cost; `model` may be an embedder's fingerprint.

    What is free costs nothing however many tokens it took.

    >>> embedding_cost("openai:text-embedding-3-small@512", 2_612), embedding_cost("lexical", None)
    (5.224e-05, 0.0)
    """
    vendor, _, _ = model.partition(":")
    price = _price("embedding", vendor if vendor == "local" else _DIMENSIONS.sub("", model))
    if price is None or (input_tokens is None and price["per_million_tokens"]):
        return None
    return float((input_tokens or 0) * price["per_million_tokens"] / _MILLION)


def search_cost(provider: str, requests: int) -> float | None:
    """Return what that many billed search requests cost.

    >>> search_cost("tavily", 4), search_cost("offline", 4)
    (0.032, 0.0)
    """
    price = _price("search", provider)
    return None if price is None else float(requests * price["per_thousand_requests"] / _THOUSAND)


def total_cost(costs: Iterable[float]) -> float:
    """Return the sum, exact to the last digit.

    >>> total_cost([0.1, 0.2])
    0.3
    """
    return float(sum((Decimal(repr(cost)) for cost in costs), Decimal(0)))


def _price(kind: _Kind, name: str) -> dict[str, Any] | None:
    """Return the price of a model or provider; a dated snapshot costs what its model costs.

    A longer name is otherwise another product: `gpt-4o-mini-tts` is no `gpt-4o-mini`.
    """
    table, plain = PRICES[kind], name.removeprefix("openai:")
    return table.get(plain) or table.get(_SNAPSHOT.sub("", plain))
