"""Cosines of character sequences."""

from __future__ import annotations

import math
import os
import sys
from collections import Counter
from subprocess import run

import pytest

from collection_search.ranking.similarity import LexicalSimilarity
from collection_search.ranking.tokenization import words

TEXTS = [
    "How to cancel an asyncio task after a timeout",
    "Sauerteigbrot backen: Mehl, Wasser, Salz",
    "Die Bevölkerungsdichte der Stadt, die Bevölkerung",
    "",
    "a task, a task, a task",
    "banana bananas mississippi aaaaaa",
]


def _grams(text: str) -> Counter[str]:
    grams: Counter[str] = Counter()
    for word in words(text):
        padded = f" {word} "
        grams.update(
            {padded[i : i + n] for n in (3, 4, 5) for i in range(max(1, len(padded) - n + 1))}
        )
    return grams


def _reference(question: str, texts: list[str]) -> list[float]:
    """TF-IDF cosine, written out."""
    pages = [_grams(text) for text in texts]
    known = Counter(gram for page in pages for gram in page)

    def vector(grams: Counter[str]) -> dict[str, float]:
        return {
            gram: (1 + math.log(count)) * (math.log((1 + len(texts)) / (1 + known[gram])) + 1)
            for gram, count in grams.items()
        }

    def length(values: dict[str, float]) -> float:
        return math.sqrt(sum(value**2 for value in values.values())) or 1

    asked = vector(_grams(question))
    return [
        sum(asked[gram] * value for gram, value in page.items() if gram in asked)
        / (length(asked) * length(page))
        for page in map(vector, pages)
    ]


@pytest.mark.parametrize("question", ["cancel the task", "Bevölkerung von Städten", "banana", "a"])
def test_plain_cosines_follow_the_formula(question):
    """As a text like the others the question gets the textbook's TF-IDF cosine."""
    found = LexicalSimilarity(by_rarity=False).similarities(question, TEXTS)
    assert found == pytest.approx(_reference(question, TEXTS))


@pytest.mark.parametrize("by_rarity", [True, False])
def test_many_characters(by_rarity):
    """A pool of thousands of different characters is compared like any other."""
    every = [chr(point) for point in range(0x4E00, 0x7000)]
    texts = ["".join(every[i : i + 90]) for i in range(0, len(every), 90)]
    found = LexicalSimilarity(by_rarity=by_rarity).similarities(texts[7], texts)
    assert found[7] == pytest.approx(1)
    assert sum(found) == pytest.approx(1)


def test_words_instead_of_texts():
    """Who has read the texts already gets the same cosines."""
    similarity = LexicalSimilarity()
    of_words = similarity.of_words("banana task", [words(text) for text in TEXTS])
    assert of_words == similarity.similarities("banana task", TEXTS)


@pytest.mark.slow
def test_processes_agree():
    """Cosines are the same to the last bit in every process, however Python hashes strings."""
    code = (
        "from collection_search.ranking.similarity import LexicalSimilarity as S;"
        f"print(S().similarities('cancel a banana task', {TEXTS!r}))"
    )
    told = {
        run(
            [sys.executable, "-c", code],
            env={**os.environ, "PYTHONHASHSEED": seed},
            check=True,
            capture_output=True,
        ).stdout
        for seed in ("1", "2")
    }
    assert len(told) == 1


def test_identical_text():
    """A text is wholly similar to itself."""
    assert LexicalSimilarity(by_rarity=False).similarities(TEXTS[0], TEXTS)[0] == pytest.approx(1)


def test_compounds_are_found():
    """Part of a German compound counts."""
    found = LexicalSimilarity().similarities("Wie dicht ist die Bevölkerung?", TEXTS)
    assert found.index(max(found)) == 2


def test_rare_words_lead():
    """By rarity a name outweighs many common words."""
    texts = ["asyncio in depth", "how many people work a long time in a large group"]
    question = "how many people work with asyncio"
    weighed = LexicalSimilarity().similarities(question, texts)
    plain = LexicalSimilarity(by_rarity=False).similarities(question, texts)
    assert weighed[0] > weighed[1]
    assert plain[0] < plain[1]


@pytest.mark.parametrize(
    ("question", "texts"),
    [
        ("task", []),
        ("", ["a text"]),
        ("\U0001f600", ["a text", ""]),
        ("task", ["", "\U0001f600"]),
        ("the of and", ["", "no"]),
    ],
)
def test_nothing_to_compare(question, texts):
    """Without words on either side every similarity is 0."""
    assert LexicalSimilarity().similarities(question, texts) == [0.0] * len(texts)
