"""Parts of HTML articles that are easily taken for something else."""

from __future__ import annotations

import pytest

from collection_search.adapters.crawl.extract.formats import extract
from collection_search.testing.hostile_site.replies import article

LONG = "The delivery of a feeder takes three days in all of the country, and a week elsewhere in Europe."


PROSE = "".join(f"<p>{n}. {LONG}</p>" for n in range(9))


def text_of(part: str) -> str:
    """Return the text of a page with so much prose that nothing else is needed for an article."""
    return extract(article(more=f"{part}{PROSE}").encode(), "page.html").text


@pytest.mark.parametrize(
    ("part", "expected"),
    [
        ("<p>It opened on <time>2 May</time> at noon.</p>", "It opened on 2 May at noon."),
        ("<ul><li><time>1999</time>: it began.</li></ul>", "- 1999: it began."),
        ("<ul><li><label><input type='checkbox'> Buy milk</label></li></ul>", "- Buy milk"),
        ("<p>Here <math><mi>x</mi> <mo>=</mo><mn>5</mn></math> holds.</p>", "Here x=5 holds."),
        ("<p>Here <math alttext='x^2'><mi>x</mi></math> holds.</p>", r"Here \(x^2\) holds."),
        ("<p>It is <output>5</output> metres.</p>", "It is 5 metres."),
        (
            "<p>Call <a href='tel:+49'>0123 456</a> or <a href='mailto:a@b.test'>a@b.test</a>.</p>",
            "Call 0123 456 or a@b.test.",
        ),
    ],
)
def test_words_of_a_sentence_stay(part: str, expected: str) -> None:
    """Whatever element holds them."""
    assert expected in text_of(part).splitlines()


def test_a_heading_may_be_a_button() -> None:
    """It opens the part below it."""
    part = f"<h2><button type='button'>How long does it take?</button></h2><div>{LONG}</div>"
    assert f"## How long does it take?\n{LONG}" in text_of(part)


@pytest.mark.parametrize(
    "heading",
    [
        "<h3>Use<a class='headerlink' href='#use'>#</a></h3>",
        "<h3><a class='doc-anchor' href='#use'>§</a>Use</h3>",
        "<h3>Use<span class='mw-editsection'>[<a href='/edit?1'>edit</a>]</span></h3>",
    ],
)
def test_a_heading_has_no_link_to_itself(heading: str) -> None:
    """Nor to the editor of a wiki."""
    assert "\n### Use\nIt waits." in text_of(f"{heading}<p>It waits.</p>")


def test_a_short_section_with_such_a_link_stays() -> None:
    """By its links it looked like a menu."""
    sign = "<a class='doc-anchor' href='#examples'>§</a>"
    block = f"<div class='docblock'><p>Makes a nest.</p><h5 id='examples'>{sign}Examples</h5>"
    text = text_of(f"<h4>fn new()</h4>{block}<div><pre>nest = new()</pre></div></div>")
    assert "#### fn new()\nMakes a nest.\n\n##### Examples\nnest = new()" in text


def test_a_link_to_another_page_is_the_heading() -> None:
    """And so is a sign that is all of it."""
    assert "### Nests" in text_of("<h3><a href='/nests'>Nests</a></h3><p>They lie high.</p>")


@pytest.mark.parametrize(
    "aside",
    ["aside class='footnote brackets'", "aside role='note'", "aside class='admonition tip'"],
)
def test_notes_of_an_article_stay(aside: str) -> None:
    """Where they stand in it."""
    assert "Only for feeders before 1999." in text_of(
        f"<{aside}><p>Only for feeders before 1999.</p></aside>"
    )


@pytest.mark.parametrize("aside", ["aside", "aside class='sidebar note-list'"])
def test_other_asides_are_left_out(aside: str) -> None:
    """They stand beside the article."""
    assert "feeders" not in text_of(f"<{aside}><p>More on feeders before 1999.</p></aside>")


def test_a_note_beside_the_article_is_left_out() -> None:
    """As all that stands there."""
    page = article().replace(
        "</main>", "</main><aside class='note'><p>Buy our feeders.</p></aside>"
    )
    assert "feeders" not in extract(page.encode(), "page.html").text


def test_a_paragraph_may_be_a_div() -> None:
    """A short one is a label."""
    text = text_of(f"<div>{LONG} <b>Always.</b></div><div>Share</div>")
    assert f"{LONG} Always." in text
    assert "Share" not in text
