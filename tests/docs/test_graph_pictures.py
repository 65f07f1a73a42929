"""The pictures of the graphs show the graphs as they are compiled now."""

from __future__ import annotations

from pathlib import Path
from typing import Final

import pytest
from PIL import Image
from support.graph_pictures import DIGEST, diagrams, digest

SCREENS: Final = Path(__file__).parents[2] / "docs" / "screens"


@pytest.mark.parametrize("name", ["search", "review", "ingestion"])
def test_a_picture_is_of_this_graph(name: str):
    """Else `make screens` draws it anew."""
    with Image.open(SCREENS / f"graph-{name}.png") as picture:
        assert picture.info[DIGEST] == digest(diagrams()[name])
