"""The pages of docs/ say what the code does: their snippets run as they stand."""

from __future__ import annotations

import re
import shlex
from pathlib import Path
from typing import Final

import pytest
from support.offline_index import copy_offline_index

from collection_search.contracts.functions import FUNCTIONS
from collection_search.tools.langchain.function_tools import TOOLS

ROOT: Final = Path(__file__).parents[2]
PAGES: Final = {
    path.relative_to(ROOT).as_posix(): path.read_text(encoding="utf-8")
    for path in (
        ROOT / "README.md",
        ROOT / "CONTRIBUTING.md",
        *sorted((ROOT / "docs").rglob("*.md")),
    )
}
TOOLS_PAGE: Final = "docs/guides/tools.md"
EXPECTED: Final = {
    (TOOLS_PAGE, "LangChain and LangGraph"): "\nURL: https://docs.python.org/",
    (TOOLS_PAGE, "OpenAI"): "tool call_1 <untrusted-web-content id=",
    (TOOLS_PAGE, "Anthropic"): "tool_result call_1 <untrusted-web-content id=",
    (TOOLS_PAGE, "The command"): "\nSource: https://docs.python.org/",
    (TOOLS_PAGE, "Plain Python"): "False <untrusted-web-content id=",
    (TOOLS_PAGE, "Who searches, and for whom"): "\nURL: https://docs.python.org/",
    ("docs/guides/tracing.md", "Callback handlers"): "search_completed {}\n",
    (
        "docs/guides/answers.md",
        "As an agent",
    ): "unanswered ['no_model']\nNo model writes the answer",
    (
        "docs/guides/mcp.md",
        "In Python",
    ): "['web_search', 'retrieve', 'collection_search', 'read_page']\n",
}
"""What the first Python snippet of a section prints, among other things."""


def snippets(text: str, language: str = "python") -> list[str]:
    """Return the snippets of a text in their order."""
    return re.findall(rf"^```{language}\n(.*?)^```", text, re.MULTILINE | re.DOTALL)


def snippet(page: str, section: str, language: str = "python") -> str:
    """Return the first snippet of a section."""
    text = PAGES[page].split(f"\n## {section}\n")[1].split("\n## ")[0]
    return snippets(text, language)[0]


@pytest.fixture(scope="module")
def home(offline_index_folder: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The offline corpus is read once for all, and before: no search has to wait for it."""
    folder = tmp_path_factory.mktemp("pages")
    copy_offline_index(offline_index_folder, folder)
    return folder


@pytest.fixture
def defaults(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The settings of a new user."""
    monkeypatch.setenv("COLLECTION_SEARCH_HOME", str(home))


@pytest.mark.slow
@pytest.mark.usefixtures("defaults")
@pytest.mark.parametrize(("page", "section"), EXPECTED)
def test_a_snippet_runs(page: str, section: str, capsys: pytest.CaptureFixture[str]):
    """By the defaults, without a key."""
    exec(snippet(page, section), {})
    assert EXPECTED[page, section] in capsys.readouterr().out


@pytest.mark.slow
@pytest.mark.usefixtures("defaults")
def test_the_searches_of_the_command_run(capsys: pytest.CaptureFixture[str]):
    """A query, and the arrow command."""
    from collection_search.cli import main

    lines = [shlex.split(line) for line in snippet(TOOLS_PAGE, "The command", "sh").splitlines()]
    assert [line[1] for line in lines] == ["search", "search", "page"]
    for line in lines[:2]:
        with pytest.raises(SystemExit) as ended:
            main(line[1:])
        assert ended.value.code == 0
        assert "docs.python.org" in capsys.readouterr().out


def test_the_table_is_that_of_the_definitions():
    """Every function with its tool and all of its arguments."""
    tools = {tool().name: tool.__name__ for tool in TOOLS}
    for name, definition in FUNCTIONS.items():
        (row,) = re.findall(
            rf"^\| `{name}` \| `{tools[name]}` \|.*$", PAGES[TOOLS_PAGE], re.MULTILINE
        )
        for argument in definition.input_schema()["properties"]:
            assert f"`{argument}`" in row
