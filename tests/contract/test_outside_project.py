"""Another project's tests of the tools, which know the package by its public names alone."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Final

import pytest

from collection_search import Settings
from collection_search.adapters.search.offline import OfflineSearch

ROOT = Path(__file__).parents[2]
INI: Final = "[pytest]\nasyncio_mode = auto\nasyncio_default_fixture_loop_scope = function\n"
TESTS: Final = """
import pytest
from langchain_tests.integration_tests import ToolsIntegrationTests
from langchain_tests.unit_tests import ToolsUnitTests

from collection_search import CollectionSearchTool, ReadPageTool, RetrieveTool, WebSearchTool

QUESTION = "How do I cancel an asyncio task?"


class WebSearch:
    tool_constructor = WebSearchTool
    tool_invoke_params_example = {"query": "asyncio timeout", "max_results": 2}


class Retrieve:
    tool_constructor = RetrieveTool
    tool_invoke_params_example = {"question": QUESTION, "collection": "docs"}


class CollectionSearch:
    tool_constructor = CollectionSearchTool
    tool_invoke_params_example = {"question": QUESTION, "collection": "docs", "max_pages": 2}


class ReadPage:
    tool_constructor = ReadPageTool
    tool_invoke_params_example = {"url": "https://example.com/"}


class TestWebSearchUnit(WebSearch, ToolsUnitTests): ...
class TestRetrieveUnit(Retrieve, ToolsUnitTests): ...
class TestCollectionSearchUnit(CollectionSearch, ToolsUnitTests): ...
class TestReadPageUnit(ReadPage, ToolsUnitTests): ...
class TestWebSearch(WebSearch, ToolsIntegrationTests): ...
class TestCollectionSearch(CollectionSearch, ToolsIntegrationTests): ...


@pytest.fixture(scope="module")
def collection():
    CollectionSearchTool().invoke(CollectionSearch.tool_invoke_params_example)


@pytest.mark.usefixtures("collection")
class TestRetrieve(Retrieve, ToolsIntegrationTests): ...
"""


@pytest.mark.slow
def test_the_suites_pass_in_a_project_outside(tmp_path: Path) -> None:
    """By the defaults: offline over the documentation of this machine, and no model."""
    project = tmp_path / "project"
    project.mkdir()
    (project / "pytest.ini").write_text(INI)
    (project / "test_tools.py").write_text(TESTS)
    home = tmp_path / "home"
    OfflineSearch.from_settings(Settings(home=home)).prepare()  # no search has to wait for it
    ended = subprocess.run(
        [sys.executable, "-m", "pytest", "-rA", "--disable-socket", "--allow-hosts=127.0.0.1"],
        cwd=project,
        env={
            **os.environ,
            "PYTHONPATH": str(ROOT),
            "COLLECTION_SEARCH_HOME": str(home),
            "COLLECTION_SEARCH_PROVIDER": "offline",
        },
        capture_output=True,
        text=True,
        check=False,
        timeout=600,
    )
    assert ended.returncode == 0, ended.stdout
    passed = set(
        re.findall(r"^PASSED test_tools\.py::(\w+)::test_\w*invoke", ended.stdout, re.MULTILINE)
    )
    assert passed >= {"TestWebSearch", "TestRetrieve", "TestCollectionSearch"}
