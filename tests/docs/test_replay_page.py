"""What docs/guides/replay.md prints for another terminal sets variables that the settings know."""

from __future__ import annotations

import io
import re
from typing import TYPE_CHECKING

from support.doc_blocks import blocks_of

from collection_search.settings import Settings

if TYPE_CHECKING:
    import pytest


def test_the_doubles_by_variables(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
):
    """Addresses, keys and the model."""
    (block,) = (block for block in blocks_of("docs/guides/replay.md") if "export {" in block.code)
    monkeypatch.setattr("sys.stdin", io.StringIO("\n"))
    exec(block.code, {})
    told = dict(re.findall(r"^export (\w+)='(.+)'$", capsys.readouterr().out, re.MULTILINE))
    for name, value in told.items():
        monkeypatch.setenv(name, value)
    settings = Settings.load()
    tavily = settings.providers["tavily"]
    assert tavily.base_url == told["TAVILY_BASE_URL"]
    assert tavily.api_key is not None
    assert tavily.api_key.get_secret_value() == told["TAVILY_API_KEY"]
    assert settings.model == told["COLLECTION_SEARCH_MODEL"]
    assert settings.openai_base_url == told["OPENAI_BASE_URL"]
