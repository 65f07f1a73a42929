"""Where on a page a sentence of an answer stands."""

from __future__ import annotations

import pytest

from collection_search.cli.shared.page_block import section_of
from collection_search.contracts.collection import Passage


@pytest.mark.parametrize(
    ("begin", "headings", "sections", "expected"),
    [
        ("## Setup\nText.", ["Setup"], [(2, "Warranty")], "Warranty"),
        ("## Setup\nText.", ["Setup"], [(3, "Hoses")], "Setup > Hoses"),
        ("### Hoses\nText.", ["Setup", "Hoses"], [(3, "Oil")], "Setup > Oil"),
        ("### Hoses\nText.", ["Setup", "Hoses"], [(2, "Warranty")], "Warranty"),
        ("### Hoses\nText.", ["Setup", "Hoses"], [(1, "Legal")], "Legal"),
        ("# Pump\n\n## Setup\nText.", ["Pump"], [(2, "Warranty")], "Pump > Warranty"),
        ("Text.", ["Pump", "Setup"], [(2, "Warranty")], "Pump > Warranty"),
        ("Text.", [], [(2, "Warranty")], "Warranty"),
    ],
)
def test_a_section_stands_below_those_of_higher_levels(
    begin: str, headings: list[str], sections: list[tuple[int, str]], expected: str
) -> None:
    """Also on a page whose headings begin with the second level."""
    found = {"headings": headings}
    passage = Passage(n=1, url="u", title="t", text=begin, score=1, provenance=found)
    assert section_of(passage, sections) == expected
