"""The reference pages that come from the code are as the code is now; `make reference` writes them anew."""

from __future__ import annotations

import importlib
import re
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import pytest

import collection_search
from collection_search.cli import COMMANDS

if TYPE_CHECKING:
    from collections.abc import Iterator

DOCS: Final = Path(__file__).parents[2] / "docs"


@pytest.fixture(scope="module")
def reference() -> Iterator[Any]:
    """The module that writes the pages, which stands beside the site's configuration."""
    sys.path.insert(0, str(DOCS / "site"))
    yield importlib.import_module("reference")
    sys.path.remove(str(DOCS / "site"))


def test_every_public_name_has_one_topic(reference: Any):
    """No name is left out or stands twice."""
    named = [name for topic in reference.TOPICS for name in reference.names_of(topic)]
    assert sorted(named) == collection_search.__all__


def test_the_names_are_those_of_the_code(reference: Any):
    """With the first sentence of each docstring."""
    assert (DOCS / "reference" / "python.md").read_text("utf-8") == reference.python_page()


def test_the_options_are_those_of_the_command(reference: Any):
    """With default and help text."""
    assert (DOCS / "reference" / "commands.md").read_text("utf-8") == reference.commands_page()


def test_the_settings_are_those_of_the_code(reference: Any):
    """With all names, default and description."""
    assert reference.settings_table() in (DOCS / "reference" / "settings.md").read_text("utf-8")


def test_every_command_is_named():
    """The guide has a row for each sub-command."""
    guide = (DOCS / "guides" / "command.md").read_text("utf-8")
    assert set(COMMANDS) <= set(re.findall(r"^\| `(\w+)", guide, re.MULTILINE))
