"""All lines of a page, for those without an article."""

from __future__ import annotations

import time

import pytest
from lxml import html

from collection_search.adapters.crawl.extract.formats import extract
from collection_search.adapters.crawl.extract.html_lines import html_lines

CODE = """<html><body><p>Use it so:</p><pre><code>def wait():
    if fish:
\tstrike()

    return</code></pre><p>Done.</p></body></html>"""


def lines(body: str) -> list[str]:
    return html_lines(html.document_fromstring(f"<html><body>{body}</body></html>")).splitlines()


def test_code_keeps_lines_and_indentation() -> None:
    """A short page has no article, so that all of its lines are read."""
    assert extract(CODE.encode(), "page.html").text == (
        "Use it so:\ndef wait():\n    if fish:\n    strike()\n\n    return\nDone."
    )


@pytest.mark.parametrize(
    "code",
    [
        "if x:<br>  y()<br>z()",
        "<div>if x:</div><div>  y()</div><div>z()</div>",
        "<span>if x:<br></span><span>  y()<br></span>z()<br>",
    ],
)
def test_each_line_of_code_is_one(code: str) -> None:
    """Also where elements end them: they make no empty lines."""
    assert lines(f"<p>a</p><pre>{code}</pre><p>b</p>") == ["a", "if x:", "  y()", "z()", "b"]


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        ("<p>one <b>two</b>\n three</p><p>four</p>", ["one two three", "four"]),
        ("<div>one<div>two</div>three</div>", ["one", "two", "three"]),
        ("one<br>two<!-- no -->three", ["one", "twothree"]),
        ("<ul><li>one<ul><li>two</li></ul></li></ul>", ["one", "two"]),
        ("a<script>b</script>c<style>d</style>e", ["ace"]),
        ("<h1> Title </h1>text", ["Title", "text"]),
        ("x<sub>2</sub>&nbsp; y", ["x2 y"]),
    ],
)
def test_blocks_are_lines(body: str, expected: list[str]) -> None:
    """Words of different blocks do not run together, and words of one block stay together."""
    assert lines(body) == expected


def test_a_table_has_columns() -> None:
    """Its header is followed by a rule; a cell is one line."""
    rows = "<tr><th>Ship</th><th>Year</th></tr><tr><td>Vasa<br>(new)</td><td>1628</td></tr>"
    expected = ["| Ship | Year |", "|---|---|", "| Vasa (new) | 1628 |"]
    assert lines(f"<table>{rows}</table>") == expected


def test_a_table_for_the_layout_has_none() -> None:
    """It holds other tables, says so, or has one cell a row."""
    inner = "<table><tr><td>b</td><td>c</td></tr></table>"
    assert lines(f"<table><tr><td>a</td><td>{inner}</td></tr></table>") == ["a", "| b | c |"]
    assert lines("<table role='presentation'><tr><td>a</td><td>b</td></tr></table>") == ["a", "b"]
    assert lines("<table><tr><td>a</td></tr><tr><td>b</td></tr></table>") == ["a", "b"]


@pytest.mark.slow
def test_hostile_pages_are_read_in_linear_time() -> None:
    """Deep, wide and broken markup."""
    start = time.process_time()
    for piece in ("<div>", "<table><tr><td>", "<pre>\n", "<b>x", "<td>x</td>", "<!---->"):
        tree = html.document_fromstring(f"<html><body>x{piece * 50_000}</body></html>")
        html_lines(tree)
    assert time.process_time() - start < 10


def test_a_text_may_end_once_it_is_long_enough() -> None:
    """What is longer says so; what is not is whole."""
    tree = html.fromstring("<div>" + "<p>Some words.</p>" * 1_000 + "</div>")
    whole = html_lines(tree)
    assert 50 < len(html_lines(tree, enough=50)) < len(whole)
    assert html_lines(tree, enough=len(whole)) == whole


def test_blanks_within_a_line_are_joined_once() -> None:
    """Wherever they stand: between elements, in a cell, in code within a cell."""
    tree = html.fromstring(
        "<div>a \n<b> b</b>\xa0 c<table><tr><td>x <pre>y\n  z</pre></td><td>|\n</td></tr></table></div>"
    )
    assert html_lines(tree) == "a b c\n| x y z | | |"
