"""Texts from the web and from callers are shown as text, whatever they contain."""

from __future__ import annotations

import re
import unicodedata
from typing import TYPE_CHECKING
from urllib.parse import quote

import pytest
from playwright.sync_api import expect
from support.page_steps import HOSTILE_QUESTION, ask, results

if TYPE_CHECKING:
    from collections.abc import Callable

    from playwright.sync_api import Page
    from support.page_api import PageApi
    from support.page_hosts import Host

pytestmark = pytest.mark.browser

MARKUP = "<img src=x onerror=\"window.harmed='name'\">"
ADDRESSES = re.compile(r"(https?:|#)")


def assert_inert(page: Page) -> None:
    """Assert that nothing became an element, a link or an invisible sign."""
    assert page.locator("main script, main svg, main iframe, main img").count() == 0
    handlers = "[onerror], [onload], [onclick], [onmouseover]"
    assert page.locator(f"main :is({handlers})").count() == 0
    links = page.locator("main a").evaluate_all("all => all.map(one => one.getAttribute('href'))")
    assert [link for link in links if not ADDRESSES.match(link)] == []
    text = page.locator("main").text_content() or ""
    unseen = [char for char in text if unicodedata.category(char) in {"Cc", "Cf"}]
    assert set(unseen) <= {"\n", "\t"}
    assert page.evaluate("window.harmed ?? null") is None


def test_hostile_results_do_nothing(page: Page, collection: str) -> None:
    """Titles with scripts are read as text; addresses that are no web pages lead nowhere."""
    ask(page, HOSTILE_QUESTION, collection, provider="searxng")
    results(page)
    expect(page.locator("#results")).to_contain_text("Cranes one")
    for each in page.locator("#results details.why summary").all():
        each.click()
    assert_inert(page)
    assert page.locator("#results a[href*=evil]").count() == 0


def test_hostile_candidates_do_nothing(page: Page, collection: str) -> None:
    """The same at a gate, whose run waits for the decision."""
    ask(page, HOSTILE_QUESTION, collection, provider="searxng", review=True)
    page.locator("a[href^='#/reviews/']").click()
    results(page)
    assert_inert(page)


def test_a_hostile_name_and_question_do_nothing(page: Page, api: PageApi) -> None:
    """What a caller wrote is shown to others in the list of runs and as a collection's name."""
    question = f"{HOSTILE_QUESTION} {MARKUP}"
    ask(page, question, f"cranes {MARKUP}", provider="searxng")
    results(page)
    expect(page.locator("h1")).to_contain_text("<img src=x")
    assert_inert(page)
    page.goto(page.url.partition("#")[0] + "#/ask")
    expect(page.locator(".runs li").first).to_be_visible()
    assert_inert(page)


@pytest.mark.parametrize(
    "place",
    [
        f"#/collections/{quote(MARKUP, safe='')}",
        f"#/runs/{quote(MARKUP, safe='')}",
        f"#/reviews/{quote(MARKUP, safe='')}",
        f"#{MARKUP}",
        "#/runs/%E0%A4%A",
        "#/collections/..%2F..%2Fme",
    ],
)
def test_a_hostile_address_does_nothing(
    host: Host, open_page: Callable[..., Page], place: str
) -> None:
    """A link that somebody was sent shows that there is no such thing."""
    page = open_page(host, place)
    expect(page.locator("main .notice, main .empty").first).to_be_visible()
    assert_inert(page)
