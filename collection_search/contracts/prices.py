"""Costs of calls, by the dated list prices of `prices.toml`.

Amounts are US dollars. None means that the price is not known; prices are never estimated.
"""

from __future__ import annotations

import re
import tomllib
from decimal import Decimal
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Literal

from ..text.validation import number_within

if TYPE_CHECKING:
    from collections.abc import Iterable
    from datetime import date

PriceKind = Literal["chat", "embedding", "search"]

CHARS_PER_TOKEN: Final = 3
"""Estimate for Latin text without a tokenizer. English prose has 4; German, code and addresses have
fewer, so an estimated cost is rather too high."""
PLAN_TOKENS: Final = (60, 300)
"""Least and most output tokens of a model that plans queries."""
ANSWER_TOKENS: Final = 800
"""Most output tokens of a model that writes an answer or calls tools."""
VERDICT_TOKENS: Final = 100
"""Most output tokens of one verdict with its quote and reason."""
JUDGEMENT_TOKENS: Final = 60
"""Most output tokens of one judgement of a page, with its reason of a few words."""
_REPLY_TOKENS: Final = 50
"""Those around them."""
THOUGHT_TOKENS: Final = 4_000
"""Most additional tokens of a reasoning model."""

MOST_USD: Final = 1e9
"""A higher cost is treated as an error."""

_MILLION: Final = Decimal(1_000_000)
_THOUSAND: Final = Decimal(1_000)
_SNAPSHOT = re.compile(r"-\d{4}-\d{2}-\d{2}$")
_DIMENSIONS = re.compile(r"@\d+$")

PRICES: Final[dict[str, dict[str, dict[str, Any]]]] = tomllib.loads(
    Path(__file__).with_name("prices.toml").read_text("utf-8"), parse_float=Decimal
)
"""The price table, read once on import."""


def chat_cost(model: str, input_tokens: int | None, output_tokens: int | None) -> float | None:
    """Return the cost of a chat call.

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
    """Return the cost of an embedding call; `model` may be an embedder's fingerprint.

    A free model costs 0 even when the tokens are not known.

    >>> embedding_cost("openai:text-embedding-3-small@512", 2_612), embedding_cost("lexical", None)
    (5.224e-05, 0.0)
    """
    price = _price("embedding", _embedding_name(model))
    if price is None or (input_tokens is None and price["per_million_tokens"]):
        return None
    return float((input_tokens or 0) * price["per_million_tokens"] / _MILLION)


def search_cost(provider: str, units: float) -> float | None:
    """Return the cost of that many units of the list price, usually one per request.

    >>> search_cost("tavily", 4), search_cost("offline", 4)
    (0.032, 0.0)
    """
    price = _price("search", provider)
    if price is None:
        return None
    return float(Decimal(str(units)) * price["per_thousand_requests"] / _THOUSAND)


def parse_usd(value: Any) -> float | None:
    """Return a valid amount of money from another system, None for everything else.

    >>> (parse_usd(0.007), parse_usd(0), parse_usd(-1), parse_usd(float("nan")), parse_usd(10**400),
    ...  parse_usd("7"))
    (0.007, 0.0, None, None, None, None)
    """
    return number_within(value, 0, MOST_USD)


def total_cost(costs: Iterable[float]) -> float:
    """Return the sum, exact to the last digit.

    >>> total_cost([0.1, 0.2])
    0.3
    """
    return float(sum(map(to_decimal, costs), Decimal(0)))


def total_if_known(costs: Iterable[float | None]) -> float | None:
    """Return the exact sum, None when a part of it is not known.

    >>> total_if_known([0.1, 0.2]), total_if_known([0.1, None]), total_if_known([])
    (0.3, None, 0.0)
    """
    known: list[float] = []
    for cost in costs:
        if cost is None:
            return None
        known.append(cost)
    return total_cost(known)


def tokens_in(texts: Iterable[str]) -> int:
    """Return an upper estimate of the tokens in the texts, by their characters.

    >>> tokens_in(["How do tasks end?", "\u65e5\u672c\u8a9e"])
    9
    """
    plain = other = 0
    for text in texts:
        ascii_chars = len(text.encode("ascii", "ignore"))
        plain += ascii_chars
        other += len(text) - ascii_chars
    return -(-plain // CHARS_PER_TOKEN) + other


def plan_tokens(model: str) -> tuple[int, int]:
    """Return the least and the most tokens that the model writes for a plan.

    >>> plan_tokens("gpt-4o-mini"), plan_tokens("gpt-5-nano")
    ((60, 300), (60, 4300))
    """
    least, most = PLAN_TOKENS
    return least, most + _thought_tokens(model)


def answer_tokens(model: str) -> int:
    """Return the most tokens that the model writes for an answer or for calls of tools.

    >>> answer_tokens("gpt-4o-mini"), answer_tokens("gpt-5-nano")
    (800, 4800)
    """
    return ANSWER_TOKENS + _thought_tokens(model)


def verdict_tokens(model: str, verdicts: int) -> int:
    """Return the most tokens that the model writes for so many verdicts about pages.

    >>> verdict_tokens("gpt-4o-mini", 12), verdict_tokens("gpt-5-nano", 1)
    (1250, 4150)
    """
    return _REPLY_TOKENS + VERDICT_TOKENS * verdicts + _thought_tokens(model)


def judgement_tokens(model: str, pages: int) -> int:
    """Return the most tokens that the model writes for judgements of so many pages.

    >>> judgement_tokens("gpt-4o-mini", 20), judgement_tokens("gpt-5-nano", 1)
    (1250, 4110)
    """
    return _REPLY_TOKENS + JUDGEMENT_TOKENS * pages + _thought_tokens(model)


def _thought_tokens(model: str) -> int:
    thinks = (_price("chat", model) or {}).get("thinks", False)
    return THOUGHT_TOKENS if thinks else 0


def price_date(kind: PriceKind, name: str) -> date | None:
    """Return the day on which the price was read, None without a price."""
    price = _price(kind, _embedding_name(name) if kind == "embedding" else name)
    return None if price is None else price["seen"]


def format_usd(amount: float | Decimal) -> str:
    """Return the amount for people, with as many digits as it needs, at least cents.

    >>> format_usd(0.5), format_usd(3e-07), format_usd(0.00021), format_usd(Decimal("12"))
    ('$0.50', '$0.0000003', '$0.00021', '$12.00')
    """
    exact = amount if isinstance(amount, Decimal) else to_decimal(amount)
    whole, _, cents = f"{exact.normalize():f}".partition(".")
    return f"${whole}.{cents:0<2}"


def to_decimal(amount: float) -> Decimal:
    """Return the amount as it is written, so that sums are exact to the last digit."""
    return Decimal(repr(amount))


def _embedding_name(model: str) -> str:
    """Return the name of an embedder in the price table; `model` may be a fingerprint."""
    vendor, _, _ = model.partition(":")
    return vendor if vendor == "local" else _DIMENSIONS.sub("", model)


def _price(kind: PriceKind, name: str) -> dict[str, Any] | None:
    """Return the price of a model or provider; a dated snapshot costs what its model costs.

    A longer name is otherwise another product: `gpt-4o-mini-tts` is no `gpt-4o-mini`.
    """
    table, plain = PRICES[kind], name.removeprefix("openai:")
    return table.get(plain) or table.get(_SNAPSHOT.sub("", plain))
