"""Similarity without a model, by the character sequences that a question and a text share."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple, TypeAlias

import numpy as np

from .lexicon import question_terms
from .tokenization import words

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    Whole: TypeAlias = NDArray[np.int64]
    Weights: TypeAlias = NDArray[np.float64]

_SIZES: Final = (3, 4, 5)
_LATIN_BITS: Final = 8
_KEY_BITS: Final = 63

# Until glibc has seen so large a block freed, it hands the memory of each call, 1 to 4 MiB, back to
# the system; to take it again costs more than the arithmetic.
np.empty(1 << 22, np.uint8)


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
        """Return the same for texts that `words` has split."""
        if not self._by_rarity:
            return _cosines(_Grams.of([*texts, words(question)]), len(texts) + 1, None)
        terms = question_terms(question)
        grams = _Grams.of([*texts, [term.word for term in terms]])
        return _cosines(grams, len(texts) + 1, np.array([term.rarity for term in terms]))


class _Grams(NamedTuple):
    """How often each n-gram of some texts stands in each of them: an entry per n-gram and text.

    The entries are in the order of the n-grams, which are numbered from 0, then of the texts.
    """

    starts: Whole
    """The first entry of each n-gram, and the number of entries."""
    texts: Whole
    """The text of each entry."""
    counts: Whole
    """In how many of the text's words the n-gram is, per entry."""
    last: tuple[Whole, Whole]
    """The n-grams of the last text's words, and the words, counting from 0: each pair once."""

    @classmethod
    def of(cls, texts: Sequence[Sequence[str]]) -> _Grams:
        """Return the n-grams of the texts, given as words."""
        joined = [" ".join(text) for text in texts]
        chars, char_bits = _code_points(f" {' '.join(joined)} ")
        inside = chars != chars[0]
        word = (~inside).cumsum()
        word_bits = int(word[-1]).bit_length()
        pairs = _all_grams(chars, char_bits, inside, word, word_bits)
        pairs.sort()
        pairs = pairs[_is_new(pairs)]  # an n-gram may be twice in a word
        text_of = np.repeat(np.arange(len(texts)), [max(len(text), 1) for text in texts])
        words = pairs & ((1 << word_bits) - 1)
        words -= 1  # a border precedes the first one
        owners = text_of[words]
        pairs >>= word_bits
        is_gram = _is_new(pairs)
        places = (is_gram | _is_new(owners)).nonzero()[0]
        counts = np.diff(np.append(places, pairs.size))
        starts = np.append(is_gram[places].nonzero()[0], places.size)
        own = (owners == len(texts) - 1).nonzero()[0]
        last = places[starts[:-1]].searchsorted(own, "right") - 1, words[own]
        return cls(starts, owners[places], counts, last)


def _code_points(text: str) -> tuple[Whole, int]:
    """Return the characters as numbers above 0, and how many bits each has at most."""
    try:
        return np.frombuffer(text.encode("latin-1"), np.uint8).astype(np.int64), _LATIN_BITS
    except UnicodeEncodeError:
        points = np.frombuffer(text.encode("utf-32-le", "surrogatepass"), np.int32)
    known, numbers = np.unique(points, return_inverse=True)
    return numbers + 1, known.size.bit_length()


def _all_grams(
    chars: Whole, char_bits: int, inside: NDArray[np.bool_], word: Whole, word_bits: int
) -> Whole:
    """Return each n-gram as a number, with its word in the lowest bits.

    An n-gram may begin or end with the space at a word's border and has no other.
    """
    found = []
    grams, fits = chars[:-1] << char_bits | chars[1:], inside[1:]
    bits = 2 * char_bits
    for size in _SIZES:
        if bits + char_bits * (1 + _SIZES[-1] - size) + word_bits + 2 > _KEY_BITS:
            known, grams = np.unique(grams, return_inverse=True)
            bits = known.size.bit_length()
        grams = grams[:-1] << char_bits | chars[size - 1 :]
        bits += char_bits
        fits = fits[:-1] & (inside[size - 2 : -1] if size > _SIZES[0] else True)
        tagged = grams << word_bits
        tagged |= word[1 : 1 + tagged.size]
        tagged |= (size - 2) << (_KEY_BITS - 2)  # no two sizes have a number in common
        found.append(tagged[fits])
    return np.concatenate(found)


def _cosines(found: _Grams, texts: int, rarities: Weights | None) -> list[float]:
    """Return the cosine of each text with the last one, the question."""
    n = texts - 1
    asked = found.last[0]
    if not len(asked):
        return [0.0] * n
    entries = np.diff(found.starts)  # of each n-gram
    frequencies = entries.copy()
    frequencies[asked] = entries[asked] - 1  # the question is no text of the pool
    by_frequency = np.log((1 + n) / (1 + np.arange(n + 1))) + 1
    idf = by_frequency[frequencies]
    weights = idf.repeat(entries)
    several = (found.counts > 1).nonzero()[0]
    counts = found.counts[several]
    weights[several] *= (1 + np.log(np.arange(1, int(found.counts.max()) + 1)))[counts - 1]
    wanted = _wanted(found, len(entries), rarities, idf)
    hits = wanted.nonzero()[0]
    sizes = entries[hits]
    places = sizes.cumsum()
    shared = (found.starts[hits] + sizes - places).repeat(sizes) + np.arange(places[-1])
    products = weights[shared] * wanted[hits].repeat(sizes)
    dots = np.bincount(found.texts[shared], products, minlength=texts)[:n]
    weights *= weights
    squares = np.bincount(found.texts, weights, minlength=texts)[:n]
    norms = np.sqrt(squares * np.square(wanted).sum())  # a product would wake BLAS's threads
    cosines: list[float] = (dots / np.where(norms > 0, norms, 1)).clip(0, 1).tolist()
    return cosines


def _wanted(found: _Grams, kinds: int, rarities: Weights | None, idf: Weights) -> Weights:
    """Return the weight of every n-gram in the question."""
    grams, words = found.last
    if rarities is None:
        counts = np.bincount(grams, minlength=kinds)
        return np.where(counts > 0, 1 + np.log(np.maximum(counts, 1)), 0) * idf
    terms = words - words.min()
    shares = rarities / np.sqrt(np.bincount(terms))
    return np.bincount(grams, shares.take(terms), minlength=kinds) * idf


def _is_new(values: Whole) -> NDArray[np.bool_]:
    """Return where a value differs from the one before it."""
    is_new = np.ones(values.size, np.bool_)
    np.not_equal(values[1:], values[:-1], out=is_new[1:])
    return is_new
