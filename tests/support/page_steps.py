"""What a person does on the page, step by step."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final
from urllib.parse import unquote

from playwright.sync_api import expect

if TYPE_CHECKING:
    from playwright.sync_api import Locator, Page

QUESTION: Final = "How do I cancel an asyncio task after a timeout?"
HERONS: Final = "How do herons catch fish?"
HELD_QUESTION: Final = "How do herons with patience catch fish?"
ADVERT_QUESTION: Final = "How do herons of the advert catch fish?"
FAILING_QUESTION: Final = "How do herons catch fish in an outage?"
HOSTILE_QUESTION: Final = "How do hostile cranes dance?"
MANY_QUESTION: Final = "How do herons of the catalogue catch fish?"
AT_A_RUN: Final = re.compile(r"#/runs/[^/?]+")


def ask(
    page: Page,
    question: str,
    collection: str,
    *,
    provider: str = "",
    auto_ingest: bool = False,
    review: bool = False,
    most: int | None = None,
) -> str:
    """Fill the form, send it, and return the run's id."""
    page.locator("#question").fill(question)
    page.locator("#collection").fill(collection)
    page.locator("#provider").select_option(provider)
    if most is not None:
        page.locator("#ask details.more summary").click()
        page.locator("#max-candidates").fill(str(most))
    if auto_ingest:
        page.locator("#auto-ingest-toggle").check()
    if review:
        page.locator("#review").check()
    page.locator("#ask button[type=submit]").click()
    page.wait_for_url(AT_A_RUN)
    return run_id(page)


def run_id(page: Page) -> str:
    """Return the id of the run that is shown."""
    return unquote(page.url.partition("#/runs/")[2].partition("?")[0])


def results(page: Page) -> Locator:
    """Return the rows of the results, once there is one."""
    rows = page.locator("#results > li")
    expect(rows.first).to_be_visible()
    return rows


def tick(page: Page, count: int) -> list[str]:
    """Tick the first rows, and return their addresses."""
    rows = results(page)
    for n in range(count):
        rows.nth(n).locator("input[type=checkbox]").check()
    return [str(rows.nth(n).get_attribute("data-url")) for n in range(count)]


def stored(page: Page) -> Locator:
    """Return the pages of the shown ticket that are stored."""
    return page.locator("#ticket li[data-state=stored]")


def stage(page: Page, node: str) -> Locator:
    """Return a stage of the run that is shown."""
    return page.locator(f"#pipeline > li[data-node={node}]")
