"""The prices of models and search providers: a user's own, else the dated list of `prices.toml`.

Amounts are US dollars. None means that the price is not known; prices are never estimated.
"""

from __future__ import annotations

import re
import tomllib
from dataclasses import dataclass, field
from decimal import Decimal
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Literal

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping
    from datetime import date

PriceKind = Literal["chat", "embedding", "search"]

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

_AMOUNTS: Final = (
    "input_per_million_tokens",
    "output_per_million_tokens",
    "per_million_tokens",
    "per_thousand_requests",
)
"""The fields of an entry that are sums of money."""
_MILLION: Final = Decimal(1_000_000)
_THOUSAND: Final = Decimal(1_000)
_SNAPSHOT: Final = re.compile(r"-(\d{4}-\d{2}-\d{2}|20\d{6})$")
_DIMENSIONS: Final = re.compile(r"@\d+$")
_ADDRESS: Final = re.compile(r":[0-9a-f]{8}$")
_VENDORS: Final = {
    "CohereEmbeddings": "cohere",
    "GoogleGenerativeAIEmbeddings": "google_genai",
    "MistralAIEmbeddings": "mistralai",
    "OpenAIEmbeddings": "openai",
    "VoyageAIEmbeddings": "voyageai",
}
"""The vendor of a LangChain class of embeddings."""

PRICES: Final[dict[PriceKind, dict[str, dict[str, Any]]]] = tomllib.loads(  # type: ignore[assignment]
    Path(__file__).with_name("prices.toml").read_text("utf-8"), parse_float=Decimal
)
"""The dated list, read once on import."""


@dataclass(frozen=True, slots=True)
class PriceList:
    """The prices by which a run counts: a user's own entries win over the dated list.

    A name is `vendor:model` or a model alone. An entry without a vendor is for every vendor's
    model of that name, and an entry with one also for the model's name alone, as answers tell it.
    """

    own: Mapping[PriceKind, Mapping[str, Mapping[str, Any]]] = field(default_factory=dict)
    """By kind and name; an entry has the fields of `prices.toml`, `seen` and `source` left out."""

    def chat_cost(
        self,
        model: str,
        input_tokens: int | None,
        output_tokens: int | None,
        *,
        asked: str = "",
    ) -> float | None:
        """Return the cost of a chat call; `model` is the name that its answer tells.

        A gateway may answer with another name than the one that was `asked`. A user's own price of
        that name holds unless there is one of the answer's name.

        >>> LIST_PRICES.chat_cost("gpt-4o-mini-2024-07-18", 1_000, 100)
        0.00021
        >>> LIST_PRICES.chat_cost("a-model-of-my-own", 1_000, 100) is None
        True
        """
        price = self._price("chat", model, asked)
        if price is None or input_tokens is None or output_tokens is None:
            return None
        return float(
            input_tokens * price["input_per_million_tokens"] / _MILLION
            + output_tokens * price["output_per_million_tokens"] / _MILLION
        )

    def embedding_cost(self, model: str, input_tokens: int | None) -> float | None:
        """Return the cost of an embedding call; `model` may be an embedder's fingerprint.

        A free model costs 0 even when the tokens are not known.

        >>> LIST_PRICES.embedding_cost("openai:text-embedding-3-small@512", 2_612)
        5.224e-05
        >>> LIST_PRICES.embedding_cost("lexical", None)
        0.0
        """
        price = self._price("embedding", model)
        if price is None or (input_tokens is None and price["per_million_tokens"]):
            return None
        return float((input_tokens or 0) * price["per_million_tokens"] / _MILLION)

    def search_cost(self, provider: str, units: float) -> float | None:
        """Return the cost of that many units of the price, usually one per request.

        >>> LIST_PRICES.search_cost("tavily", 4), LIST_PRICES.search_cost("offline", 4)
        (0.032, 0.0)
        """
        price = self._price("search", provider)
        if price is None:
            return None
        return float(Decimal(str(units)) * price["per_thousand_requests"] / _THOUSAND)

    def is_free(self, kind: PriceKind, name: str) -> bool:
        """Return whether nobody sends a bill for this model or provider.

        >>> LIST_PRICES.is_free("search", "offline"), LIST_PRICES.is_free("chat", "my-own")
        (True, False)
        """
        price = self._price(kind, name)
        return price is not None and not any(price.get(each) for each in _AMOUNTS)

    def plan_tokens(self, model: str) -> tuple[int, int]:
        """Return the least and the most tokens that the model writes for a plan.

        >>> LIST_PRICES.plan_tokens("gpt-4o-mini"), LIST_PRICES.plan_tokens("gpt-5-nano")
        ((60, 300), (60, 4300))
        """
        least, most = PLAN_TOKENS
        return least, most + self._thought_tokens(model)

    def answer_tokens(self, model: str) -> int:
        """Return the most tokens that the model writes for an answer or for calls of tools.

        >>> LIST_PRICES.answer_tokens("gpt-4o-mini"), LIST_PRICES.answer_tokens("gpt-5-nano")
        (800, 4800)
        """
        return ANSWER_TOKENS + self._thought_tokens(model)

    def verdict_tokens(self, model: str, verdicts: int) -> int:
        """Return the most tokens that the model writes for so many verdicts about pages.

        >>> LIST_PRICES.verdict_tokens("gpt-4o-mini", 12)
        1250
        """
        return _REPLY_TOKENS + VERDICT_TOKENS * verdicts + self._thought_tokens(model)

    def judgement_tokens(self, model: str, pages: int) -> int:
        """Return the most tokens that the model writes for judgements of so many pages.

        >>> LIST_PRICES.judgement_tokens("gpt-4o-mini", 20)
        1250
        """
        return _REPLY_TOKENS + JUDGEMENT_TOKENS * pages + self._thought_tokens(model)

    def price_date(self, kind: PriceKind, name: str) -> date | None:
        """Return the day on which the price was read, None for a user's own and without a price."""
        return (self._price(kind, name) or {}).get("seen")

    def _thought_tokens(self, model: str) -> int:
        thinks = (self._price("chat", model) or {}).get("thinks", False)
        return THOUGHT_TOKENS if thinks else 0

    def _price(self, kind: PriceKind, name: str, asked: str = "") -> Mapping[str, Any] | None:
        """Return the price of a model or provider; a dated snapshot costs what its model costs.

        A longer name is otherwise another product: `gpt-4o-mini-tts` is no `gpt-4o-mini`.
        """
        own = self._own_price(kind, name)
        if own is None and asked:
            own = self._own_price(kind, asked)
        return own if own is not None else _listed_price(kind, name)

    def _own_price(self, kind: PriceKind, name: str) -> Mapping[str, Any] | None:
        return _entry(self.own[kind], _names(kind, name)) if kind in self.own else None


LIST_PRICES: Final = PriceList()
"""The dated list alone."""


def plain_name(kind: PriceKind, name: str) -> str:
    """Return the name of an entry of one's own: an embedder's without vendor and dimension.

    >>> plain_name("embedding", "openai:my-embedder@512"), plain_name("chat", "llama3.3:70b")
    ('my-embedder', 'llama3.3:70b')
    """
    if kind != "embedding":
        return name
    vendor, _, model = _DIMENSIONS.sub("", name).partition(":")
    if vendor == "langchain":
        model = _ADDRESS.sub("", model.partition(":")[2])
    return model or vendor


def _names(kind: PriceKind, name: str) -> Iterator[str]:
    """Yield the names by which a price is looked up, the most exact one first."""
    yield name
    if kind == "embedding":
        name = _DIMENSIONS.sub("", name)
        yield name
        vendor, _, model = name.partition(":")
        if vendor == "local":
            yield vendor
        elif vendor == "langchain":  # langchain:class:model, and a hash of an address of its own
            of_class, _, model = model.partition(":")
            model = model.removeprefix("models/")  # as Google's classes write it
            yield f"{_VENDORS.get(of_class, vendor)}:{model}"
            yield f"{vendor}:{_ADDRESS.sub('', model)}"
    elif kind == "chat":
        yield _SNAPSHOT.sub("", name.removeprefix("models/"))  # as Google's classes write it


@lru_cache(maxsize=256)
def _listed_price(kind: PriceKind, name: str) -> Mapping[str, Any] | None:
    """Return the price of the dated list; a run asks for the same few again and again."""
    return _entry(PRICES[kind], _names(kind, name))


def _entry(
    table: Mapping[str, Mapping[str, Any]], names: Iterable[str]
) -> Mapping[str, Any] | None:
    """Return the first entry for one of the names; see `PriceList` for vendors."""
    for name in names:
        if (found := table.get(name)) is not None:
            return found
        vendor, _, model = name.partition(":")
        if model and (found := table.get(model)) is not None:
            return found
        of_vendors = [] if model else [key for key in table if key.partition(":")[2] == vendor]
        if len(of_vendors) == 1:
            return table[of_vendors[0]]
    return None
