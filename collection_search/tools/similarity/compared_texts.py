"""The question and the pages' texts as one embedder compares them: asked for, or cached."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import numpy as np

from ...contracts.collection import model_of
from ..spending.account import answer_key
from ..spending.embedder_call import ask_embedder

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ...context import SearchContext
    from ...ports import Embedder, Listener
    from ..spending.account import Account

_KIND: Final = "similarity"


@dataclass(frozen=True, slots=True)
class ComparedTexts:
    """The question and the pages' texts, with their similarities if these are cached."""

    all: Sequence[str]
    """The question, then the pages."""
    key: str = ""
    """The cache key of the request; blank where its answer is not cached."""
    known: Sequence[float] | None = None
    """The cosine of each page with the question, from the same request before."""

    @property
    def new(self) -> list[str]:
        """The texts to embed, each once."""
        return [] if self.known is not None else list(dict.fromkeys(self.all))

    @property
    def known_count(self) -> int:
        """How many of the texts need not be embedded."""
        return 0 if self.known is None else len(self.all)


class PageCosines(NamedTuple):
    """The cosines of an embedder's vectors."""

    cosines: Sequence[float]
    input_tokens: int | None
    dimension: int | None = None
    """Of the vectors; None where the cosines were cached."""


async def find_known(
    texts: Sequence[str], embedder: Embedder, *, context: SearchContext, account: Account
) -> ComparedTexts:
    """Return the texts, with the cached similarities of the same request to this embedder.

    Those are one answer. Vectors are not cached: they are a hundred times as large, and the texts
    that two questions share cost less than to store and find them. Of a free embedder nothing is.
    """
    if not context.answer_cache_s() or account.prices.embedding_cost(embedder.fingerprint, 1) == 0:
        return ComparedTexts(texts)
    key = answer_key(embedder.fingerprint, *texts)
    found = await account.read_cached_answers(_KIND, [key], _read_cosines)
    cosines = found.get(key)
    is_whole = cosines is not None and len(cosines) == len(texts) - 1
    return ComparedTexts(texts, key, cosines if is_whole else None)


async def compare_all(
    texts: ComparedTexts, embedder: Embedder, *, account: Account, listener: Listener
) -> PageCosines:
    """Return each page's cosine with the question, in order, and what that took.

    The cosine of a page whose vector cannot be used is NaN. The texts are one request, whose answer
    is cached. Raises what `ask_embedder` raises.
    """
    if texts.known is not None:
        return PageCosines(texts.known, 0)
    new = texts.new
    async with listener.embedding(model_of(embedder.fingerprint), len(new)) as call:
        embedded = await ask_embedder(embedder, new, in_part=True)
        vectors = embedded.vectors
        count, dimension = vectors.shape
        call.embedded(count=count, dimension=dimension, input_tokens=embedded.input_tokens)
    if len(new) < len(texts.all):
        places = {text: place for place, text in enumerate(new)}
        vectors = vectors[[places[text] for text in texts.all]]
    cosines: list[float] = np.asarray(vectors[1:] @ vectors[0], dtype=float).tolist()
    if texts.key and all(map(math.isfinite, cosines)):
        account.cache_answers(_KIND, lambda: {texts.key: cosines})
    return PageCosines(cosines, embedded.input_tokens, dimension)


def _read_cosines(given: Any) -> list[float]:
    """Return the cosines of an answer. Raises ValueError for a damaged one."""
    cosines = [float(value) for value in given]
    if not all(map(math.isfinite, cosines)):
        raise ValueError("a cosine is no finite number")
    return cosines
