"""An embedder without a model, whose vectors depend on the text alone."""

from __future__ import annotations

import hashlib
import math
import re
from functools import cache
from typing import TYPE_CHECKING, Final

from ..contracts.collection import Embedded
from ..ranking.anchors import LANGUAGES, anchors

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping, Sequence


UNRELATED: Final = 0.2687
RELATED: Final = 0.4069
"""Cosines of the anchors: where unrelated and related texts of hashed words lie."""

_ANCHOR_DIMENSION: Final = 64
_WORD = re.compile(r"\w+")


class ScriptedEmbedder:
    """An embedder by hashed words: texts that share words have near vectors.

    From 64 dimensions on it tells the anchors of the languages in `tells` apart, as a sound model
    does, so that a run uses it; hashed words alone would not be good enough.
    `errors` are raised in order, one per call, before it works; `error` is raised by every call.
    `synonyms` maps words onto the word that they count as, so that a test can have texts that are
    near without a common word.
    """

    def __init__(
        self,
        *,
        dimension: int = 64,
        fingerprint: str | None = None,
        synonyms: dict[str, str] | None = None,
        errors: Sequence[Exception] = (),
        error: Exception | None = None,
        tells: Collection[str] = LANGUAGES,
    ) -> None:
        self.dimension = dimension
        self.fingerprint = fingerprint or f"scripted:{dimension}"
        self.synonyms = synonyms or {}
        self.errors = list(errors)
        self.error = error
        self.tells = tells
        self.calls: list[list[str]] = []
        """The texts of every call."""

    async def embed(self, texts: Sequence[str]) -> Embedded:
        """Return `(len(texts), dimension)` float32, unit length, in order."""
        import numpy as np

        self.calls.append(list(texts))
        if self.errors:
            raise self.errors.pop(0)
        if self.error:
            raise self.error
        counts = [
            (anchors.cache_info().currsize and anchor_vector(text, self.dimension, self.tells))
            or word_counts(text, self.dimension, synonyms=self.synonyms)
            for text in texts
        ]  # nobody asks for anchors before these were read, which blocks
        vectors = np.asarray(counts, dtype=np.float32).reshape(len(texts), self.dimension)
        vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
        return Embedded(vectors, input_tokens=sum(len(text.split()) for text in texts))


def anchor_vector(
    text: str, dimension: int, tells: Collection[str] = LANGUAGES
) -> list[float] | None:
    """Return the vector of an anchor's question or page; None for any other text.

    All unrelated pairs have the cosine `UNRELATED` and all related ones `RELATED`.
    """
    found = _anchor_places().get(text)
    if found is None or dimension < _ANCHOR_DIMENSION or found[0] not in tells:
        return None
    _, place, is_page = found
    own = math.sqrt(1 - UNRELATED)
    near = (RELATED - UNRELATED) / own if is_page else own
    vector = [0.0] * dimension
    vector[place], vector[-1] = near, math.sqrt(UNRELATED)
    vector[-2] = math.sqrt(max(0.0, 1 - UNRELATED - near * near))
    return vector


@cache
def _anchor_places() -> Mapping[str, tuple[str, int, bool]]:
    """Return the language and the number of each text of the anchors, and whether it is a page."""
    return {
        text: (language, number, is_page)
        for language, each in anchors().items()
        for number, anchor in enumerate(each)
        for text, is_page in ((anchor.question, False), (anchor.page, True))
    }


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
