"""A question in another language than the pages: told, with the way out, where words decide."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from support.scripted_world import INPUT, QUESTION

from collection_search import CollectionSearchGraph, SearchContext
from collection_search.contracts.search import ProviderSearchResult
from collection_search.testing import ScriptedAdapter, ScriptedEmbedder

if TYPE_CHECKING:
    from collections.abc import Sequence

GERMAN = "Wie breche ich einen asyncio-Task nach einem Timeout ab?"
ENGLISH_PAGE = "This is how you cancel an asyncio task after the timeout that it was given."
GERMAN_PAGE = "So wird ein asyncio-Task nach einem Timeout wieder abgebrochen."


def notices(context: SearchContext, question: str, snippets: Sequence[str]) -> list[str]:
    pages = [
        ProviderSearchResult(f"https://a.org/{n}", "asyncio", snippet, "a.org")
        for n, snippet in enumerate(snippets)
    ]
    asking = context.model_copy(update={"provider": ScriptedAdapter(pages)})
    _, output = CollectionSearchGraph(asking).run({**INPUT, "question": question})
    return output["search"]["notices"]


def test_the_notice_says_both_languages_and_what_to_do(context: SearchContext) -> None:
    """Ask in the other language, or set a model."""
    (notice,) = notices(context, GERMAN, [ENGLISH_PAGE] * 4)
    assert notice.startswith("The question is in German, the pages are in English")
    assert "Ask in English, or set a model" in notice
    assert "COLLECTION_SEARCH_EMBEDDINGS" in notice
    (notice,) = notices(context, QUESTION, [GERMAN_PAGE] * 4)
    assert "Ask in German" in notice


@pytest.mark.parametrize(
    ("question", "pages"),
    [
        (QUESTION, [ENGLISH_PAGE] * 4),
        (GERMAN, [GERMAN_PAGE] * 4),
        (GERMAN, [ENGLISH_PAGE, ENGLISH_PAGE, GERMAN_PAGE]),
        ("asyncio timeout", [GERMAN_PAGE] * 4),
        (GERMAN, ["asyncio.timeout(delay)", "asyncio.Task.cancel", "TimeoutError, CancelledError"]),
    ],
)
def test_no_notice_where_words_may_match(
    context: SearchContext, question: str, pages: list[str]
) -> None:
    """The same language, a mixed answer, or texts that do not tell."""
    assert notices(context, question, pages) == []


def test_no_notice_with_an_embedding_model(context: SearchContext) -> None:
    """It compares meanings."""
    meaning = context.model_copy(update={"embeddings": ScriptedEmbedder()})
    assert notices(meaning, GERMAN, [ENGLISH_PAGE] * 4) == []
