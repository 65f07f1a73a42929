"""A collection on the page: one without pages, and figures that follow what is done to it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from playwright.sync_api import expect
from support.page_steps import HERONS, ask, results
from support.waiting import wait_until

if TYPE_CHECKING:
    from playwright.sync_api import Page
    from support.page_api import PageApi
    from support.page_hosts import Host
    from support.page_world import PageWorld

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


def test_the_figures_follow_a_deleted_document(
    page: Page, host: Host, collection: str, api: PageApi
) -> None:
    """Those above the list are of the same moment as the list."""
    api.filled(collection, HERONS, context={"provider": "searxng"})
    count = len(api.documents(collection))
    figure = page.locator("[data-figure=documents]")
    page.goto(f"{host.page}#/collections/{collection}/documents")
    expect(figure).to_have_text(f"{count} documents")
    page.locator("#documents button").first.click()
    page.locator("dialog button[value=yes]").click()
    expect(page.locator("#documents > li")).to_have_count(count - 1)
    expect(figure).to_have_text(f"{count - 1} documents")


def test_the_figures_follow_a_refresh(
    page: Page, host: Host, collection: str, api: PageApi, world: PageWorld
) -> None:
    """What was stored meanwhile is counted above, too."""
    api.filled(collection, HERONS, context={"provider": "searxng"})
    count = len(api.documents(collection))
    figure = page.locator("[data-figure=documents]")
    page.goto(f"{host.page}#/collections/{collection}/coverage")
    expect(figure).to_have_text(f"{count} documents")
    begun = api.post("/ingestions", collection=collection, urls=[f"{world.url}/catalogue/1"])
    wait_until(lambda: api.get(f"/tickets/{begun['ticket_id']}")["done"])
    page.locator("#refresh").click()
    expect(page.locator(".notice.good")).to_contain_text("Refreshed")
    expect(figure).to_have_text(f"{count + 1} documents")
