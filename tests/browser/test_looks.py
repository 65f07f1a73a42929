"""Languages, themes and widths; and what axe finds in each view."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import pytest
from playwright.sync_api import expect
from support.accessibility import grave_violations
from support.chromium import NARROW, WIDE
from support.page_api import PageApi
from support.page_steps import HERONS

if TYPE_CHECKING:
    from collections.abc import Callable

    from playwright.sync_api import Page
    from support.page_hosts import Host

pytestmark = pytest.mark.browser

COLLECTION = "looks"
SEARXNG = {"provider": "searxng"}
VIEWS = (
    "ask",
    "run",
    "waiting run",
    "reviews",
    "review",
    "collections",
    "collection",
    "coverage",
    "documents",
    "costs",
    "settings",
    "nowhere",
)


class Places(NamedTuple):
    """A run that is done and one that waits."""

    done: str
    waiting: str
    gate: str

    def of(self, view: str) -> str:
        below = f"#/collections/{COLLECTION}"
        special = {
            "run": f"#/runs/{self.done}",
            "waiting run": f"#/runs/{self.waiting}",
            "review": f"#/reviews/{self.gate}",
            "collection": below,
            "coverage": f"{below}/coverage",
            "documents": f"{below}/documents",
        }
        return special.get(view, f"#/{view}")


@pytest.fixture(scope="package")
def places(host: Host) -> Places:
    """Run a search that stores pages, and one that waits at its gate."""
    with PageApi(host.url) as api:
        done = api.run(COLLECTION, HERONS, context=SEARXNG, auto_ingest=True)
        waiting = api.run(COLLECTION, HERONS, graph="collection_review", context=SEARXNG)
        return Places(done["run_id"], waiting["run_id"], waiting["gate_id"])


def settled(page: Page) -> None:
    """Wait until the view is drawn."""
    expect(page.locator("main h1, main .empty").first).to_be_visible()
    expect(page.locator("main .loading")).to_have_count(0)


def assert_fits(page: Page) -> None:
    """Assert that nothing needs scrolling to the side."""
    too_wide = page.evaluate(
        """() => document.documentElement.scrollWidth <= innerWidth ? [] :
        [...document.querySelectorAll("body *")]
          .filter(one => one.getBoundingClientRect().right > innerWidth + 1)
          .map(one => `${one.tagName}.${one.className}#${one.id}`).slice(0, 10)"""
    )
    assert too_wide == []


def assert_words_are_whole(page: Page) -> None:
    """Assert that no word on a button goes on in the next line."""
    broken = page.evaluate(
        """() => [...document.querySelectorAll("button, a.button")].flatMap(button => {
          const found = [];
          const texts = document.createTreeWalker(button, NodeFilter.SHOW_TEXT);
          while (texts.nextNode()) {
            for (const word of texts.currentNode.data.matchAll(/\\S+/g)) {
              const range = new Range();
              range.setStart(texts.currentNode, word.index);
              range.setEnd(texts.currentNode, word.index + word[0].length);
              const tops = [...range.getClientRects()].map(box => Math.round(box.top));
              if (new Set(tops).size > 1) found.push(word[0]);
            }
          }
          return found;
        })"""
    )
    assert broken == []


@pytest.mark.parametrize("language", ["en-US", "de-DE"])
def test_the_navigation_is_whole_at_every_width(
    host: Host, open_page: Callable[..., Page], language: str
) -> None:
    """No view is hidden at an edge."""
    page = open_page(host, locale=language)
    settled(page)
    for width in (320, 360, 480, 769, 900, 961, 1280):
        page.set_viewport_size({"width": width, "height": 740})
        assert_fits(page)
        assert page.evaluate(
            """() => {
              const room = document.querySelector("nav.views").getBoundingClientRect();
              return [...document.querySelectorAll("nav.views a")].every(link => {
                const box = link.getBoundingClientRect();
                return box.left >= room.left - 1 && box.right <= room.right + 1;
              });
            }"""
        ), width


@pytest.mark.parametrize("name", ["run", "review"])
def test_what_has_the_focus_is_not_covered(
    host: Host, places: Places, open_page: Callable[..., Page], name: str
) -> None:
    """Going back with the keyboard on a narrow screen, below a bar that stays at the top."""
    page = open_page(host, places.of(name), viewport=NARROW, reduced_motion="reduce")
    settled(page)
    page.locator("#results input").last.focus()
    covered = []
    for _ in range(20):
        page.keyboard.press("Shift+Tab")
        covered += page.evaluate(
            """() => {
              const focused = document.activeElement;
              const box = focused.getBoundingClientRect();
              const top = document.elementFromPoint(box.left + box.width / 2, box.top + box.height / 2);
              const bar = top?.closest(".bar-of-actions");
              return bar && !bar.contains(focused) ? [focused.outerHTML.slice(0, 100)] : [];
            }"""
        )
    assert covered == []


@pytest.mark.parametrize("view", VIEWS)
def test_every_view_is_accessible(
    host: Host, places: Places, open_page: Callable[..., Page], view: str
) -> None:
    """No serious or critical violation, light and dark, wide and narrow; nothing is too wide."""
    page = open_page(host, places.of(view))
    settled(page)
    found = {}
    for name, size in (("wide", WIDE), ("narrow", NARROW)):
        page.set_viewport_size(size)  # type: ignore[arg-type]
        assert_fits(page)
        assert_words_are_whole(page)
        for scheme in ("light", "dark"):
            page.emulate_media(color_scheme=scheme, reduced_motion="reduce")  # type: ignore[arg-type]
            found[name, scheme] = grave_violations(page)
    assert {key: those for key, those in found.items() if those} == {}


def test_a_run_with_everything_open_is_accessible(
    host: Host, places: Places, open_page: Callable[..., Page]
) -> None:
    """The same with the explanations and the dialog of a decision open."""
    page = open_page(host, places.of("review"), reduced_motion="reduce")
    settled(page)
    for each in page.locator("details summary").all():
        each.click()
    assert grave_violations(page) == []
    page.locator("#reject").click()
    expect(page.locator("dialog")).to_be_visible()
    assert grave_violations(page) == []


@pytest.mark.parametrize(
    ("language", "said"), [("de-DE", "Sammlung"), ("en-US", "Collection"), ("fr-FR", "Collection")]
)
def test_the_language_is_the_browsers(
    host: Host, open_page: Callable[..., Page], language: str, said: str
) -> None:
    """German for German browsers, else English; the document says which."""
    page = open_page(host, locale=language)
    expect(page.locator("label[for=collection]")).to_contain_text(said)
    expect(page.locator("html")).to_have_attribute("lang", language[:2].replace("fr", "en"))


@pytest.mark.parametrize("view", VIEWS)
def test_no_text_is_missing_in_german(
    host: Host, places: Places, open_page: Callable[..., Page], view: str
) -> None:
    """No name of a text stands in place of it, at the narrowest width nothing is too wide."""
    page = open_page(host, places.of(view), locale="de-DE", viewport=NARROW)
    settled(page)
    assert_fits(page)
    assert_words_are_whole(page)
    words: list[Any] = page.evaluate(
        """async () => {
          const { en } = await import(new URL("en.js", document.baseURI));
          const text = document.body.innerText;
          return Object.keys(en).filter(key => key.includes(".") && text.includes(key));
        }"""
    )
    assert words == []


def test_the_language_can_be_chosen(page: Page) -> None:
    """The choice is kept over a reload."""
    page.locator("#language").select_option("de")
    expect(page.locator("html")).to_have_attribute("lang", "de")
    page.reload()
    expect(page.locator("label[for=collection]")).to_contain_text("Sammlung")


def test_the_theme_can_be_chosen(page: Page) -> None:
    """Dark is dark whatever the system has, and is kept over a reload."""
    background = "getComputedStyle(document.body).backgroundColor"
    expect(page.locator("#theme")).to_be_visible()
    light = page.evaluate(background)
    page.locator("#theme").select_option("dark")
    dark = page.evaluate(background)
    assert light != dark
    page.reload()
    expect(page.locator("#theme")).to_have_value("dark")
    assert page.evaluate(background) == dark


def test_the_systems_theme_holds(host: Host, open_page: Callable[..., Page]) -> None:
    """Without a choice a dark system gets a dark page."""
    colours = []
    for scheme in ("light", "dark"):
        page = open_page(host, color_scheme=scheme)
        expect(page.locator("#theme")).to_be_visible()
        colours.append(page.evaluate("getComputedStyle(document.body).backgroundColor"))
    assert colours[0] != colours[1]
