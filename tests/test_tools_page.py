"""docs/tools.md says what the tools do: its snippets run as they stand."""

from __future__ import annotations

import re
import shlex
from pathlib import Path
from typing import Final

import pytest

from collection_search.contracts.functions import FUNCTIONS
from collection_search.tools.langchain.function_tools import TOOLS

PAGE = (Path(__file__).parents[1] / "docs" / "tools.md").read_text(encoding="utf-8")
EXPECTED: Final = {
    "LangChain and LangGraph": "\nURL: https://docs.python.org/",
    "OpenAI": "tool call_1 <untrusted-web-content id=",
    "Anthropic": "tool_result call_1 <untrusted-web-content id=",
    "The command": "\nSource: https://docs.python.org/",
    "Plain Python": "False <untrusted-web-content id=",
    "Who searches, and for whom": "\nURL: https://docs.python.org/",
}
"""What the first Python snippet of a section prints, among other things."""


def snippet(section: str, language: str = "python") -> str:
    """Return the first snippet of a section."""
    text = PAGE.split(f"\n## {section}\n")[1].split("\n## ")[0]
    found = re.search(rf"^```{language}\n(.*?)^```", text, re.MULTILINE | re.DOTALL)
    assert found, section
    return found[1]


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The offline corpus is read once for all."""
    return tmp_path_factory.mktemp("tools")


@pytest.fixture
def defaults(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The settings of a new user."""
    monkeypatch.setenv("COLLECTION_SEARCH_HOME", str(home))


@pytest.mark.slow
@pytest.mark.usefixtures("defaults")
@pytest.mark.parametrize("section", EXPECTED)
def test_a_snippet_runs(section: str, capsys: pytest.CaptureFixture[str]):
    """By the defaults, without a key."""
    exec(snippet(section), {})
    assert EXPECTED[section] in capsys.readouterr().out


@pytest.mark.slow
@pytest.mark.usefixtures("defaults")
def test_the_searches_of_the_command_run(capsys: pytest.CaptureFixture[str]):
    """A query, and the arrow command."""
    from collection_search.cli import main

    lines = [shlex.split(line) for line in snippet("The command", "sh").splitlines()]
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
        (row,) = re.findall(rf"^\| `{name}` \| `{tools[name]}` \|.*$", PAGE, re.MULTILINE)
        for argument in definition.input_schema()["properties"]:
            assert f"`{argument}`" in row
