"""Similarity without a model, by the character sequences that a question and a text share."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple, TypeAlias

import numpy as np

from .lexicon import question_terms, words

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    Whole: TypeAlias = NDArray[np.int64]
    Weights: TypeAlias = NDArray[np.float64]

_SIZES: Final = (3, 4, 5)
_LARGEST_TABLE: Final = 1 << 18
_INT32_BITS: Final = 31

# Until glibc has seen so large a block freed, it hands the memory of each call, 1 to 2 MiB, back to
# the system; to take it again costs more than the arithmetic.
np.empty(1 << 21, np.uint8)


class LexicalSimilarity:
    """The cosine of character 3-5-grams inside word borders, weighed by TF-IDF over the pool.

    Frequencies count by their logarithm, inverse document frequencies are smoothed. N-grams match
    compounds and inflected forms too.

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
        return self.of_words(question, [words(text) for text in texts])

    def of_words(self, question: str, texts: Sequence[Sequence[str]]) -> list[float]:
        """Return the same for texts that `lexicon.words` has split."""
        if not self._by_rarity:
            return _cosines(_Grams.of([*texts, words(question)]), rarities=None)
        terms = question_terms(question)
        grams = _Grams.of([*texts, [term.word for term in terms]])
        return _cosines(grams, rarities=np.array([term.rarity for term in terms]))


class _Grams(NamedTuple):
    """The triples of text, n-gram and word, each once, in ascending order.

    A triple is a number of three parts, the text in its highest bits, then the n-gram and, in the
    lowest, the word. All three count from 0, n-grams over all texts, words over all texts too.
    """

    triples: Whole
    texts: int
    grams: int
    """Number of different n-grams."""
    gram_bits: int
    word_bits: int

    @classmethod
    def of(cls, texts: Sequence[Sequence[str]]) -> _Grams:
        """Return the n-grams of the texts, given as words."""
        joined = [" ".join(text) for text in texts]
        chars, alphabet = _numbered(_code_points(f" {' '.join(joined)} "))
        inside = chars != chars[0]
        word = (~inside).cumsum()[1:]  # that holds the character behind each place
        places, numbers, count = _all_grams(chars, alphabet, inside)
        word_bits, gram_bits = int(word[-1]).bit_length(), count.bit_length()
        owner = np.arange(len(texts)) << (gram_bits + word_bits)
        triples = (np.repeat(owner, [len(text) + 1 for text in joined]) | word).take(places)
        numbers <<= word_bits
        triples |= numbers
        if (len(texts) << (gram_bits + word_bits)).bit_length() <= _INT32_BITS:
            triples = triples.astype(np.int32)  # sorted in half the time
        triples.sort()
        return cls(triples[_is_new(triples)], len(texts), count, gram_bits, word_bits)


def _all_grams(chars: Whole, alphabet: int, inside: NDArray[np.bool_]) -> tuple[Whole, Whole, int]:
    """Return the place and the number of every n-gram, and the count of numbers.

    An n-gram may begin or end with the space at a word's border and has no other. It is numbered
    as the one before it and one more character, so that all numbers stay small.
    """
    places = inside[1:-1].nonzero()[0]
    numbers = ((chars[:-2] * alphabet + chars[1:-1]) * alphabet + chars[2:]).take(places)
    found, numbered, count = [], [], 0
    for size in _SIZES:
        if size > _SIZES[0]:
            longer = inside.take(places + (size - 2)).nonzero()[0]
            places = places.take(longer)
            numbers = numbers.take(longer) * alphabet + chars.take(places + (size - 1))
        numbers, different = _numbered(numbers)
        found.append(places)
        numbered.append(numbers + count)
        count += different
    return np.concatenate(found), np.concatenate(numbered), count


def _numbered(keys: NDArray[np.integer]) -> tuple[Whole, int]:
    """Return a number from 0 for each different key, and the count of numbers."""
    size = int(keys.max(initial=0)) + 1
    if size > _LARGEST_TABLE:
        known, numbers = np.unique(keys, return_inverse=True)
        return numbers, known.size
    places = np.arange(keys.size, dtype=np.int32)
    last_place = np.empty(size, np.int32)
    last_place[keys] = places
    last = last_place.take(keys)
    number = (last == places).cumsum()
    number -= 1
    return number.take(last), int(number[-1]) + 1 if number.size else 0


def _code_points(text: str) -> NDArray[np.integer]:
    try:
        return np.frombuffer(text.encode("latin-1"), np.uint8)
    except UnicodeEncodeError:
        return np.frombuffer(text.encode("utf-32-le", "surrogatepass"), np.int32)


def _cosines(grams: _Grams, rarities: Weights | None) -> list[float]:
    """Return the cosine of each text with the last one, the question."""
    n = grams.texts - 1
    triples, gram_bits, word_bits = grams.triples, grams.gram_bits, grams.word_bits
    border = triples.searchsorted(n << (gram_bits + word_bits))
    if border in {0, triples.size}:
        return [0.0] * n
    cells = triples[:border] >> word_bits
    starts = _is_new(cells).nonzero()[0]
    counts = np.append(starts[1:], border)
    counts -= starts
    cells = cells.take(starts).astype(np.int64)
    slots = cells & ((1 << gram_bits) - 1)

    by_frequency = np.log((1 + n) / (1 + np.arange(n + 1))) + 1
    idf = by_frequency.take(np.bincount(slots, minlength=grams.grams))
    by_count = 1 + np.log(np.arange(1, counts.max() + 1))
    weights = by_count.take(counts - 1) * idf.take(slots)
    wanted = _wanted(grams, triples[border:].astype(np.int64), rarities, idf)

    edges = cells.searchsorted(np.arange(n + 1) << gram_bits)
    dots = _sums(weights * wanted.take(slots), edges)
    norms = np.sqrt(_sums(weights * weights, edges) * (wanted @ wanted))
    cosines: list[float] = (dots / np.where(norms > 0, norms, 1)).clip(0, 1).tolist()
    return cosines


def _wanted(grams: _Grams, triples: Whole, rarities: Weights | None, idf: Weights) -> Weights:
    """Return the weight of every n-gram in the question, of which the triples are given."""
    slots = (triples >> grams.word_bits) & ((1 << grams.gram_bits) - 1)
    if rarities is None:
        counts = np.bincount(slots, minlength=grams.grams)
        return np.where(counts > 0, 1 + np.log(np.maximum(counts, 1)), 0) * idf
    term = triples & ((1 << grams.word_bits) - 1)
    term -= term.min()
    shares = rarities / np.sqrt(np.bincount(term))
    return np.bincount(slots, shares.take(term), minlength=grams.grams) * idf


def _is_new(values: Whole) -> NDArray[np.bool_]:
    """Return where a value differs from the one before it."""
    is_new = np.ones(values.size, np.bool_)
    np.not_equal(values[1:], values[:-1], out=is_new[1:])
    return is_new


def _sums(values: Weights, edges: Whole) -> Weights:
    """Return the sum of each stretch between two edges."""
    sums = np.add.reduceat(np.append(values, 0.0), edges[:-1])
    sums[edges[1:] == edges[:-1]] = 0.0
    return sums
