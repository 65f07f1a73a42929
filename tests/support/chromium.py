"""Chromium of the system, driven by Playwright, and what it must never report."""

from __future__ import annotations

import os
import shutil
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import urlsplit

import pytest
from playwright.sync_api import sync_playwright

if TYPE_CHECKING:
    from collections.abc import Iterator

    from playwright.sync_api import Browser, ConsoleMessage, Page, Request

PATIENCE_MS: Final = 90_000
"""Long: a busy machine is slow, and only a test that fails waits to the end."""
NAMES: Final = ("chromium", "chromium-browser", "google-chrome")
REQUIRED: Final = os.environ.get("TESTS_REQUIRE_BROWSER") == "1"
WIDE: Final = {"width": 1280, "height": 900}
NARROW: Final = {"width": 360, "height": 740}

_LISTEN = """
window.policyViolations = [];
document.addEventListener("securitypolicyviolation", event =>
  window.policyViolations.push(`${event.violatedDirective} ${event.blockedURI}`));
"""


def find_chromium() -> str:
    """Return the path of Chromium. Skips the test without one, or fails where CI requires it."""
    found = next(filter(None, map(shutil.which, NAMES)), None)
    if found is None:
        told = f"no Chromium in PATH ({', '.join(NAMES)}); .ci/browser installs it"
        (pytest.fail if REQUIRED else pytest.skip)(told)
    return str(found)


@contextmanager
def chromium(executable: str) -> Iterator[Browser]:
    """Run a headless Chromium."""
    arguments = ["--disable-dev-shm-usage", "--disable-gpu", "--force-color-profile=srgb"]
    if os.geteuid() == 0:
        arguments.append("--no-sandbox")
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=executable, args=arguments)
        try:
            yield browser
        finally:
            browser.close()


@dataclass
class Watch:
    """What a page did that it must not do."""

    origin: str
    foreign: list[str] = field(default_factory=list)
    """Requests that left the origin."""
    errors: list[str] = field(default_factory=list)
    """Exceptions of scripts."""
    complaints: list[str] = field(default_factory=list)
    """Console messages about the content security policy."""

    def over(self, page: Page) -> None:
        """Watch the page from now on."""
        page.add_init_script(_LISTEN)
        page.on("request", self._requested)
        page.on("console", self._said)
        page.on("pageerror", lambda error: self.errors.append(str(error)))

    def _requested(self, request: Request) -> None:
        parts = urlsplit(request.url)
        if parts.scheme != "data" and f"{parts.scheme}://{parts.netloc}" != self.origin:
            self.foreign.append(request.url)

    def _said(self, message: ConsoleMessage) -> None:
        if "Content Security Policy" in message.text:
            self.complaints.append(message.text)

    def assert_harmless(self, page: Page) -> None:
        """Assert that nothing left the origin, nothing broke and nothing violated the policy."""
        violations: list[Any] = page.evaluate("window.policyViolations ?? []")
        assert violations == []
        assert self.complaints == []
        assert self.foreign == []
        assert self.errors == []
        assert page.evaluate("window.harmed ?? null") is None
