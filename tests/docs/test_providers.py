"""docs/providers/ has a page and a row for each provider, with the facts of the code."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Final

import pytest

from collection_search.contracts.price_list import LIST_PRICES
from collection_search.settings.registry import BUILTIN, load_adapter

PROVIDERS: Final = Path(__file__).parents[2] / "docs" / "providers"
INDEX: Final = (PROVIDERS / "index.md").read_text("utf-8")
NAMES: Final = sorted(set(BUILTIN["search"]) - {"json_api", "langchain"})
"""The others are ways to bring a provider of one's own."""


def row(name: str) -> list[str]:
    """Return the cells of a provider's row."""
    (found,) = re.findall(rf"^\| \[`{name}`\]\({name}\.md\) \|(.*)\|$", INDEX, re.MULTILINE)
    return [cell.strip() for cell in found.split("|")]


def test_every_page_is_of_a_provider():
    """And every provider has one, as a described endpoint has."""
    stems = sorted(path.stem for path in PROVIDERS.glob("*.md"))
    assert stems == sorted([*NAMES, "index", "json_api"])


@pytest.mark.parametrize("name", NAMES)
def test_the_variable_is_that_of_the_code(name: str):
    """In the row and on the page, where the provider needs a key."""
    info = load_adapter("search", name).info
    if info.needs_key:
        assert f"`{info.key_variable}`" in row(name)[0]
        assert f"`{info.key_variable}`" in (PROVIDERS / f"{name}.md").read_text("utf-8")


@pytest.mark.parametrize("name", NAMES)
def test_the_price_is_that_of_the_list(name: str):
    """Which stands in `prices.toml`; what is not listed there is not listed here."""
    cost = LIST_PRICES.search_cost(name, 1000)
    told = row(name)[3]
    if cost is None:
        assert told == "not listed"
    elif cost == 0:
        assert told == "free"
    else:
        assert told.split()[0] == f"{cost:.2f}"


@pytest.mark.parametrize("name", NAMES)
def test_the_results_of_a_request_are_those_of_the_code(name: str):
    """As the adapter pages through them."""
    size = load_adapter("search", name).info.page_size
    assert row(name)[2] == ("any" if size is None else str(size))


@pytest.mark.parametrize("name", NAMES)
def test_the_index_is_that_of_the_code(name: str):
    """Google's by its name, an own one by that of the provider, others without one."""
    told, index = row(name)[1], load_adapter("search", name).info.index
    if told == "Google":
        assert index == "Google"
    elif told in {"own", "scholarly works"}:
        assert index.casefold() == name
    else:
        assert index is None


def test_an_end_is_told():
    """With its day."""
    for name in NAMES:
        if day := load_adapter("search", name).info.ends_on:
            assert day.isoformat() in (PROVIDERS / f"{name}.md").read_text("utf-8")
