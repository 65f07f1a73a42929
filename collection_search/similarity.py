"""Similarity without a model: how many character sequences a question and a text share."""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING, Final, TypeAlias

import numpy as np

from .lexicon import question_terms, words

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    Grams: TypeAlias = NDArray[np.int64]
    Weights: TypeAlias = NDArray[np.float64]

_SIZES: Final = (3, 4, 5)


class LexicalSimilarity:
    """Cosine of character 3-5-grams inside word borders, weighed by TF-IDF over the pool.

    Frequencies count by their logarithm, inverse document frequencies are smoothed. Words need
    not agree letter by letter, so compounds and inflected forms are found.

    `by_rarity`: the question counts each of its terms once, by rarity and whatever its length;
    otherwise it is a text like the others.
    """

    def __init__(self, *, by_rarity: bool = True) -> None:
        self._by_rarity = by_rarity

    def similarities(self, question: str, texts: Sequence[str]) -> list[float]:
        """Return one cosine per text, 0 to 1, in order.

        >>> near, far = LexicalSimilarity().similarities("timeouts", ["a timeout", "a task"])
        >>> near > 0.5, far
        (True, 0.0)
        """
        grams, weights = self._question(question)
        pool = [_text_grams(text) for text in texts]
        if not grams.size or not any(each.size for each in pool):
            return [0.0] * len(texts)
        return _cosines(grams, weights, pool)

    def _question(self, question: str) -> tuple[Grams, Weights]:
        """Return the distinct n-grams of the question, sorted, with their weights before IDF."""
        if not self._by_rarity:
            grams, counts = np.unique(_text_grams(question), return_counts=True)
            return grams, 1 + np.log(counts)
        terms = [(_word_grams(term.word), term.rarity) for term in question_terms(question)]
        grams, slots = np.unique(_joined([each for each, _ in terms]), return_inverse=True)
        weights = np.zeros(grams.size)
        shares = [np.full(each.size, rarity / each.size**0.5) for each, rarity in terms]
        np.add.at(weights, slots, np.concatenate(shares or [weights]))
        return grams, weights


def _cosines(asked: Grams, asked_weights: Weights, pool: list[Grams]) -> list[float]:
    n = len(pool)
    known, slots = np.unique(np.concatenate(pool), return_inverse=True)
    owners = np.repeat(np.arange(n), [grams.size for grams in pool])
    cells, counts = np.unique(owners * known.size + slots, return_counts=True)
    owner, slot = np.divmod(cells, known.size)
    frequency = np.bincount(slot)
    weights = (1 + np.log(counts)) * _idf(frequency, n)[slot]

    nearest = np.minimum(np.searchsorted(known, asked), known.size - 1)
    shared = known[nearest] == asked
    wanted = asked_weights * _idf(np.where(shared, frequency[nearest], 0), n)
    lookup = np.zeros(known.size)
    lookup[nearest[shared]] = wanted[shared]

    dots = np.bincount(owner, weights * lookup[slot], minlength=n)
    norms = np.sqrt(np.bincount(owner, weights**2, minlength=n)) * np.linalg.norm(wanted)
    cosines: list[float] = np.clip(dots / np.where(norms > 0, norms, 1), 0, 1).tolist()
    return cosines


def _idf(frequency: Grams, n: int) -> Weights:
    return np.log((1 + n) / (1 + frequency)) + 1


def _text_grams(text: str) -> Grams:
    return _joined([_word_grams(word) for word in words(text)])


def _joined(parts: list[Grams]) -> Grams:
    return np.concatenate(parts) if parts else np.empty(0, np.int64)


@lru_cache(maxsize=1 << 14)
def _word_grams(word: str) -> Grams:
    """Return the hashes of a word's n-grams, its borders marked by spaces."""
    padded = f" {word} "
    grams = [padded[i : i + size] for size in _SIZES for i in range(max(1, len(padded) - size + 1))]
    return np.fromiter(map(hash, dict.fromkeys(grams)), np.int64)
