"""A collection on the page: one without pages, and figures that follow what is done to it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from playwright.sync_api import expect
from support.page_steps import HERONS, ask, results

if TYPE_CHECKING:
    from playwright.sync_api import Page
    from support.page_hosts import Host

pytestmark = pytest.mark.browser


def test_the_collection_of_a_run_that_stored_nothing(
    page: Page, host: Host, collection: str
) -> None:
    """The run names it, and it does not exist: the page says how it begins, and tells no error."""
    ask(page, HERONS, collection, provider="searxng")
    results(page)
    page.locator("article.run .view-head a", has_text=collection).click()
    expect(page.locator("h1")).to_have_text(collection)
    expect(page.locator("main .empty")).to_contain_text("There is no such collection")
    expect(page.locator(".notice.bad")).to_have_count(0)
    page.goto(f"{host.page}#/collections/{collection}/coverage")
    expect(page.locator("main .empty a.button")).to_have_attribute("href", "#/ask")
