"""What was spent, on the page."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from playwright.sync_api import expect
from support.page_steps import HERONS

if TYPE_CHECKING:
    from playwright.sync_api import Page
    from support.page_api import PageApi
    from support.page_hosts import Host

pytestmark = pytest.mark.browser


def _spent(key: str, question: str) -> dict[str, Any]:
    return {"key": key, "question": question, "cost_usd": 0.5, "complete": True, "calls": 1}


def test_a_run_that_the_server_does_not_have_is_no_link(
    page: Page, host: Host, collection: str, api: PageApi
) -> None:
    """Runs of the command and answers cost something, and cannot be shown."""
    run_id = api.run(collection, HERONS, context={"provider": "searxng"})["run_id"]
    rows = [_spent(run_id, HERONS), _spent("run-of-a-command", "What do cranes eat?")]
    costs = {"rows": rows, "total_usd": 1.0, "complete": True}
    page.route("**/api/costs?*by=run*", lambda route: route.fulfill(json=costs))
    page.goto(f"{host.page}#/costs")
    page.locator("#costs-by").select_option("run")
    expect(page.locator("#costs tbody tr")).to_have_count(2)
    expect(page.locator("#costs a")).to_have_text([HERONS])
    page.locator("#costs a").click()
    expect(page.locator("article.run h1")).to_have_text(HERONS)
