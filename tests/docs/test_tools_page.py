"""The table of functions in docs/guides/tools.md is that of the code."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Final

from collection_search.contracts.functions import FUNCTIONS
from collection_search.tools.langchain.function_tools import TOOLS

PAGE: Final = (Path(__file__).parents[2] / "docs" / "guides" / "tools.md").read_text("utf-8")


def test_the_table_is_that_of_the_definitions():
    """Every function with its tool and all of its arguments."""
    tools = {tool().name: tool.__name__ for tool in TOOLS}
    for name, definition in FUNCTIONS.items():
        (row,) = re.findall(rf"^\| `{name}` \| `{tools[name]}` \|.*$", PAGE, re.MULTILINE)
        for argument in definition.input_schema()["properties"]:
            assert f"`{argument}`" in row
