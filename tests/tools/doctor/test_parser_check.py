"""The doctor's line for the operator's own parsers."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from collection_search import SearchContext, Settings
from collection_search.settings.page_parsers import PageParsers
from collection_search.tools.doctor.diagnosis import diagnose

if TYPE_CHECKING:
    from pathlib import Path

    from collection_search.tools.doctor.finding import Finding

OURS = "support.own_parsers"


async def told(home: Path, *, contacts: bool = True, **parsers: str) -> dict[str, Finding]:
    settings = Settings(home=home, parsers=PageParsers(**parsers))
    found = await diagnose(SearchContext(settings=settings), contacts=contacts)
    return {finding.name: finding for finding in found.findings if finding.part == "parser"}


async def test_each_parser_has_a_line(tmp_path: Path) -> None:
    """One that works says where it runs, one that does not what is wrong."""
    found = await told(tmp_path, pdf=f"{OURS}:read", html=f"{OURS}:none")
    assert (found["pdf"].state, found["pdf"].detail) == ("ok", f"{OURS}:read runs in a thread")
    assert found["html"].state == "failed"
    assert f"parsers.html: '{OURS}:none' names no function" in found["html"].detail


@pytest.mark.parametrize("name", [f"{OURS}:read", "no_such_module:read"])
async def test_without_contacts_nothing_is_imported(tmp_path: Path, name: str) -> None:
    """As on the server's page."""
    found = await told(tmp_path, contacts=False, pdf=name)
    assert (found["pdf"].state, found["pdf"].detail) == ("unchecked", "not contacted")
