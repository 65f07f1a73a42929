"""From a question to a collection, on both hosts."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import pytest
from playwright.sync_api import expect
from support.page_steps import (
    AT_A_RUN,
    FAILING_QUESTION,
    HELD_QUESTION,
    HERONS,
    QUESTION,
    ask,
    results,
    run_id,
    stage,
    stored,
    tick,
)
from support.waiting import wait_until

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from playwright.sync_api import Page, Route
    from support.page_api import PageApi
    from support.page_hosts import Host
    from support.page_world import PageWorld

pytestmark = pytest.mark.browser

WORKED = re.compile("done|warned")


def test_a_question_becomes_ranked_results(page: Page, collection: str) -> None:
    """Each stage is shown as done; results stand in the order of their scores, with reasons."""
    ask(page, QUESTION, collection)
    rows = results(page)
    for node in ("k_generate_strategy", "k_parallel_web_search", "k_embedding_rank"):
        expect(stage(page, node)).to_have_attribute("data-state", WORKED)
    expect(page.locator("#queries > li").first).to_be_visible()
    scores = [
        float(re.sub(r"[^\d.]", "", text))
        for text in page.locator("#results .score-value").all_text_contents()
    ]
    assert len(scores) == rows.count() > 1
    assert scores == sorted(scores, reverse=True)
    rows.first.locator("details.why summary").click()
    expect(rows.first.locator(".why-body")).to_be_visible()


@pytest.mark.parametrize(
    ("scale", "says"),
    [("dense", "points of the heuristics alone"), ("lexical", "words were compared instead")],
)
def test_a_degraded_ranking_says_what_ranked(
    page: Page, collection: str, scale: str, says: str
) -> None:
    """Heuristics where the embedder failed; words where they took its place."""
    ask(page, QUESTION, collection)
    expect(results(page).first).to_be_visible()

    def degrade(route: Route) -> None:
        answer = route.fetch()
        run = answer.json()
        run["output"]["flags"] = ["embedding_degraded"]
        for result in run["output"]["results"]:
            result["explanation"]["scale"] = scale
        route.fulfill(response=answer, json=run)

    page.route(f"**/api/runs/{run_id(page)}", degrade)
    page.reload()
    expect(page.locator("#outcome .notice.warn")).to_contain_text(says)


def test_a_provider_that_is_not_set_up_cannot_be_chosen(page: Page) -> None:
    """The server would refuse it; the page says so beforehand."""
    option = page.locator("#provider option[value=brave]")
    expect(option).to_be_disabled()
    expect(option).to_have_text(re.compile("not set up"))
    expect(page.locator("#provider option[value=searxng]")).to_be_enabled()


def test_auto_ingest_stores_the_best_pages(page: Page, collection: str, api: PageApi) -> None:
    """The ticket's progress ends with stored pages, and leads to the collection that has them."""
    ask(page, QUESTION, collection, auto_ingest=True)
    expect(stored(page).first).to_be_visible()
    expect(page.locator("#ticket a.button.primary")).to_be_visible()
    count = stored(page).count()
    page.locator("#ticket a.button.primary").click()
    expect(page.locator("h1")).to_have_text(collection)
    assert len(api.documents(collection)) == count


def test_two_ticked_results_are_crawled(page: Page, collection: str, api: PageApi) -> None:
    """These pages are stored with their provenance, and no other one."""
    ask(page, HERONS, collection, provider="searxng")
    results(page)
    expect(page.locator("#crawl-selected")).to_be_disabled()
    urls = tick(page, 2)
    page.locator("#crawl-selected").click()
    expect(stored(page)).to_have_count(2)
    expect(page.locator("#results .result-facts .badge.good:visible")).to_have_count(2)
    documents = api.documents(collection)
    assert {one["url"] for one in documents} == set(urls)
    assert {one["provenance"]["question"] for one in documents} == {HERONS}


def test_a_gate_is_approved_in_part(page: Page, collection: str, api: PageApi) -> None:
    """The run waits; a person approves two candidates of several; these are stored."""
    ask(page, HERONS, collection, provider="searxng", review=True)
    page.locator("a[href^='#/reviews/']").click()
    results(page)
    page.locator("#select-none").click()
    expect(page.locator("#approve")).to_be_disabled()
    urls = tick(page, 2)
    page.locator("#approve").click()
    page.locator("dialog button[value=yes]").click()
    expect(page.locator("#outcome[data-outcome^=coverage_]")).to_be_visible()
    expect(page.locator("#coverage")).to_be_visible()
    assert {one["url"] for one in api.documents(collection)} == set(urls)
    assert api.get("/gates", collection=collection)["total"] == 0


def test_a_gate_is_rejected(page: Page, collection: str, api: PageApi) -> None:
    """Nothing is stored, and the run says so."""
    ask(page, HERONS, collection, provider="searxng", review=True)
    page.locator("a[href^='#/reviews/']").click()
    results(page)
    page.locator("#reject").click()
    page.locator("dialog button[value=yes]").click()
    expect(page.locator("#outcome[data-outcome=review_rejected]")).to_be_visible()
    assert api.get("/gates", collection=collection)["total"] == 0


def test_a_waiting_run_is_cancelled(page: Page, collection: str, api: PageApi) -> None:
    """After a question, since its gate is rejected by that."""
    ask(page, HERONS, collection, provider="searxng", review=True)
    page.locator("a[href^='#/reviews/']").wait_for()
    page.locator("#cancel").click()
    page.locator("dialog button[value=no]").click()
    assert api.get("/gates", collection=collection)["total"] == 1
    page.locator("#cancel").click()
    page.locator("dialog button[value=yes]").click()
    expect(page.locator("#outcome[data-outcome=review_rejected]")).to_be_visible()
    # the stream may tell the outcome before the answer to the cancelling says that all is done
    wait_until(lambda: api.get("/gates", collection=collection)["total"] == 0)


def test_coverage_is_shown_and_verified_anew(
    host: Host, open_page: Callable[..., Page], collection: str, api: PageApi
) -> None:
    """The dashboard has the question with what is answered; it can be verified again."""
    api.run(collection, HERONS, graph="collection_search", context={"provider": "searxng"},
            auto_ingest=True)  # fmt: skip
    page = open_page(host, f"#/collections/{collection}/coverage")
    question = page.locator("#questions > li").first
    expect(question.locator("h2")).to_have_text(HERONS)
    page.locator("#verify").click()
    expect(page.locator("#toasts .toast")).to_be_visible()
    expect(question.locator(".queries > li").first).to_be_visible()


@pytest.fixture
def held(world: PageWorld) -> Iterator[PageWorld]:
    """Hold the searches for patience."""
    world.hold()
    yield world
    world.release()


def test_a_reload_goes_on_with_the_run(page: Page, collection: str, held: PageWorld) -> None:
    """After a reload in mid-run its stages are shown as they are, and then its results."""
    ask(page, HELD_QUESTION, collection, provider="searxng")
    held.wait_until_held()
    expect(stage(page, "k_parallel_web_search")).to_have_attribute("data-state", "running")
    page.reload()
    expect(stage(page, "k_generate_strategy")).to_have_attribute("data-state", WORKED)
    expect(stage(page, "k_parallel_web_search")).to_have_attribute("data-state", "running")
    held.release()
    assert results(page).count() > 1


def test_a_lost_connection_is_resumed(page: Page, collection: str, held: PageWorld) -> None:
    """The page says that the connection is lost, and goes on when it is back."""
    ask(page, HELD_QUESTION, collection, provider="searxng")
    held.wait_until_held()
    expect(stage(page, "k_parallel_web_search")).to_have_attribute("data-state", "running")
    page.context.set_offline(True)
    expect(page.locator(".notice.warn")).to_be_visible()
    held.release()
    page.context.set_offline(False)
    assert results(page).count() > 1
    expect(page.locator(".notice.warn", has_text="connection")).to_have_count(0)


def test_a_stream_that_fails_is_taken_up(page: Page, collection: str, held: PageWorld) -> None:
    """An error of the server in mid-stream is a lost connection."""
    failed = 'event: error\ndata: {"error": {"type": "StoreError", "message": "Locked."}}\n\n'
    page.route(
        "**/events",
        lambda route: route.fulfill(content_type="text/event-stream", body=failed),
        times=1,
    )
    ask(page, HELD_QUESTION, collection, provider="searxng")
    held.wait_until_held()
    expect(stage(page, "k_parallel_web_search")).to_have_attribute("data-state", "running")
    held.release()
    assert results(page).count() > 1


def test_a_run_is_cancelled(page: Page, collection: str, held: PageWorld, api: PageApi) -> None:
    """The run ends at once, and the page says that it was cancelled."""
    ask(page, HELD_QUESTION, collection, provider="searxng")
    held.wait_until_held()
    page.locator("#cancel").click()
    expect(page.locator("#outcome")).to_be_visible()
    expect(page.locator("#cancel")).to_have_count(0)
    assert api.ended(run_id(page))["status"] == "cancelled"


def test_a_failing_provider_is_told_with_its_reason(page: Page, collection: str) -> None:
    """The stage failed, each query says why, and the outcome names it."""
    ask(page, FAILING_QUESTION, collection, provider="searxng")
    expect(page.locator("#outcome[data-outcome=search_failed]")).to_be_visible()
    expect(page.locator("#queries .query-why").first).to_contain_text("SearXNG")
    expect(stage(page, "k_parallel_web_search")).to_have_attribute(
        "data-state", re.compile("warned|failed")
    )


@pytest.mark.parametrize(("language", "most"), [("en", "2,000"), ("de", "2.000")])
def test_a_question_that_is_too_long_is_told_and_not_cut(
    page: Page, collection: str, language: str, most: str
) -> None:
    """What is pasted stays whole; no run is started until it is short enough."""
    page.locator("#language").select_option(language)
    question = page.locator("#question")
    question.focus()
    page.keyboard.insert_text("How do herons catch fish? " * 80)
    assert len(question.input_value()) == 80 * 26
    expect(page.locator("#question-error")).to_contain_text(most)
    page.locator("#collection").fill(collection)
    page.locator("#ask button[type=submit]").click()
    expect(question).to_be_focused()
    expect(page.locator("#question-error")).to_contain_text(most)
    assert "#/runs/" not in page.url
    question.fill(QUESTION)
    expect(page.locator("#question-error")).to_be_hidden()
    page.locator("#ask button[type=submit]").click()
    page.wait_for_url(AT_A_RUN)


def test_a_question_to_a_collection_is_not_cut(
    page: Page, host: Host, collection: str, api: PageApi
) -> None:
    """The same at a collection."""
    api.filled(collection)
    page.goto(f"{host.page}#/collections/{collection}")
    page.locator("#collection-question").focus()
    page.keyboard.insert_text("How do herons catch fish? " * 80)
    page.keyboard.press("Enter")
    expect(page.locator("#collection-question-error")).to_contain_text("2,000")
    assert len(page.locator("#collection-question").input_value()) == 80 * 26
    page.locator("#collection-question").fill(QUESTION)
    expect(page.locator("#collection-question-error")).to_be_hidden()
    page.keyboard.press("Enter")
    expect(page.locator("#answer")).to_be_visible()


def test_a_wrong_field_is_pointed_at(page: Page, collection: str) -> None:
    """Nothing is sent; the field that is wrong has the focus and says what it needs."""
    page.locator("#collection").fill(collection)
    page.locator("#ask button[type=submit]").click()
    expect(page.locator("#question")).to_be_focused()
    expect(page.locator("#question-error")).to_be_visible()
