"""The article of HTML pages, whether or not something names it."""

from __future__ import annotations

import pytest

from collection_search.adapters.crawl.extract.formats import extract
from collection_search.testing.hostile_site.replies import article

PROSE = "".join(
    f"<p>On day {n} the heron waits at the river for a fish, and a gull waits for the heron.</p>"
    for n in range(8)
)
LIST = "<ul><li> A file in <code>/tmp</code>.\n\n</li><li>A fish.</li></ul>"
MENU = "<ul><li><a href='/a'>All of our birds</a></li><li><a href='/b'>Buy a feeder</a></li></ul>"


def text_of(body: str) -> str:
    page = f"<!doctype html><html><head><title>Birds</title></head><body>{body}</body></html>"
    return extract(page.encode(), "page.html").text


@pytest.mark.parametrize("around", ["{}", "<div>{}</div>", "<div class='chapter'>{}</div>"])
def test_a_page_that_names_no_article_keeps_headings_and_lists(around: str) -> None:
    """Of a list only the code was left, and of the headings none."""
    text = text_of(around.format(f"<h2>3 Herons</h2>{PROSE}<h3>Places</h3>{LIST}"))
    assert text.startswith("## 3 Herons\nOn day 0 the heron waits")
    assert "\n### Places\n" in text
    assert "A file in /tmp.\n" in text
    assert "A fish." in text


def test_what_stands_beside_is_left_out_then_too() -> None:
    """Menus, notes at the side and the foot of the page."""
    beside = f"<nav>{MENU}</nav><aside>Buy our feeder for the winter.</aside>"
    foot = "<footer><p>All rights are with the club of the birds.</p></footer>"
    text = text_of(f"{beside}<h2>Herons</h2>{PROSE}{foot}")
    assert "## Herons" in text
    assert "feeder" not in text
    assert "rights" not in text


def test_a_small_part_of_the_page_is_not_its_article() -> None:
    """Although it has the name of one."""
    teaser = "<div class='post-content'><p>{}</p></div>".format("Read what the heron does. " * 12)
    text = text_of(f"{teaser}<div class='x1'><h2>The days</h2>{PROSE * 4}</div>")
    assert "## The days" in text
    assert "On day 7 the heron waits" in text


def test_an_article_is_all_that_is_read() -> None:
    """Where it has headings and is long enough."""
    page = article(more=f"<h2>Days</h2>{PROSE}")
    page = page.replace("</main>", "</main><div><h3>Shop</h3><p>Buy our feeder here.</p></div>")
    text = extract(page.encode(), "page.html").text
    assert "## Days" in text
    assert "feeder" not in text
