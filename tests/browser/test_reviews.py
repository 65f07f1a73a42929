"""Reviews on the page: what is ticked, what is told before a decision, and what is left of it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from playwright.sync_api import expect
from support.page_steps import ADVERT_QUESTION, HERONS, ask, results, tick
from support.page_world import BLOCKED_HOST

if TYPE_CHECKING:
    from collections.abc import Callable

    from playwright.sync_api import Locator, Page, Route
    from support.page_api import PageApi
    from support.page_hosts import Host
    from support.page_world import PageWorld

pytestmark = pytest.mark.browser

FROM_SEARXNG = {"context": {"provider": "searxng"}}


@pytest.fixture
def gate(api: PageApi, collection: str) -> str:
    """Run until six candidates wait for a person, and return the gate's id."""
    run = api.run(collection, HERONS, graph="collection_review", **FROM_SEARXNG)
    return str(run["gate_id"])


@pytest.fixture
def review(host: Host, open_page: Callable[..., Page], gate: str) -> Page:
    """Open the review."""
    page = open_page(host, f"#/reviews/{gate}")
    results(page)
    return page


@pytest.fixture
def world_page(world: PageWorld) -> str:
    """Return the address of a page that the search does not find."""
    return f"{world.url}/catalogue/1"


def ticked(page: Page) -> Locator:
    return page.locator("#results input:checked")


@pytest.mark.parametrize("is_reviewed", [True, False])
def test_a_page_of_a_blocked_host_is_marked_and_ticked_by_itself_alone(
    page: Page, collection: str, is_reviewed: bool
) -> None:
    """Among candidates as among results, with the reason; "Select all" leaves it out."""
    ask(page, ADVERT_QUESTION, collection, provider="searxng", review=is_reviewed)
    if is_reviewed:
        page.locator("a[href^='#/reviews/']").click()
    rows = results(page)
    blocked = page.locator(f"#results > li[data-url*='{BLOCKED_HOST}']")
    expect(blocked.locator(".badge.bad")).to_have_text("refused by a rule")
    expect(blocked.locator(".trouble")).to_have_text(f"the host {BLOCKED_HOST} is blocked")
    expect(page.locator("#results .badge.bad")).to_have_count(1)
    page.locator("#select-all").click()
    expect(ticked(page)).to_have_count(rows.count() - 1)
    expect(blocked.locator("input")).not_to_be_checked()
    blocked.locator("input").check()
    expect(ticked(page)).to_have_count(rows.count())


def test_what_refuses_a_page_is_what_refuses_it_on_the_server(page: Page) -> None:
    """The criteria, with their reason or without one, else the rules."""
    reasons = page.evaluate(
        """async () => {
          const { reasonAgainst } = await import(new URL("refusals.js", document.baseURI));
          return [
            { criteria: { refused: true, reason: "It names no price." }, explanation: { refused: "blocked" } },
            { criteria: { refused: true, reason: "" } },
            { criteria: { refused: false, reason: "" }, explanation: { refused: "the host is blocked" } },
            { criteria: { refused: false, reason: "" }, explanation: {} },
            { url: "https://a.example" },
          ].map(reasonAgainst);
        }"""
    )
    assert reasons == [
        "It names no price.",
        "the criteria refuse it",
        "the host is blocked",
        "",
        "",
    ]


def test_a_rejection_keeps_the_comment_that_was_typed(
    review: Page, api: PageApi, gate: str
) -> None:
    """The dialog begins with it, and it can be changed there."""
    review.locator("details.more summary").click()
    review.locator("#gate-comment").fill("No page is the vendor's")
    review.locator("#reject").click()
    expect(review.locator("dialog textarea")).to_have_value("No page is the vendor's")
    review.locator("dialog textarea").press("End")
    review.locator("dialog textarea").press_sequentially(".")
    review.locator("dialog button[value=yes]").click()
    expect(review.locator("#outcome[data-outcome=review_rejected]")).to_be_visible()
    assert api.get(f"/gates/{gate}")["decision"]["comment"] == "No page is the vendor's."


def test_an_approval_tells_candidates_and_added_pages_apart(
    review: Page, world_page: str, api: PageApi, gate: str
) -> None:
    """An address of a candidate counts as this candidate, and one that stands twice once."""
    review.locator("#select-none").click()
    urls = tick(review, 2)
    review.locator("details.more summary").click()
    review.locator("#added-urls").fill(urls[0])
    review.locator("#approve").click()
    expect(review.locator("dialog h2")).to_have_text("Approve 2 pages?")
    expect(review.locator("dialog p").first).to_contain_text("2 of 6 candidates. They")
    review.locator("dialog button[value=no]").click()
    review.locator("#added-urls").fill(f"{urls[0]}\n{world_page}\n{world_page}")
    expect(review.locator("#approve")).to_have_text("Approve 3 pages")
    review.locator("#approve").click()
    expect(review.locator("dialog h2")).to_have_text("Approve 3 pages?")
    expect(review.locator("dialog p").first).to_contain_text(
        "2 of 6 candidates, and 1 page that you added. They"
    )
    review.locator("dialog button[value=yes]").click()
    expect(review.locator("article.run")).to_be_visible()
    decision = api.get(f"/gates/{gate}")["decision"]
    assert (decision["approved_urls"], decision["added_urls"]) == (urls, [world_page])


@pytest.mark.parametrize("joint", [" ", ", ", ","])
def test_two_addresses_in_a_line_are_told_before_the_decision(
    review: Page, world_page: str, joint: str
) -> None:
    """They would be the address of no page, and a decision cannot be taken back."""
    both = f"{world_page}{joint}{world_page}"
    review.locator("details.more summary").click()
    review.locator("#added-urls").fill(f"{world_page}\n{both}")
    review.locator("#approve").click()
    expect(review.locator("#added-urls-error")).to_contain_text(f"no web address: {both}")
    expect(review.locator("dialog")).to_have_count(0)
    review.locator("#added-urls").fill(f"{world_page}\n{world_page}?from=https://a.example")
    review.locator("#approve").click()
    expect(review.locator("dialog p").first).to_contain_text("2 pages that you added")


def test_what_was_chosen_stays_while_other_views_are_shown(
    review: Page, world_page: str, gate: str
) -> None:
    """Ticks, further pages and the comment; over a change of the language, too."""
    review.locator("#select-none").click()
    tick(review, 2)
    review.locator("details.more summary").click()
    review.locator("#added-urls").fill(world_page)
    review.locator("#gate-comment").fill("The vendor's only")
    review.locator("#language").select_option("de")
    expect(review.locator("#approve")).to_have_text("3 Seiten freigeben")
    review.locator("nav.views a[href='#/collections']").click()
    expect(review.locator("#collections, main .empty").first).to_be_visible()
    review.go_back()
    results(review)
    expect(ticked(review)).to_have_count(2)
    expect(review.locator("#gate-comment")).to_have_value("The vendor's only")
    expect(review.locator("#gate-comment")).to_be_visible()
    expect(review.locator("#added-urls")).to_have_value(world_page)


def test_a_decided_review_shows_its_decision(
    host: Host, open_page: Callable[..., Page], world_page: str, api: PageApi, gate: str
) -> None:
    """Who decided what, when and why, and for how many pages; nothing of a deadline."""
    first = api.get(f"/gates/{gate}")["candidates"][0]["url"]
    given = {"approved_urls": [first], "added_urls": [world_page], "comment": "The vendor's only"}
    api.post(f"/gates/{gate}/decision", status="partial", **given)
    page = open_page(host, f"#/reviews/{gate}")
    results(page)
    shown = page.locator("#decision")
    for said in (
        "approved in part",
        "local",
        "The vendor's only",
        "1 of 6 candidates, and 1 added page",
    ):
        expect(shown).to_contain_text(said)
    expect(shown.locator("time")).to_be_visible()
    expect(page.locator("article.review")).not_to_contain_text("Deadline")
    page.locator("#language").select_option("de")
    for said in ("teilweise freigegeben", "1 von 6 Kandidaten und 1 hinzugefügte Seite"):
        expect(shown).to_contain_text(said)
    expect(page.locator("article.review")).not_to_contain_text("Frist")


def test_a_deadline_that_decided_is_named(page: Page, host: Host, gate: str) -> None:
    """In place of a person."""

    def decided(route: Route) -> None:
        found = route.fetch().json()
        facts: dict[str, object] = {
            "approver": None,
            "decided_by": "deadline",
            "comment": None,
            "added_urls": [],
        }
        when = {"decided_at": found["deadline"], "status": "rejected", "approved_urls": []}
        route.fulfill(json={**found, "state": "closed", "decision": {**facts, **when}})

    page.route(f"**/gates/{gate}", decided)
    page.goto(f"{host.page}#/reviews/{gate}")
    expect(page.locator("#decision")).to_contain_text("the deadline")
    expect(page.locator("#decision")).to_contain_text("rejected")
    expect(page.locator("#decision")).to_contain_text("0 of 6 candidates")


def test_a_collection_is_deleted_with_its_runs(
    page: Page, host: Host, open_page: Callable[..., Page], collection: str, api: PageApi
) -> None:
    """The dialog names them; a run that is open says that it is gone, and not that it waits."""
    api.filled(collection, HERONS, **FROM_SEARXNG)
    ask(page, HERONS, collection, provider="searxng", review=True)
    expect(page.locator("#run-state .badge.warn")).to_be_visible()
    other = open_page(host, f"#/collections/{collection}/coverage")
    other.locator("#delete-collection").click()
    expect(other.locator("dialog")).to_contain_text("runs, also runs that wait for a decision")
    with other.expect_request(lambda request: "gates?" in request.url):
        other.locator("dialog button[value=yes]").click()
    expect(page.locator(".notice.bad")).to_contain_text("There is no run")
    expect(page.locator("#run-state .badge")).to_have_count(0)
    expect(page.locator("article.run")).not_to_contain_text("waits for")
    expect(page.locator("article.run .view-head .button, #cancel")).to_have_count(0)
