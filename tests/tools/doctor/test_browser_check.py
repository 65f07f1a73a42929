"""The doctor's line for the browser."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from support.scripted_pages import SANDBOX, needs_chromium

from collection_search import Settings
from collection_search.tools.doctor.checks import check_browser

if TYPE_CHECKING:
    from pathlib import Path


async def test_a_wrong_program_is_told(tmp_path: Path) -> None:
    """With the setting that names it."""
    settings = Settings(home=tmp_path, fetch_browser=True, browser_path=tmp_path / "none")
    finding = await check_browser(settings, limit_s=60)
    assert finding.state == "failed"
    assert "browser_path" in finding.detail


@pytest.mark.slow
@needs_chromium
async def test_a_browser_that_starts_is_told(tmp_path: Path) -> None:
    """With its version."""
    settings = Settings(home=tmp_path, fetch_browser=True, browser_sandbox=SANDBOX)
    finding = await check_browser(settings, limit_s=60)
    assert (finding.state, finding.detail.split()[0]) == ("ok", "Chromium")
