"""An embedder without a model, whose vectors depend on the text alone."""

from __future__ import annotations

import hashlib
import re
from typing import TYPE_CHECKING

from ..contracts.collection import Embedded

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence


_WORD = re.compile(r"\w+")


class ScriptedEmbedder:
    """An embedder by hashed words: texts that share words have near vectors.

    `errors` are raised in order, one per call, before it works. `synonyms` maps words onto the
    word that they count as, so that a test can have texts that are near without a common word.
    """

    def __init__(
        self,
        *,
        dimension: int = 64,
        fingerprint: str | None = None,
        synonyms: dict[str, str] | None = None,
        errors: Sequence[Exception] = (),
    ) -> None:
        self.dimension = dimension
        self.fingerprint = fingerprint or f"scripted:{dimension}"
        self.synonyms = synonyms or {}
        self.errors = list(errors)
        self.calls: list[list[str]] = []
        """The texts of every call."""

    async def embed(self, texts: Sequence[str]) -> Embedded:
        """Return `(len(texts), dimension)` float32, unit length, in order."""
        import numpy as np

        self.calls.append(list(texts))
        if self.errors:
            raise self.errors.pop(0)
        counts = [word_counts(text, self.dimension, synonyms=self.synonyms) for text in texts]
        vectors = np.asarray(counts, dtype=np.float32).reshape(len(texts), self.dimension)
        vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
        return Embedded(vectors, input_tokens=sum(len(text.split()) for text in texts))


def word_counts(
    text: str, dimension: int, *, synonyms: Mapping[str, str] | None = None
) -> list[float]:
    """Return how many words of the text fall into each of `dimension` places, never only zeros.

    >>> sum(word_counts("Cancel a task, a task", 16)), max(word_counts("", 16))
    (5.0, 1.0)
    """
    counts = [0.0] * dimension
    for word in _WORD.findall(text.lower()) or [""]:
        meant = synonyms.get(word, word) if synonyms else word
        digest = hashlib.sha256(meant.encode(errors="replace")).digest()
        counts[int.from_bytes(digest[:4], "big") % dimension] += 1
    return counts
