"""The question and the pages' texts as one embedder compares them: new texts and cached vectors."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

import numpy as np

from ...contracts.collection import Embedded, model_of
from ...errors import ModelError
from ..spending.account import answer_key

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from ...context import SearchContext
    from ...contracts.collection import Vectors
    from ...ports import Embedder, Listener
    from ..spending.account import Account


@dataclass(frozen=True, slots=True)
class ComparedTexts:
    """The question and the pages' texts, with the vectors that are cached."""

    all: Sequence[str]
    """The question, then the pages."""
    keys: Mapping[str, str] = field(default_factory=dict)
    """The cache key of each text; empty where vectors are not cached."""
    known: dict[str, Vectors] = field(default_factory=dict)
    """The vector, `(1, d)`, of each text that was embedded before."""

    @property
    def new(self) -> list[str]:
        """The texts to embed, each once."""
        return [text for text in dict.fromkeys(self.all) if text not in self.known]

    @property
    def known_count(self) -> int:
        """How many of the texts were embedded before."""
        return sum(text in self.known for text in self.all)


async def find_known(
    texts: Sequence[str], embedder: Embedder, *, context: SearchContext, account: Account
) -> ComparedTexts:
    """Return the texts with the cached vectors of this embedder; a free one caches none."""
    if not context.answer_cache_s() or account.prices.embedding_cost(embedder.fingerprint, 1) == 0:
        return ComparedTexts(texts)
    keys = {text: answer_key(embedder.fingerprint, text) for text in texts}
    found = await account.read_cached_vectors(list(keys.values()))
    return ComparedTexts(texts, keys, {t: found[key] for t, key in keys.items() if key in found})


async def embed_all(
    texts: ComparedTexts, embedder: Embedder, *, account: Account, listener: Listener
) -> Embedded:
    """Return the vectors of all texts, in order, with the tokens of the new ones.

    The new texts are one request, whose vectors are cached. Raises what the embedder raises, and
    ModelError for a wrong number of vectors.
    """
    new, known = texts.new, texts.known
    if not new:
        return Embedded(np.concatenate([known[text] for text in texts.all]), input_tokens=0)
    async with listener.embedding(model_of(embedder.fingerprint), len(new)) as call:
        embedded = await embedder.embed(new)
        vectors = embedded.vectors
        if len(vectors) != len(new):
            raise ModelError(
                f"the embedder returned {len(vectors)} vectors for {len(new)} texts",
                input_tokens=embedded.input_tokens,
            )
        count, dimension = vectors.shape
        call.embedded(count=count, dimension=dimension, input_tokens=embedded.input_tokens)
    if any(row.shape[1] != vectors.shape[1] for row in known.values()):
        known.clear()  # the model behind the name is another one now
        again = await embed_all(texts, embedder, account=account, listener=listener)
        return replace(again, input_tokens=None)
    if texts.keys:
        account.cache_vectors([texts.keys[text] for text in new], vectors)
    if len(new) == len(texts.all):
        return embedded
    rows = {text: vectors[n : n + 1] for n, text in enumerate(new)} | known
    return replace(embedded, vectors=np.concatenate([rows[text] for text in texts.all]))
