"""The settings of prices: the user's own, and what a ceiling makes of a call without one."""

from __future__ import annotations

from decimal import Decimal
from functools import cached_property
from typing import TYPE_CHECKING, Annotated

from pydantic import BaseModel, ConfigDict, Field
from pydantic_settings import BaseSettings

from ..contracts.price_list import LIST_PRICES, PriceList

if TYPE_CHECKING:
    from collections.abc import Sequence

_MAX_USD = 1_000_000
Price = Annotated[Decimal, Field(ge=0, le=_MAX_USD, allow_inf_nan=False)]
"""US dollars."""
Priced = Annotated[str, Field(min_length=1, max_length=300)]
"""Name of a model or provider."""


class _Entry(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True, hide_input_in_errors=True)


class ChatPrice(_Entry):
    """The price of a chat model."""

    input_per_million_tokens: Price
    output_per_million_tokens: Price
    thinks: bool = False
    """True for a model that writes thoughts, which are billed as output."""


class EmbeddingPrice(_Entry):
    """The price of an embedding model."""

    per_million_tokens: Price


class SearchPrice(_Entry):
    """The price of a search provider."""

    per_thousand_requests: Price


class OwnPrices(_Entry):
    """The user's own prices, by the name of a model or provider."""

    chat: dict[Priced, ChatPrice] = Field(default_factory=dict)
    embedding: dict[Priced, EmbeddingPrice] = Field(default_factory=dict)
    search: dict[Priced, SearchPrice] = Field(default_factory=dict)

    @cached_property
    def price_list(self) -> PriceList:
        """These prices before the dated list of the package."""
        return PriceList(self.model_dump())  # type: ignore[arg-type]  # the fields are the kinds


def price_names(path: Sequence[str]) -> list[str]:
    """Return the names that may stand where a path below `prices` ends.

    >>> price_names(["prices", "serach"]), price_names(["prices", "search", "brave", "each"])
    (['chat', 'embedding', 'search'], ['per_thousand_requests'])
    """
    kinds: dict[str, type[BaseModel]] = {
        "chat": ChatPrice,
        "embedding": EmbeddingPrice,
        "search": SearchPrice,
    }
    entry = kinds.get(path[1]) if len(path) > len(("prices", "kind", "name")) else None
    return [*(kinds if entry is None else entry.model_fields)]


class PriceTable(BaseSettings):
    """One field per setting; other modules use `Settings`."""

    prices: OwnPrices | None = Field(
        default=None,
        description=(
            "Your own prices in US dollars, beside the dated list of the package: maps chat,"
            " embedding and search, by model or provider."
        ),
    )
    require_prices: bool = Field(
        default=False,
        description="Under a ceiling, refuse calls whose price is not known.",
    )

    @property
    def price_list(self) -> PriceList:
        """The user's own prices before the dated list of the package."""
        return LIST_PRICES if self.prices is None else self.prices.price_list
