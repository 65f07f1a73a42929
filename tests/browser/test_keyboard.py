"""Everything can be done without a mouse."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from playwright.sync_api import expect
from support.page_steps import AT_A_RUN, HERONS, HOSTILE_QUESTION, ask, results, stored, tick

if TYPE_CHECKING:
    from playwright.sync_api import Page
    from support.page_api import PageApi
    from support.page_hosts import Host

pytestmark = pytest.mark.browser

MAX_TABS = 120


def tab_to(page: Page, selector: str) -> None:
    """Press the tabulator until the element has the focus; each step must show where it is."""
    for _ in range(MAX_TABS):
        if page.evaluate("selector => document.activeElement?.matches(selector)", selector):
            return
        page.keyboard.press("Tab")
    pytest.fail(f"{selector} cannot be reached with the tabulator")


def test_asking_ticking_and_crawling(page: Page, collection: str, api: PageApi) -> None:
    """From the question to two stored pages with keys alone."""
    expect(page.locator("#question")).to_be_visible()
    tab_to(page, "#question")
    page.keyboard.type(HERONS)
    tab_to(page, "#collection")
    page.keyboard.press("Control+A")
    page.keyboard.type(collection)
    page.keyboard.press("Escape")
    tab_to(page, "#provider")
    page.keyboard.type("SearXNG")
    expect(page.locator("#provider")).to_have_value("searxng")
    tab_to(page, "#ask button[type=submit]")
    page.keyboard.press("Enter")
    page.wait_for_url(AT_A_RUN)
    results(page)
    for rank in (1, 2):
        tab_to(page, f"#results > li[data-rank='{rank}'] input")
        page.keyboard.press("Space")
    expect(page.locator("#results input:checked")).to_have_count(2)
    page.locator("#results").evaluate("list => list.closest('article').querySelector('h1').focus()")
    tab_to(page, "#crawl-selected")
    page.keyboard.press("Enter")
    expect(stored(page)).to_have_count(2)
    assert len(api.documents(collection)) == 2


def test_the_focus_stays_at_pages_that_are_tried_again(page: Page, collection: str) -> None:
    """The button goes with the list that it is in."""
    ask(page, HOSTILE_QUESTION, collection, provider="searxng")
    tick(page, 1)
    page.locator("#crawl-selected").click()
    expect(page.locator("#ticket button")).to_be_visible()
    tab_to(page, "#ticket button")
    page.keyboard.press("Enter")
    expect(page.locator("#toasts .toast")).to_contain_text("tried again")
    expect(page.locator("#ticket h2")).to_be_focused()


def test_the_focus_follows_the_view(page: Page, host: Host) -> None:
    """The first stop skips to the content; a new view has the focus at its heading."""
    expect(page.locator("#question")).to_be_visible()
    page.locator("body").evaluate("body => { body.tabIndex = -1; body.focus(); }")
    tab_to(page, "#skip")
    expect(page.locator("#skip")).to_be_in_viewport()
    tab_to(page, "nav.views a[href='#/collections']")
    page.keyboard.press("Enter")
    expect(page.locator("h1")).to_be_focused()


def test_enter_in_the_question_asks(page: Page, collection: str) -> None:
    """Enter sends the form, Shift+Enter begins a line."""
    page.locator("#collection").fill(collection)
    page.locator("#question").focus()
    page.keyboard.type("How do herons")
    page.keyboard.press("Shift+Enter")
    page.keyboard.type("catch fish?")
    expect(page.locator("#question")).to_have_value("How do herons\ncatch fish?")
    page.keyboard.press("Enter")
    page.wait_for_url(AT_A_RUN)
