"""Views that are left: what comes late changes nothing, and nobody sees what another one typed."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING

import pytest
from playwright.sync_api import expect
from support.page_steps import HERONS, ask

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from playwright.sync_api import Page, Request, Route
    from support.page_api import PageApi
    from support.page_hosts import Host

pytestmark = pytest.mark.browser

RUNS = "**/app/api/runs"
SHOW = """
state => {
  Object.defineProperty(document, "visibilityState", { value: state, configurable: true });
  document.dispatchEvent(new Event("visibilitychange"));
}
"""
FROM_SEARXNG = {"context": {"provider": "searxng"}}


@contextmanager
def held(page: Page, where: str, is_held: Callable[[Request], bool]) -> Iterator[list[Route]]:
    """Hold back requests; at the end of the block they go on, and their answers have arrived."""
    routes: list[Route] = []

    def hold(route: Route) -> None:
        if is_held(route.request):
            routes.append(route)
        else:
            route.continue_()

    page.route(where, hold)
    yield routes
    assert routes, "nothing was held back"
    for route in routes:
        with page.expect_event("requestfinished", lambda one: is_held(one)):  # noqa: PLW0108
            route.continue_()
    page.unroute(where)
    page.wait_for_timeout(100)  # what the page would do with the answer


def test_a_run_that_starts_late_does_not_take_the_page_away(page: Page, collection: str) -> None:
    """It is among the past runs."""
    page.locator("#question").fill(HERONS)
    page.locator("#collection").fill(collection)
    with held(page, RUNS, lambda request: request.method == "POST") as routes:
        page.locator("#ask button[type=submit]").click()
        page.wait_for_function("document.querySelector('#ask [aria-busy=true]')")
        page.locator("nav.views a[href='#/settings']").click()
        expect(page.locator("#findings li").first).to_be_visible()
        assert len(routes) == 1
    assert page.url.endswith("#/settings")
    page.locator("nav.views a[href='#/ask']").click()
    expect(page.locator(".past li").first).to_contain_text(HERONS)


def test_a_tab_out_of_sight_gives_its_connection_back(
    page: Page, api: PageApi, collection: str
) -> None:
    """A browser has six for all its tabs; what came meanwhile is there when the tab is shown."""
    waiting = ask(page, HERONS, collection, provider="searxng", review=True)
    expect(page.locator("#run-state .badge.warn")).to_be_visible()
    with page.expect_event("requestfailed", lambda one: one.url.endswith("/events")):
        page.evaluate(SHOW, "hidden")
    gate = api.get(f"/runs/{waiting}")["gate_id"]
    api.post(f"/gates/{gate}/decision", status="rejected")
    expect(page.locator(".notice.warn", has_text="connection")).to_have_count(0)
    page.evaluate(SHOW, "visible")
    expect(page.locator("#outcome[data-outcome=review_rejected]")).to_be_visible()


def test_a_question_goes_with_its_view(page: Page, api: PageApi, collection: str) -> None:
    """A dialog that was left decides nothing."""
    gate = api.run(collection, HERONS, graph="collection_review", **FROM_SEARXNG)["gate_id"]
    page.locator("nav.views a[href='#/collections']").click()
    page.locator("nav.views a[href='#/reviews']").click()
    page.locator(f"#gates a[href$='{gate}']").first.click()
    page.locator("#reject").click()
    expect(page.locator("dialog")).to_be_visible()
    page.go_back()
    expect(page.locator("#gates")).to_be_visible()
    expect(page.locator("dialog")).to_have_count(0)
    assert api.get(f"/gates/{gate}")["state"] == "open"


def test_the_last_search_counts(page: Page, host: Host, api: PageApi, collection: str) -> None:
    """An older answer does not replace a newer one."""
    api.filled(collection, HERONS, **FROM_SEARXNG)
    page.goto(f"{host.page}#/collections/{collection}/documents")
    expect(page.locator("#documents > li").first).to_be_visible()
    search = page.locator("#document-search")
    with held(page, "**/documents?*", lambda request: "search=herons" in request.url) as routes:
        with page.expect_request(lambda request: "search=herons" in request.url):
            search.fill("herons")
        search.fill("zzzz")
        expect(page.locator("main .empty")).to_be_visible()
        assert len(routes) == 1
    expect(page.locator("main .empty")).to_be_visible()
    expect(page.locator("#documents")).to_have_count(0)


def test_the_focus_stays_where_a_document_was_deleted(
    page: Page, host: Host, api: PageApi, collection: str
) -> None:
    """The list is loaded anew; the keyboard goes on there."""
    api.filled(collection, HERONS, **FROM_SEARXNG)
    page.goto(f"{host.page}#/collections/{collection}/documents")
    rows = page.locator("#documents > li")
    expect(rows.first).to_be_visible()
    count = rows.count()
    rows.first.locator("button").focus()
    page.keyboard.press("Enter")
    page.locator("dialog button[value=yes]").press("Enter")
    expect(rows).to_have_count(count - 1)
    assert page.evaluate("document.activeElement.closest('main') !== null")


def test_an_answer_that_is_none_is_told(page: Page, collection: str) -> None:
    """A proxy may answer in the server's place."""
    page.route(RUNS, lambda route: route.fulfill(status=200, body="<html>Sign in</html>"))
    page.locator("#question").fill(HERONS)
    page.locator("#collection").fill(collection)
    page.locator("#ask button[type=submit]").click()
    expect(page.locator("#ask [role=alert]")).to_be_visible()


def test_a_date_is_the_same_day_everywhere(host: Host, open_page: Callable[..., Page]) -> None:
    """A date without a time has no time zone."""
    page = open_page(host, timezone_id="America/New_York")
    shown = page.evaluate(
        """async () => {
          const { day } = await import(new URL("format.js", document.baseURI));
          return [day("2024-05-01").textContent, day("2024-05-01T02:00:00Z").textContent];
        }"""
    )
    assert shown == ["May 1, 2024", "Apr 30, 2024"]
