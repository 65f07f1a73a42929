"""Chromium, the web that the app searches, and the app on both hosts."""

from __future__ import annotations

from itertools import count
from typing import TYPE_CHECKING

import pytest
from playwright.sync_api import expect
from support.chromium import PATIENCE_MS, WIDE, Watch, chromium, find_chromium
from support.page_api import PageApi
from support.page_hosts import HOSTS, Host, running
from support.page_world import PageWorld

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from playwright.sync_api import Browser, Page

NUMBERS = count(1)

expect.set_options(timeout=PATIENCE_MS)


@pytest.fixture(scope="package")
def browser() -> Iterator[Browser]:
    with chromium(find_chromium()) as browser:
        yield browser


@pytest.fixture(scope="package")
def world() -> Iterator[PageWorld]:
    with PageWorld() as world:
        yield world


@pytest.fixture(scope="package", params=HOSTS)
def host(
    request: pytest.FixtureRequest,
    browser: Browser,
    world: PageWorld,
    tmp_path_factory: pytest.TempPathFactory,
) -> Iterator[Host]:
    """Run the app without tokens, with an empty data folder."""
    with running(request.param, tmp_path_factory.mktemp(request.param), world) as host:
        yield host


@pytest.fixture
def open_page(browser: Browser) -> Iterator[Callable[..., Page]]:
    """Open pages of a host, each in a context of its own; at the end none has done harm."""
    opened: list[tuple[Page, Watch]] = []

    def open_at(host: Host, view: str = "", **context: object) -> Page:
        options = {"viewport": WIDE, "locale": "en-US", **context}
        page = browser.new_context(**options).new_page()  # type: ignore[arg-type]
        page.set_default_timeout(PATIENCE_MS)
        watch = Watch(host.url)
        watch.over(page)
        opened.append((page, watch))
        page.goto(host.page + view)
        return page

    try:
        yield open_at
        for page, watch in opened:
            watch.assert_harmless(page)
    finally:
        for page, _ in opened:
            page.context.close()


@pytest.fixture
def api(host: Host) -> Iterator[PageApi]:
    """Call the API of the host."""
    with PageApi(host.url) as api:
        yield api


@pytest.fixture
def collection() -> str:
    """Return the name of a collection that no other test uses."""
    return f"birds-{next(NUMBERS)}"


@pytest.fixture
def page(host: Host, open_page: Callable[..., Page]) -> Page:
    """Open the page of the host."""
    return open_page(host)
