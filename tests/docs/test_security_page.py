"""docs/security.md names code and tests that exist."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Final

import pytest

ROOT: Final = Path(__file__).parents[2]
PAGE: Final = (ROOT / "docs" / "security.md").read_text("utf-8")
PATHS: Final = sorted(set(re.findall(r"`((?:collection_search|tests)/[\w/.]+)`", PAGE)))


@pytest.mark.parametrize("path", PATHS)
def test_what_is_named_exists(path: str):
    """A defence whose test was moved is found here."""
    assert (ROOT / path).exists()
