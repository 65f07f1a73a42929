"""Pictures of the page: `python -m support.page_screens FOLDER` keeps them as page-NAME.png.

The search engine and the model are doubles on this machine; the offline corpus is this machine's.
"""

from __future__ import annotations

import io
import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from PIL import Image
from playwright.sync_api import expect

from collection_search.testing import OpenAIServer

from .chromium import NARROW, PATIENCE_MS, chromium, find_chromium
from .page_api import PageApi
from .page_hosts import running
from .page_steps import HELD_QUESTION, QUESTION, ask, results, stage, tick
from .page_world import PageWorld

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

COLLECTION: Final = "python-docs"
WIDE: Final = {"width": 1200, "height": 860}
COLOURS: Final = 96
QUERIES: Final = {
    "queries": ["cancel asyncio task timeout", "asyncio.timeout cancel", "asyncio wait_for task"]
}
PATIENT: Final = {"queries": ["herons patience", "herons patience fish", "patience of herons"]}
PROSE: Final = (
    "A task is cancelled after a timeout by asyncio.timeout() or asyncio.wait_for() [1]."
    " When the time is over it gets a CancelledError at its next await, and its caller gets a"
    " TimeoutError [2]."
)


class Photographer:
    """Opens pages and keeps pictures of them."""

    def __init__(self, browser: Browser, address: str, folder: Path) -> None:
        self._browser, self._address, self._folder = browser, address, folder

    def open(self, view: str = "", **context: Any) -> Page:
        options = {"viewport": WIDE, "locale": "en-US", "reduced_motion": "reduce", **context}
        page = self._browser.new_context(**options).new_page()
        page.set_default_timeout(PATIENCE_MS)
        page.goto(self._address + view)
        expect(page.locator("main h1")).to_be_visible()
        expect(page.locator("main .loading")).to_have_count(0)
        return page

    def keep(self, name: str, page: Page) -> None:
        """Keep what the window shows in few colours, and close the page."""
        expect(page.locator("#toasts .toast")).to_have_count(0)
        shown = Image.open(io.BytesIO(page.screenshot())).convert("RGB")
        page.context.close()
        shown.quantize(COLOURS, dither=Image.Dither.NONE).save(
            self._folder / f"page-{name}.png", optimize=True
        )


def keep(folder: Path) -> None:
    """Run the app, fill it, and keep the pictures."""
    expect.set_options(timeout=PATIENCE_MS)
    with (
        tempfile.TemporaryDirectory() as home,
        chromium(find_chromium()) as browser,
        PageWorld() as world,
        OpenAIServer(QUERIES, QUERIES, PATIENT, PROSE) as model,
    ):
        variables = {
            "COLLECTION_SEARCH_MODEL": "openai:gpt-4o-mini",
            "OPENAI_API_KEY": "sk-of-the-screens",
            "OPENAI_BASE_URL": model.base_url,
        }
        with running("serve", Path(home), world, **variables) as host, PageApi(host.url) as api:
            done = api.run(COLLECTION, QUESTION, auto_ingest=True)
            waiting = api.run(COLLECTION, QUESTION, graph="collection_review")
            places = {"done": f"#/runs/{done['run_id']}", "gate": f"#/reviews/{waiting['gate_id']}"}
            photographer = Photographer(browser, host.page, folder)
            _watching(photographer, world)
            _wide(photographer, places)
            _other(photographer, places)


def _watching(photographer: Photographer, world: PageWorld) -> None:
    world.hold()
    page = photographer.open()
    ask(page, HELD_QUESTION, "herons", provider="searxng", auto_ingest=True)
    world.wait_until_held()
    expect(stage(page, "k_parallel_web_search")).to_have_attribute("data-state", "running")
    photographer.keep("watching", page)
    world.release()


def _wide(photographer: Photographer, places: dict[str, str]) -> None:
    page = photographer.open()
    page.locator("#question").fill(QUESTION)
    page.locator("#auto-ingest-toggle").check()
    photographer.keep("ask", page)
    page = photographer.open(places["done"])
    tick(page, 2)
    page.locator("#results details.why summary").first.click()
    results(page).first.evaluate("row => row.scrollIntoView()")
    photographer.keep("results", page)
    page = photographer.open(places["done"])
    photographer.keep("run", page)
    page = photographer.open(places["gate"])
    results(page)
    photographer.keep("review", page)
    photographer.keep("collection", _answered(photographer.open(f"#/collections/{COLLECTION}")))
    photographer.keep("coverage", photographer.open(f"#/collections/{COLLECTION}/coverage"))
    photographer.keep("settings", photographer.open("#/settings"))


def _answered(page: Page) -> Page:
    page.locator("#collection-question").fill(QUESTION)
    page.keyboard.press("Enter")
    page.locator("button.cite").first.click()
    page.evaluate("scrollTo(0, 0)")
    return page


def _other(photographer: Photographer, places: dict[str, str]) -> None:
    photographer.keep("dark", photographer.open(places["done"], color_scheme="dark"))
    photographer.keep("narrow", photographer.open(places["done"], viewport=NARROW))
    photographer.keep("german", photographer.open(places["gate"], locale="de-DE"))


if __name__ == "__main__":
    keep(Path(sys.argv[1]))
