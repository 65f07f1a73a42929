"""The built-in anchors."""

from __future__ import annotations

import statistics

import pytest

from collection_search.ranking.anchors import LANGUAGES, anchors
from collection_search.ranking.lexicon import language_of
from collection_search.ranking.similarity import LexicalSimilarity


@pytest.mark.parametrize("language", LANGUAGES)
def test_anchors_look_like_search_results(language: str) -> None:
    """Questions as people type them; titles and snippets as long as a search engine's."""
    for anchor in anchors()[language]:
        assert 15 <= len(anchor.question) <= 90, anchor.question
        assert 15 <= len(anchor.title) <= 80, anchor.title
        assert 80 <= len(anchor.snippet) <= 240, anchor.snippet
        assert anchor.page == f"{anchor.title}\n{anchor.snippet}"


def test_no_anchor_comes_twice() -> None:
    """Every question, title and snippet is one of its kind."""
    every = [text for each in anchors().values() for anchor in each for text in anchor]
    assert len(set(every)) == len(every) == 3 * 64


@pytest.mark.parametrize(("language", "code"), [("english", "en"), ("german", "de")])
def test_anchors_are_of_their_language(language: str, code: str) -> None:
    """As far as the package itself can tell."""
    assert {language_of(f"{each.question} {each.snippet}") for each in anchors()[language]} == {
        code
    }


@pytest.mark.parametrize("language", LANGUAGES)
def test_related_pairs_share_words_and_unrelated_hardly_any(language: str) -> None:
    """So that words alone, and any model, place them apart."""
    entries = anchors()[language]
    related, unrelated = [], []
    for own, anchor in enumerate(entries):
        pages = [f"{each.title} {each.snippet}" for each in entries]
        for other, cosine in enumerate(LexicalSimilarity().similarities(anchor.question, pages)):
            (related if own == other else unrelated).append(cosine)
    assert statistics.median(related) > 10 * statistics.median(unrelated)
    assert min(related) > statistics.quantiles(unrelated, n=20)[-1]
