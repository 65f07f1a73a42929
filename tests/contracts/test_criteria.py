"""Criteria as a run takes them."""

from __future__ import annotations

import pytest
from pydantic import ValidationError

from collection_search.contracts.criteria import MAX_CRITERION_CHARS
from collection_search.contracts.inputs import SearchInput


def criteria_of(*given: str) -> list[str]:
    return SearchInput(question="What is tea?", collection_scope="tea", criteria=[*given]).criteria


def test_without_criteria_there_are_none() -> None:
    """They are optional."""
    assert SearchInput(question="What is tea?", collection_scope="tea").criteria == []


def test_criteria_are_normalized_and_kept_once() -> None:
    """White space and case make no second criterion; the order stays."""
    assert criteria_of(" It  names a\tprice ", "It is new", "it names a PRICE") == [
        "It names a price",
        "It is new",
    ]


@pytest.mark.parametrize(
    "given",
    [["", "It is new"], [" \n"], ["?!"], ["x" * (MAX_CRITERION_CHARS + 1)], [*"abcdef"]],
)
def test_what_is_no_criterion_is_refused(given: list[str]) -> None:
    """An empty one, one without a word, one that is too long, and a sixth one."""
    with pytest.raises(ValidationError, match=r"criteri|at most 5"):
        criteria_of(*given)
