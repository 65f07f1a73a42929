"""Charts: valid XML for every name, and every point within the picture."""

from __future__ import annotations

import re
from xml.etree import ElementTree as ET

from hypothesis import given
from hypothesis import strategies as st

from collection_search.tools.evaluation.charts import (
    HEIGHT,
    WIDTH,
    Chart,
    Curve,
    CurvePoint,
    draw_charts,
)

SVG = "{http://www.w3.org/2000/svg}"
NUMBERS = st.floats(allow_nan=True, allow_infinity=True)
LABELS = st.text(max_size=80)


def parsed(picture: str) -> ET.Element:
    return ET.fromstring(picture)


@given(LABELS, LABELS, st.lists(st.builds(CurvePoint, NUMBERS, NUMBERS, label=LABELS), max_size=4))
def test_every_label_gives_valid_xml(title: str, name: str, points: list[CurvePoint]) -> None:
    """Marks, control characters and halves of pairs included; no place is outside the picture."""
    chart = Chart(title, title, name, [Curve(name, points)])
    picture = draw_charts([chart, chart])
    root = parsed(picture)
    picture.encode("utf-8")
    assert root.tag == f"{SVG}svg"
    assert {each.tag.removeprefix(SVG) for each in root.iter()} <= {
        "svg",
        "rect",
        "g",
        "path",
        "text",
        "circle",
    }
    for circle in root.iter(f"{SVG}circle"):
        assert 0 <= float(circle.attrib["cx"]) <= WIDTH
        assert 0 <= float(circle.attrib["cy"]) <= HEIGHT


def test_a_curve_goes_through_its_points() -> None:
    """From the lower left corner of the axes to the upper right one, with interval and label."""
    points = [CurvePoint(0, 0), CurvePoint(100, 1, 0.5, 1, label="here")]
    root = parsed(draw_charts([Chart("t", "x", "y", [Curve("c", points)], x_to=100)]))
    paths = [each.attrib["d"] for each in root.iter(f"{SVG}path")]
    assert "M56.0 282.0L412.0 40.0" in paths
    assert "M412.0 161.0V40.0" in paths
    assert "here" in {each.text for each in root.iter(f"{SVG}text")}


def test_markup_in_a_name_stays_text() -> None:
    """A name never becomes an element."""
    root = parsed(draw_charts([Chart("<script>x</script>", "a & b", "y")]))
    texts = [each.text for each in root.iter(f"{SVG}text")]
    assert {"<script>x</script>", "a & b"} <= {*texts}
    assert not re.search("<script", draw_charts([Chart("<script>", "x", "y")]))
