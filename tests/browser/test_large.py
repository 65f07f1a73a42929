"""Many documents, many gates, many results; and answers with citations."""

from __future__ import annotations

from typing import TYPE_CHECKING
from urllib.parse import parse_qs, urlsplit

import pytest
from playwright.sync_api import expect
from support.filled_home import DOCUMENTS, GATES, LARGE, fill
from support.page_hosts import HOSTS, running
from support.page_steps import MANY_QUESTION, ask, results

from collection_search.testing import OpenAIServer

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from playwright.sync_api import Browser, Page, Route
    from support.page_hosts import Host
    from support.page_world import PageWorld

pytestmark = pytest.mark.browser

MAX_ELEMENTS = 4_000
ROWS = 50
PROSE = "The heron stands in shallow water [1]. It is one of many [2]."


@pytest.fixture(scope="module", params=HOSTS)
def large_host(
    request: pytest.FixtureRequest,
    browser: Browser,
    world: PageWorld,
    tmp_path_factory: pytest.TempPathFactory,
) -> Iterator[Host]:
    """Run the app over a filled data folder, with a model that writes answers."""
    folder = tmp_path_factory.mktemp(f"large-{request.param}")
    fill(folder / "home")
    with OpenAIServer(PROSE) as writer:
        variables = {
            "COLLECTION_SEARCH_MODEL": "openai:gpt-4o-mini",
            "OPENAI_API_KEY": "sk-of-the-test",
            "OPENAI_BASE_URL": writer.base_url,
        }
        with running(request.param, folder, world, **variables) as host:
            yield host


def assert_bounded(page: Page) -> None:
    """Assert that what the page holds does not grow with the data."""
    assert page.evaluate("document.querySelectorAll('*').length") < MAX_ELEMENTS


def test_thousands_of_documents(large_host: Host, open_page: Callable[..., Page]) -> None:
    """A page of them is shown; the next page and a search show others."""
    page = open_page(large_host, f"#/collections/{LARGE}/documents")
    rows = page.locator("#documents > li")
    expect(rows).to_have_count(ROWS)
    assert_bounded(page)
    first = str(rows.first.get_attribute("data-url"))
    page.locator(".pager button").last.click()
    expect(rows.first).not_to_have_attribute("data-url", first)
    expect(rows).to_have_count(ROWS)
    page.locator("#document-search").fill(f"Heron {DOCUMENTS - 1}")
    expect(rows).to_have_count(1)
    expect(rows.first).to_contain_text(f"Heron {DOCUMENTS - 1}")


def test_hundreds_of_gates(large_host: Host, open_page: Callable[..., Page]) -> None:
    """A page of them is shown, each can be opened from there."""
    page = open_page(large_host, "#/reviews")
    rows = page.locator("#gates > li")
    expect(rows).to_have_count(ROWS)
    expect(page.locator("#waiting-count")).to_contain_text("99+")
    assert_bounded(page)
    for _ in range(GATES // ROWS - 1):
        last = str(rows.last.get_attribute("data-gate"))
        page.locator(".pager button").last.click()
        expect(rows.last).not_to_have_attribute("data-gate", last)
    expect(page.locator(".pager button").last).to_be_disabled()
    rows.last.locator("h2 a").click()
    assert results(page).count() == 5


def test_a_list_that_became_shorter(large_host: Host, open_page: Callable[..., Page]) -> None:
    """An address beyond its end shows the last page, not an empty one."""
    page = open_page(large_host, f"#/reviews?offset={GATES + ROWS}")
    expect(page.locator("#gates > li")).to_have_count(ROWS)
    expect(page.locator(".pager")).to_contain_text(f"{GATES} of {GATES}")


def test_the_only_document_of_a_page_is_deleted(
    large_host: Host, open_page: Callable[..., Page]
) -> None:
    """The page before it is shown: there is no other way to it."""
    page = open_page(large_host)
    left = list(range(ROWS + 1))

    def answer(route: Route) -> None:
        if route.request.method == "DELETE":
            left.pop()
            route.fulfill(status=204)
            return
        first = int(parse_qs(urlsplit(route.request.url).query)["offset"][0])
        shown = [
            {"url": f"https://a.example/{n}", "title": f"Page {n}", "chunks": 1}
            for n in left[first : first + ROWS]
        ]
        route.fulfill(json={"total": len(left), "documents": shown})

    page.route(f"**/collections/{LARGE}/documents*", answer)
    page.goto(f"{large_host.page}#/collections/{LARGE}/documents")
    rows = page.locator("#documents > li")
    page.locator(".pager button").last.click()
    expect(rows).to_have_count(1)
    rows.first.locator("button").click()
    page.locator("dialog button[value=yes]").click()
    expect(rows).to_have_count(ROWS)


def test_as_many_results_as_a_run_gives(
    large_host: Host, open_page: Callable[..., Page], collection: str
) -> None:
    """Forty results can be ticked at once, and one by one."""
    page = open_page(large_host)
    ask(page, MANY_QUESTION, collection, provider="searxng", most=40)
    expect(results(page)).to_have_count(40)
    assert_bounded(page)
    page.locator("#select-all").click()
    expect(page.locator("#results input:checked")).to_have_count(40)
    page.locator("#results input").nth(39).uncheck()
    expect(page.locator(".bar-of-actions .count")).to_contain_text("39")


def test_a_citation_opens_its_passage(large_host: Host, open_page: Callable[..., Page]) -> None:
    """The answer's marks lead to the passages they name, which open and get the focus."""
    page = open_page(large_host, f"#/collections/{LARGE}")
    page.locator("#collection-question").fill("Where does the heron stand?")
    page.keyboard.press("Enter")
    expect(page.locator("#answer")).to_contain_text("stands in shallow water")
    passage = page.locator("#passages > li[data-n='2']")
    expect(passage.locator(".passage-best")).to_contain_text("heron")
    expect(passage.locator("details")).not_to_have_attribute("open", "")
    page.locator("button.cite[data-cites='2']").click()
    expect(passage.locator(".passage-text")).to_be_visible()
    expect(passage).to_be_focused()
