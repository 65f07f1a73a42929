"""Points for title, snippet, coverage and address."""

from __future__ import annotations

import pytest

from collection_search.ranking.heuristics import (
    PageText,
    PageWords,
    Points,
    measure_points,
    snippet_quality,
    url_penalty,
)

URL = "https://docs.example/guide"
SENTENCE = "Call cancel() on the task; it is interrupted at its next await. " * 2


def points_of(question: str, page: PageText, *, by_rarity: bool = True) -> Points:
    """Return the points of one page."""
    return measure_points(question, [page], [PageWords.of(page)], by_rarity=by_rarity)[0]


def test_full_marks():
    """A page with every word in its title and a proper snippet earns all 75 points."""
    parts = points_of("cancel asyncio task", PageText("Cancel an asyncio task", SENTENCE, URL))
    assert (parts.title, parts.snippet, parts.coverage, parts.url) == (30.0, 25, 20.0, 0)
    assert (parts.total, parts.relevance) == (75.0, 100.0)
    assert parts.matched == ("cancel", "asyncio", "task")


def test_nothing_shared():
    """A page that shares no word has points for its snippet only."""
    parts = points_of(
        "cancel asyncio task", PageText("Sourdough", "Knead well.", "https://bake.example/")
    )
    assert (parts.title, parts.coverage, parts.relevance, parts.matched) == (0, 0, 0, ())
    assert parts.total == parts.snippet == 10


def test_rare_words_weigh_more():
    """By rarity the name decides; literally every word counts the same."""
    rare, common = PageText("Asyncio", "", URL), PageText("Time", "", URL)
    assert points_of("asyncio time", rare).title > 2 * points_of("asyncio time", common).title
    assert points_of("asyncio time", rare, by_rarity=False).title == 15.0
    assert points_of("asyncio time", common, by_rarity=False).title == 15.0


def test_page_without_title():
    """Without a title the snippet speaks for it, but not in the literal reading."""
    page = PageText("", "Cancel the task.", URL)
    parts, literal = points_of("cancel task", page), points_of("cancel task", page, by_rarity=False)
    assert (parts.title, parts.untitled, parts.relevance) == (0.0, 30.0, 100.0)
    assert (literal.title, literal.untitled) == (0.0, 0.0)


def test_address_names_the_subject():
    """Words of host and path count as covered, those of the query string do not."""
    assert (
        points_of("asyncio", PageText("Tasks", "", "https://a.example/asyncio-task.html")).coverage
        == 20
    )
    assert points_of("asyncio", PageText("Tasks", "", "https://a.example/?q=asyncio")).coverage == 0


def test_languages():
    """Inflected forms count in both languages."""
    assert points_of("Häuser in Städten", PageText("Ein Haus in der Stadt", "", URL)).coverage == 20
    assert points_of("cancelling tasks", PageText("The task was cancelled", "", URL)).coverage == 20


@pytest.mark.parametrize(
    ("snippet", "points"),
    [
        ("", 0),
        ("   ", 0),
        ("short", 5),
        ("short.", 10),
        ("x" * 39, 5),
        ("x" * 40, 12),
        ("x" * 79, 12),
        ("x" * 80, 20),
        ("x" * 80 + "!", 25),
    ],
)
def test_snippet_quality(snippet, points):
    """Length gives 5, 12 or 20 points, a sentence's punctuation 5 more."""
    assert snippet_quality(snippet) == points


@pytest.mark.slow
@pytest.mark.parametrize(
    ("url", "points"),
    [
        ("https://docs.python.org/3/library/asyncio-task.html", 0),
        ("https://a.example/accounting/login-theory", 0),
        ("https://a.example/login", -10),
        ("https://a.example/Login.php", -10),
        ("https://a.example/tag/python", -5),
        ("https://shop.example/product/1", -10),
        ("https://www.facebook.com/someone", -10),
        ("https://notx.com/page", 0),
        ("https://a.example/1/2/3/4/5/6/7", -5),
        ("https://a.example/?" + "q" * 61, -5),
        ("https://facebook.com/login/shop/tag?" + "q" * 61, -20),
        ("https://[broken", -20),
        ("HTTPS://User@WWW.Facebook.com:443/Login/", -20),
        ("https://a.example/lo\tgin", -10),
        ("https://a.example/grüße/login", -10),
        ("login", -10),
        ("", 0),
    ],
)
def test_url_penalty(url, points):
    """Log-in, social, shop and listing pages, deep paths and long queries cost up to 20 points."""
    assert url_penalty(url) == points


@pytest.mark.parametrize("by_rarity", [True, False])
def test_a_pool_is_judged_page_by_page(by_rarity):
    """Each page of a pool gets the points that it gets alone."""
    pages = [
        PageText("Cancel a task", SENTENCE, URL),
        PageText("", "Tasks are cancelled.", "https://a.example/login"),
        PageText("Sourdough", "", "https://bake.example/"),
    ]
    question = "How are running tasks cancelled?"
    found = measure_points(question, pages, list(map(PageWords.of, pages)), by_rarity=by_rarity)
    assert found == [points_of(question, page, by_rarity=by_rarity) for page in pages]
    assert len({parts.total for parts in found}) == 3
