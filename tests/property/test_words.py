"""What words and their n-grams are, written out."""

from __future__ import annotations

import math
import re
import unicodedata
from collections import Counter
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from collection_search.ranking.lexicon import question_terms
from collection_search.ranking.scripts import has_other_scripts
from collection_search.ranking.similarity import LexicalSimilarity
from collection_search.ranking.tokenization import MAX_WORD_CHARS, words

PIECES = st.sampled_from(
    ["task", "Haus", "über", "ß", "C++", "C#", "#", "+", "_", "\u2019", "\u2013", "\u2026", "€", "µ", "½", "²", "ﬁ",
     "ł", "語", "士", "に", "ที่", "न्", "\u0640", "ب", "한", "\u0301", "\xa0", "\0", "\ud800", " ", "\n", "a" * 60, "banana", "İ", "4"]
)  # fmt: skip
HAN = frozenset("語士に")
TEXTS = st.text(max_size=40) | st.lists(PIECES, max_size=14).map("".join)
READABLE = st.lists(
    st.sampled_from(["task", "tasks", "banana", "aaaa", "a", "ab", "Häuser", "語語語", "x2"]),
    max_size=10,
).map(" ".join)


@pytest.mark.slow
@given(text=TEXTS)
def test_words_are_runs_of_letters_and_digits(text):
    """Whatever the characters, a word is a run of letters and digits, folded."""
    folded = unicodedata.normalize("NFKC", text).casefold()
    found = re.findall(r"[^\W_]+(?:\+\+|#(?!\w))?", folded)
    spelled = [word.replace("++", "pp").replace("#", "sharp") for word in found]
    if has_other_scripts(folded):
        _check_scripts(folded, words(text))
    else:
        assert words(text) == [word for word in spelled if len(word) <= MAX_WORD_CHARS]


def _check_scripts(folded: str, found: list[str]) -> None:
    """Marks belong to the letter before them; no pair of Chinese characters is lost."""
    for word in found:
        assert word[0].isalnum()
        assert all(char.isalnum() or unicodedata.category(char) in {"Mn", "Mc"} for char in word)
        assert len(word) <= MAX_WORD_CHARS
    pairs = {first + second for first, second in pairwise(folded) if {first, second} <= HAN}
    assert all(any(word.startswith(pair) for word in found) for pair in pairs)


def _grams(word: str) -> set[str]:
    padded = f" {word} "
    return {padded[i : i + n] for n in (3, 4, 5) for i in range(len(padded) - n + 1)}


def _cosines(asked: dict[str, float], texts: list[str]) -> list[float]:
    pages = [Counter(gram for word in words(text) for gram in _grams(word)) for text in texts]
    known = Counter(gram for page in pages for gram in page)

    def idf(gram: str) -> float:
        return math.log((1 + len(texts)) / (1 + known[gram])) + 1

    wanted = {gram: weight * idf(gram) for gram, weight in asked.items()}
    vectors = [{gram: (1 + math.log(page[gram])) * idf(gram) for gram in page} for page in pages]
    lengths = [math.hypot(*vector.values()) * math.hypot(*wanted.values()) for vector in vectors]
    return [
        sum(wanted.get(gram, 0) * value for gram, value in vector.items()) / (length or 1)
        for vector, length in zip(vectors, lengths, strict=True)
    ]


@pytest.mark.slow
@given(question=READABLE | TEXTS, texts=st.lists(READABLE | TEXTS, max_size=6))
def test_cosines_follow_the_formula(question, texts):
    """TF-IDF over sets of n-grams per word, the question plain or by the rarity of its terms."""
    plain: Counter[str] = Counter(gram for word in words(question) for gram in _grams(word))
    expected = _cosines({gram: 1 + math.log(count) for gram, count in plain.items()}, texts)
    found = LexicalSimilarity(by_rarity=False).similarities(question, texts)
    assert found == pytest.approx(expected, abs=1e-9)

    by_rarity: Counter[str] = Counter()
    for term in question_terms(question):
        grams = _grams(term.word)
        by_rarity.update(dict.fromkeys(grams, term.rarity / math.sqrt(len(grams))))
    found = LexicalSimilarity().similarities(question, texts)
    assert found == pytest.approx(_cosines(dict(by_rarity), texts), abs=1e-9)
