"""Tokens and roles: who may come in, and what each sees."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from typing import TYPE_CHECKING, Any, NamedTuple

import pytest
from playwright.sync_api import expect
from support.page_api import PageApi
from support.page_hosts import HOSTS, Host, running
from support.page_steps import HERONS, ask, results

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from playwright.sync_api import Browser, Page, Route
    from support.page_world import PageWorld

pytestmark = pytest.mark.browser

COLLECTION = "guarded"
DEEDS = (
    "#ask",
    "#crawl-selected",
    "#approve",
    "#reject",
    "#refresh",
    "#verify",
    "#delete-collection",
    "#check-live",
    "#keys",
    "#results input",
    "#documents button",
    "#gates button",
    "article.run .view-head a.button",
    "main .empty a.button",
    "#ticket button",
)


class Guarded(NamedTuple):
    """An app that asks for tokens, a token of each role, a run and a gate of the tenant."""

    host: Host
    tokens: dict[str, str]
    done: str
    waiting: str
    gate: str


def issue(home: Path, user: str, role: str) -> str:
    """Issue a token with the command."""
    command = [sys.executable, "-m", "collection_search", "tokens", "add", user]
    environment = os.environ | {"COLLECTION_SEARCH_HOME": str(home)}
    ended = subprocess.run(
        [*command, "--role", role, "--json"], env=environment, capture_output=True, check=True
    )
    return str(json.loads(ended.stdout)["token"])


@pytest.fixture(scope="module", params=HOSTS)
def guarded(
    request: pytest.FixtureRequest,
    browser: Browser,
    world: PageWorld,
    tmp_path_factory: pytest.TempPathFactory,
) -> Iterator[Guarded]:
    folder = tmp_path_factory.mktemp(f"guarded-{request.param}")
    people = {"ann": "viewer", "bob": "reviewer", "eve": "admin"}
    tokens = {role: issue(folder / "home", user, role) for user, role in people.items()}
    variables = {"COLLECTION_SEARCH_SERVER_AUTH": "true"}
    with running(request.param, folder, world, **variables) as host:
        given: dict[str, Any] = {"context": {"provider": "searxng"}}
        with PageApi(host.url, tokens["reviewer"]) as api:
            done = api.run(COLLECTION, HERONS, auto_ingest=True, **given)
            waiting = api.run(COLLECTION, HERONS, graph="collection_review", **given)
        yield Guarded(host, tokens, done["run_id"], waiting["run_id"], waiting["gate_id"])


def sign_in(page: Page, token: str) -> None:
    page.locator("#token").fill(token)
    page.locator("#sign-in button").click()


def test_a_token_lets_in_until_it_is_given_back(
    guarded: Guarded, open_page: Callable[..., Page]
) -> None:
    """A wrong one is refused; the right one lasts over a reload; after the sign-out none is kept."""
    page = open_page(guarded.host)
    sign_in(page, "cs_wrong")
    expect(page.locator("#sign-in [role=alert]")).to_be_visible()
    expect(page.locator("#token")).to_have_value("")
    sign_in(page, guarded.tokens["reviewer"])
    expect(page.locator("#who")).to_contain_text("bob")
    page.reload()
    expect(page.locator("#who")).to_contain_text("bob")
    assert guarded.tokens["reviewer"] not in page.content() + page.url
    assert page.context.cookies() == []
    page.locator("#sign-out").click()
    expect(page.locator("#token")).to_be_visible()
    page.reload()
    expect(page.locator("#token")).to_be_visible()
    assert page.evaluate("JSON.stringify([{...sessionStorage}, {...localStorage}])") == "[{},{}]"


@pytest.mark.parametrize(
    "given", ["cs_wrong", "cs_\u200bwrong", "cs_“wrong”", "kürzel", "two words"]
)
def test_a_wrong_token_is_told_as_that(
    guarded: Guarded, open_page: Callable[..., Page], given: str
) -> None:
    """One with characters that cannot be sent, too: the server is there."""
    page = open_page(guarded.host)
    sign_in(page, given)
    expect(page.locator("#sign-in [role=alert]")).to_contain_text("does not accept this token")
    expect(page.locator("#token")).to_be_focused()


def test_a_late_answer_does_not_cover_the_sign_in(
    guarded: Guarded, open_page: Callable[..., Page]
) -> None:
    """The answer to a view that was left is not shown."""
    page = open_page(guarded.host)
    sign_in(page, guarded.tokens["reviewer"])
    expect(page.locator("#question")).to_be_visible()
    held: list[Route] = []
    page.route("**/api/options", lambda route: held.append(route))  # noqa: PLW0108 - it is marked
    page.reload()
    page.locator("#sign-out").click()
    expect(page.locator("#token")).to_be_visible()
    assert len(held) == 1
    with page.expect_response("**/api/options") as answered:
        held[0].continue_()
    answered.value.finished()
    sign_in(page, guarded.tokens["viewer"])
    expect(page.locator("#who")).to_contain_text("ann")


def test_the_next_user_sees_nothing_of_the_last(
    guarded: Guarded, open_page: Callable[..., Page], collection: str
) -> None:
    """Neither what was typed, in reviews too, nor the collection that was used last."""
    page = open_page(guarded.host)
    sign_in(page, guarded.tokens["reviewer"])
    ask(page, HERONS, collection, provider="searxng")
    page.goto(f"{guarded.host.page}#/reviews/{guarded.gate}")
    page.locator("details.more summary").click()
    page.locator("#gate-comment").fill("Mine")
    page.locator("nav.views a[href='#/ask']").click()
    page.locator("#question").fill("Something that is nobody else's business?")
    page.locator("#sign-out").click()
    sign_in(page, guarded.tokens["admin"])
    expect(page.locator("#who")).to_contain_text("eve")
    expect(page.locator("#question")).to_have_value("")
    assert page.evaluate("JSON.stringify({...localStorage})") == "{}"
    page.goto(f"{guarded.host.page}#/reviews/{guarded.gate}")
    expect(page.locator("#gate-comment")).to_have_value("")


def test_a_viewer_sees_no_deeds(guarded: Guarded, open_page: Callable[..., Page]) -> None:
    """Everything can be read; nothing that starts, decides or deletes is offered."""
    page = open_page(guarded.host)
    sign_in(page, guarded.tokens["viewer"])
    expect(page.locator("#who")).to_contain_text("ann")
    below = f"#/collections/{COLLECTION}"
    shown = {
        "#/ask": ".past li",
        f"#/runs/{guarded.done}": "#results > li",
        f"#/runs/{guarded.waiting}": "#run-state .badge.warn",
        "#/reviews": "#gates > li",
        f"#/reviews/{guarded.gate}": "#results > li",
        below: "#ask-collection",
        f"{below}/coverage": "#questions > li",
        f"{below}/documents": "#documents > li",
        "#/settings": "#findings li",
    }
    for view, selector in shown.items():
        page.goto(guarded.host.page + view)
        expect(page.locator(selector).first).to_be_visible()
        assert [deed for deed in DEEDS if page.locator(deed).count()] == [], view


def test_a_viewer_is_asked_for_nothing(guarded: Guarded, open_page: Callable[..., Page]) -> None:
    """No text tells a viewer to decide, to tick or to search; a reviewer is told."""
    told = {
        "#/ask": ".past .empty",
        "#/reviews": "#gates > li",
        f"#/runs/{guarded.waiting}": "#run-state .badge.warn",
        f"#/runs/{guarded.done}": "#results > li",
    }
    urgings = ("Ask a question:", "your decision", "Review: ", "Decide now")
    found: dict[str, set[str]] = {}
    for role in ("viewer", "reviewer"):
        page = open_page(guarded.host)
        page.route("**/api/runs?*", lambda route: route.fulfill(json={"runs": []}))
        sign_in(page, guarded.tokens[role])
        for view, selector in told.items():
            page.goto(guarded.host.page + view)
            expect(page.locator(selector).first).to_be_visible()
            text = page.locator("main").inner_text()
            labels = page.locator("main [aria-label]").evaluate_all(
                "all => all.map(one => one.ariaLabel).join(' ')"
            )
            found.setdefault(role, set()).update(one for one in urgings if one in text + labels)
    assert found == {"viewer": set(), "reviewer": set(urgings)}


def test_a_reviewer_runs_but_deletes_nothing(
    guarded: Guarded, open_page: Callable[..., Page], collection: str
) -> None:
    """A reviewer asks, through a stream that carries the token; deleting is the admin's."""
    page = open_page(guarded.host)
    sign_in(page, guarded.tokens["reviewer"])
    expect(page.locator("#question")).to_be_visible()
    ask(page, HERONS, collection, provider="searxng")
    assert results(page).count() > 1
    page.goto(f"{guarded.host.page}#/collections/{COLLECTION}/documents")
    expect(page.locator("#documents > li").first).to_be_visible()
    assert page.locator("#documents button").count() == 0


def test_an_admin_deletes_a_document(guarded: Guarded, open_page: Callable[..., Page]) -> None:
    """After a question, and only the one."""
    page = open_page(guarded.host, f"#/collections/{COLLECTION}/documents")
    sign_in(page, guarded.tokens["admin"])
    rows = page.locator("#documents > li")
    expect(rows.first).to_be_visible()
    count, gone = rows.count(), str(rows.first.get_attribute("data-url"))
    rows.first.locator("button").click()
    page.locator("dialog button[value=no]").click()
    expect(rows).to_have_count(count)
    rows.first.locator("button").click()
    page.locator("dialog button[value=yes]").click()
    expect(page.locator(f"#documents > li[data-url='{gone}']")).to_have_count(0)
    expect(rows).to_have_count(count - 1)
