"""The tools in LangChain's own suites, each made without arguments."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar

import pytest
from langchain_tests.integration_tests import ToolsIntegrationTests
from langchain_tests.unit_tests import ToolsUnitTests
from support.tool_world import QUESTION, ToolWorld, tool_world, whole_pages

from collection_search import (
    CollectionSearchTool,
    ReadPageTool,
    RetrieveTool,
    SearchContext,
    WebSearchTool,
)
from collection_search.testing import ScriptedAdapter

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from langchain_core.tools import BaseTool


class WebSearchForm:
    """What the suites are told of `WebSearchTool`."""

    tool_constructor: type[BaseTool] = WebSearchTool
    tool_constructor_params: ClassVar[dict[str, Any]] = {}
    tool_invoke_params_example: ClassVar[dict[str, Any]] = {"query": "asyncio", "max_results": 2}


class RetrieveForm(WebSearchForm):
    """What the suites are told of `RetrieveTool`."""

    tool_constructor = RetrieveTool
    tool_invoke_params_example: ClassVar[dict[str, Any]] = {
        "question": QUESTION,
        "collection": "docs",
        "k": 3,
    }


class CollectionSearchForm(WebSearchForm):
    """What the suites are told of `CollectionSearchTool`."""

    tool_constructor = CollectionSearchTool
    tool_invoke_params_example: ClassVar[dict[str, Any]] = {
        "question": QUESTION,
        "collection": "new",
        "max_pages": 2,
    }


class ReadPageForm(WebSearchForm):
    """What the suites are told of `ReadPageTool`."""

    tool_constructor = ReadPageTool
    tool_invoke_params_example: ClassVar[dict[str, Any]] = {
        "url": "https://example.com/",
        "max_chars": 500,
    }


class TestWebSearchUnit(WebSearchForm, ToolsUnitTests):
    """LangChain's unit suite."""


class TestRetrieveUnit(RetrieveForm, ToolsUnitTests):
    """LangChain's unit suite."""


class TestCollectionSearchUnit(CollectionSearchForm, ToolsUnitTests):
    """LangChain's unit suite."""


class TestReadPageUnit(ReadPageForm, ToolsUnitTests):
    """LangChain's unit suite."""


class Integration(ToolsIntegrationTests):
    """LangChain's integration suite over doubles that the environment names."""

    @pytest.fixture(autouse=True)
    def world(self, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[ToolWorld]:
        """Every call of the tools stays on this machine."""
        with tool_world(monkeypatch, tmp_path) as world:
            yield world


class TestWebSearch(WebSearchForm, Integration):
    """LangChain's integration suite."""

    def test_the_provider_of_the_environment_was_asked(
        self, tool: BaseTool, world: ToolWorld
    ) -> None:
        """The suite checks no contents."""
        tool.invoke(self.tool_invoke_params_example)
        assert [request.body["query"] for request in world.search.requests] == ["asyncio"]


class TestRetrieve(RetrieveForm, Integration):
    """LangChain's integration suite."""


@pytest.mark.slow
class TestCollectionSearch(CollectionSearchForm, Integration):
    """LangChain's integration suite, with pages that need not be fetched."""

    tool_constructor_params: ClassVar[dict[str, Any]] = {
        "search_context": SearchContext(provider=ScriptedAdapter(whole_pages()))
    }


@pytest.mark.slow
class TestReadPage(ReadPageForm, Integration):
    """LangChain's integration suite."""

    @pytest.fixture(autouse=True)
    def of_the_site(self, world: ToolWorld, monkeypatch: pytest.MonkeyPatch) -> None:
        """The page of the loopback site is read."""
        monkeypatch.setattr(
            type(self), "tool_invoke_params_example", {"url": world.page_url, "max_chars": 500}
        )

    def test_the_page_was_read(self, tool: BaseTool) -> None:
        """Its title is in the text for the model."""
        assert "Title: Herons" in tool.invoke(self.tool_invoke_params_example)
