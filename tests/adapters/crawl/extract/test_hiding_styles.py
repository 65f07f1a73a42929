"""What styles hide is not read, and what they only seem to hide is."""

from __future__ import annotations

import time
from typing import Any

import pytest
from lxml import html

from collection_search.adapters.crawl.extract.formats import extract
from collection_search.adapters.crawl.extract.hiding_styles import hidden_by, styled_away
from collection_search.testing.hostile_site.replies import MARKER, article

PART = "<div class='a x' id='y'>secret</div>"


def tree_of(body: str, rules: str = "") -> Any:
    return html.document_fromstring(f"<html><head><style>{rules}</style></head><body>{body}")


@pytest.mark.parametrize(
    "style",
    [
        "opacity:0", "OPACITY: 0.0 !important", "opacity: 0%", "font-size:0", "font-size: 0px",
        "position:absolute; left:-9999px", "position: fixed; top: -999em",
        "position:absolute;clip:rect(0,0,0,0)", "position:absolute;clip:rect(1px 1px 1px 1px)",
        "clip-path: inset(50%)", "opacity:1;opacity:0",
    ],
)  # fmt: skip
def test_what_an_element_hides_by_its_own_style_is_not_read(style: str) -> None:
    part = f"<div style='{style}'><p>secret</p></div>"
    text = extract(article(more=part).encode(), "page.html").text
    assert "secret" not in text
    assert MARKER in text


@pytest.mark.parametrize(
    "part",
    [
        "<div style='opacity:0.5'>shown</div>",
        "<div style='opacity:0;opacity:1'>shown</div>",
        "<div style='fill-opacity:0'>shown</div>",
        "<div style='font-size:0.5em'>shown</div>",
        "<div style='font-size:0'><span style='font-size:16px'>shown</span></div>",
        "<div style='font-size:0'><span class='letters'>shown</span></div>",
        "<div style='left:-9999px'>shown</div>",
        "<div style='position:absolute;left:-20px'>shown</div>",
        "<div style='position:absolute;left:9999px'>shown</div>",
        "<div style='clip:rect(0,0,0,0)'>shown</div>",
        "<div style='position:absolute;clip:rect(0,80px,20px,0)'>shown</div>",
        "<div style='opacity:0;transform:translateY(20px)'>shown</div>",
        "<div style='opacity:0;-webkit-transition:all 1s'>shown</div>",
        "<div style='opacity:0' data-w-id='1'>shown</div>",
    ],
)
def test_what_is_seen_or_fades_in_is_read(part: str) -> None:
    """A script shows what has a transition; letters of size 0 may hold others."""
    assert list(styled_away(tree_of(part))) == []


@pytest.mark.parametrize(
    "rules",
    [
        ".x{display:none}", "#y { visibility : hidden }", "p, .z, .x { display: none !important }",
        "/* { */ .x{color:red;display:none}", ".x{opacity:0}", ".x{font-size:0}",
        ".x{position:absolute}.x{left:-9999px}", "a::after{content:'{'}.x{display:none}",
        ".x{display:none}.x p{display:block}", ".a{display:block}.x{display:none}",
        ".a{display:block}#y{display:none}.a{display:block}",
    ],
)  # fmt: skip
def test_what_a_rule_hides_is_not_read(rules: str) -> None:
    tree = tree_of(f"<p>seen</p>{PART}", rules)
    assert [one.get("id") for one in styled_away(tree)] == ["y"]
    page = article(head=f"<style>{rules}</style>", more=PART)
    assert "secret" not in extract(page.encode(), "page.html").text


@pytest.mark.parametrize(
    "rules",
    [
        ".xy{display:none}", "p .x{display:none}", "@media print{.x{display:none}}",
        "@media (max-width:9px){.x{display:none}}", ".x{display:none}.x{display:block}",
        ".x{display:none}.a{display:block}", ".x{display:none}.x.open{display:block}",
        ".x{display:none}.js .x{display:block}", ".x{display:none}.x:hover{display:block}",
        ".x{display:none}@media(min-width:9px){.a{display:block}}", "/* .x{display:none}",
        ".x{opacity:0;transition:opacity 1s}", ".x{display:none",
    ],
)  # fmt: skip
def test_what_a_rule_hides_only_sometimes_is_read(rules: str) -> None:
    """On paper, on small screens, or until a class or a pointer comes to it."""
    assert list(styled_away(tree_of(PART, rules))) == []


def test_names_with_marks_are_those_of_their_rules() -> None:
    """An element that is hidden on narrow screens alone has a class of this kind."""
    rules = r".hidden{display:none}@media(min-width:1px){.md\:block{display:block}}"
    shown, hidden = "<p class='hidden md:block'>a</p>", "<p class='hidden'>b</p>"
    assert [one.text for one in styled_away(tree_of(shown + hidden, rules))] == ["b"]


@pytest.mark.parametrize(
    "head",
    [
        "<style media='print'>.x{display:none}</style>",
        "<noscript><style>.x{display:none}</style></noscript>",
    ],
)
def test_rules_for_others_hide_nothing(head: str) -> None:
    """For a printer, or for a browser without scripts."""
    page = article(head=head, more="<p class='x'>shown to all who read it</p>")
    assert "shown to all" in extract(page.encode(), "page.html").text


def test_an_own_style_is_stronger_than_a_rule() -> None:
    part = "<p class='x' style='display:block'>shown</p>"
    assert list(styled_away(tree_of(part, ".x{display:none}"))) == []


@pytest.mark.parametrize(
    ("rules", "body"),
    [
        (".x{opacity:0}", "<div class='x'>{}</div>"),
        ("body{opacity:0}.x{display:none}", "<main class='x'>{}</main>"),
        (".x{display:none}", "<section class='x'>{0}</section><section class='x'>{0}</section>"),
    ],
)
def test_a_page_that_styles_hide_is_read(rules: str, body: str) -> None:
    """Whole, or most of its text in many parts: a script shows it when the page is loaded."""
    text = "<h2>Herons</h2><p>The heron waits in the shallow water, and strikes at dawn.</p>" * 4
    part = body.format(text)
    page = f"<html><head><style>{rules}</style></head><body><p>Menu</p>{part}</body></html>"
    assert "strikes at dawn" in extract(page.encode(), "page.html").text


def test_the_declaration_that_hides_is_told() -> None:
    assert hidden_by({"display": "none", "opacity": "0"}) == "display"
    assert hidden_by({"position": "fixed", "right": "-1000px"}) == "right"
    assert hidden_by({}) is None


@pytest.mark.slow
@pytest.mark.parametrize(
    "rules",
    [
        ".x{display:none}" * 60_000, "{" * 900_000, '"' * 900_000, "/*" * 450_000, "." * 900_000,
        ".x," * 300_000 + "{display:none}", "." + "x" * 900_000 + "{opacity:0}", "\\" * 900_000,
        "@media x{" * 90_000, ".x:" * 300_000 + "{opacity:1}", "x{;" * 300_000, "'\"{" * 300_000,
    ],
)  # fmt: skip
def test_rules_are_read_in_linear_time(rules: str) -> None:
    start = time.process_time()
    list(styled_away(tree_of(PART * 1_000, rules)))
    assert time.process_time() - start < 20
