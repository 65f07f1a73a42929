"""Line charts as SVG: plain shapes and texts, without scripts, styles or links."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final
from xml.sax.saxutils import escape

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

WIDTH: Final = 430
HEIGHT: Final = 400
_LEFT, _RIGHT, _TOP, _BOTTOM = 56, 18, 40, 118
"""Margins around the field of a chart; the legend is in the lower one."""
_COLOURS: Final = ("#0072b2", "#d55e00", "#009e73", "#cc79a7")
_DASHES: Final = ("none", "6 3", "2 3", "8 3 2 3")
"""So that the lines differ without colour too."""
_MAX_LABEL: Final = 48


@dataclass(frozen=True)
class CurvePoint:
    """One place of a line, with its label and its interval where it has them."""

    x: float
    y: float
    low: float | None = None
    high: float | None = None
    label: str = ""
    """A marked point has one."""


@dataclass(frozen=True)
class Curve:
    """One named curve."""

    name: str
    points: Sequence[CurvePoint]


@dataclass(frozen=True)
class Chart:
    """Curves over one pair of axes; `y` runs from 0 to 1."""

    title: str
    x_label: str
    y_label: str
    curves: Sequence[Curve] = field(default_factory=tuple)
    x_from: float = 0.0
    x_to: float = 1.0


def draw_charts(charts: Sequence[Chart]) -> str:
    """Return one SVG with the charts side by side.

    Points that are not finite are left out; others are drawn within the axes.

    >>> draw_charts([]).splitlines()[0][:38]
    '<svg xmlns="http://www.w3.org/2000/svg'
    """
    width = max(len(charts), 1) * WIDTH
    parts = [
        _head(width),
        f'<rect width="{width}" height="{HEIGHT}" fill="#ffffff"/>',
    ]
    for place, chart in enumerate(charts):
        parts.append(f'<g transform="translate({place * WIDTH} 0)">')
        parts += _Frame(chart).shapes()
        parts.append("</g>")
    return "\n".join([*parts, "</svg>"]) + "\n"


def _head(width: int) -> str:
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{HEIGHT}"'
        f' viewBox="0 0 {width} {HEIGHT}" font-family="sans-serif" font-size="12">'
    )


@dataclass(frozen=True)
class _Frame:
    """One chart with the map from its values to places in the picture."""

    chart: Chart

    def shapes(self) -> Iterator[str]:
        yield _text(WIDTH / 2, 22, self.chart.title, size=14, anchor="middle")
        yield from self._grid()
        for number, line in enumerate(self.chart.curves):
            yield from self._line(line, _COLOURS[number % 4], _DASHES[number % 4])
            yield from _legend(number, line.name)

    def _x(self, value: float) -> float:
        chart = self.chart
        share = (value - chart.x_from) / (chart.x_to - chart.x_from)
        return _LEFT + min(max(share, 0.0), 1.0) * (WIDTH - _LEFT - _RIGHT)

    def _y(self, value: float) -> float:
        return HEIGHT - _BOTTOM - min(max(value, 0.0), 1.0) * (HEIGHT - _TOP - _BOTTOM)

    def _grid(self) -> Iterator[str]:
        chart, left, right = self.chart, _LEFT, WIDTH - _RIGHT
        top, bottom = _TOP, HEIGHT - _BOTTOM
        for step in range(6):
            share = step / 5
            y = self._y(share)
            yield _stroke(f"M{left} {y:.1f}H{right}", "#dddddd")
            yield _text(left - 8, y + 4, f"{share:.1f}", anchor="end")
            value = chart.x_from + share * (chart.x_to - chart.x_from)
            yield _stroke(f"M{self._x(value):.1f} {top}V{bottom}", "#eeeeee")
            yield _text(self._x(value), bottom + 16, f"{value:g}", anchor="middle")
        yield _stroke(f"M{left} {top}V{bottom}H{right}", "#333333")
        yield _text((left + right) / 2, bottom + 34, chart.x_label, anchor="middle")
        middle = (top + bottom) / 2
        turned = f' transform="rotate(-90 14 {middle:.1f})"'
        yield _text(14, middle, chart.y_label, anchor="middle", more=turned)

    def _line(self, line: Curve, colour: str, dashes: str) -> Iterator[str]:
        points = [each for each in line.points if math.isfinite(each.x) and math.isfinite(each.y)]
        path = "L".join(f"{self._x(each.x):.1f} {self._y(each.y):.1f}" for each in points)
        if path:
            yield _stroke(f"M{path}", colour, width=2, dashes=dashes)
        for each in points:
            x, y = self._x(each.x), self._y(each.y)
            if each.low is not None and each.high is not None:
                yield _stroke(f"M{x:.1f} {self._y(each.low):.1f}V{self._y(each.high):.1f}", colour)
            if each.label or each.low is not None:
                yield f'<circle cx="{x:.1f}" cy="{y:.1f}" r="3.5" fill="{colour}"/>'
            if each.label:
                yield _text(x + 6, y - 6, each.label, size=11)


def _legend(number: int, name: str) -> Iterator[str]:
    x, y = _LEFT, HEIGHT - _BOTTOM + 56 + 16 * number
    colour, dashes = _COLOURS[number % 4], _DASHES[number % 4]
    yield _stroke(f"M{x} {y - 4}H{x + 28}", colour, width=2, dashes=dashes)
    yield _text(x + 36, y, name)


def _stroke(path: str, colour: str, *, width: float = 1, dashes: str = "none") -> str:
    dashed = "" if dashes == "none" else f' stroke-dasharray="{dashes}"'
    return f'<path d="{path}" fill="none" stroke="{colour}" stroke-width="{width}"{dashed}/>'


def _text(
    x: float, y: float, text: str, *, size: int = 12, anchor: str = "start", more: str = ""
) -> str:
    """Return the text in one line, escaped, without characters that XML forbids."""
    plain = "".join(char if char.isprintable() else " " for char in text)
    shown = plain if len(plain) <= _MAX_LABEL else f"{plain[: _MAX_LABEL - 1]}…"
    return (
        f'<text x="{x:.1f}" y="{y:.1f}" font-size="{size}" text-anchor="{anchor}"'
        f' fill="#222222"{more}>{escape(shown)}</text>'
    )
