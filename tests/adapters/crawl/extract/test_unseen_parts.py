"""What no reader of a page sees, and what only asks for consent, is no text of it."""

from __future__ import annotations

from typing import Any

import pytest
from lxml import html

from collection_search.adapters.crawl.extract.formats import extract
from collection_search.adapters.crawl.extract.html_lines import html_lines
from collection_search.adapters.crawl.extract.unseen_parts import remove_unseen
from collection_search.testing.hostile_site.replies import MARKER, article


def tree_of(body: str) -> Any:
    return html.document_fromstring(f"<html><body>{body}</body></html>")


def seen(body: str) -> str:
    tree = tree_of(body)
    remove_unseen(tree)
    return html_lines(tree)


@pytest.mark.parametrize(
    "unseen",
    [
        "<p hidden>secret</p>",
        "<div hidden=''><p>secret</p></div>",
        "<p style='display:none'>secret</p>",
        "<p style='COLOR: red; Display : none !important'>secret</p>",
        "<p style='visibility: hidden'>secret</p>",
        "<div style='display:none'><h2>secret</h2><p>secret</p></div>",
        "<template><p>secret</p></template>",
        "<noscript><p>secret</p></noscript>",
    ],
)
def test_hidden_text_is_not_read(unseen: str) -> None:
    """Neither beside an article nor on a page that has none."""
    assert seen(f"<p>before {unseen} after</p>").split() == ["before", "after"]
    for page in (article(more=unseen), f"<html><p>{MARKER}</p>{unseen}"):
        assert "secret" not in extract(page.encode(), "page.html").text


@pytest.mark.parametrize(
    "shown",
    [
        "<p hidden='until-found'>shown</p>",
        "<p aria-hidden='false'>shown</p>",
        "<p style='display: block; overflow: hidden'>shown</p>",
        "<div style='visibility:hidden'><main>shown</main></div>",
        "<main aria-hidden='true'>shown</main>",
        "<p aria-hidden='true'>shown</p>",
        "<div style='visibility:hidden'><article>shown</article></div>",
        "<div style='opacity:0'><article>shown</article></div>",
        "<div style='display:none'><div><h1>shown</h1></div></div>",
    ],
)
def test_what_a_reader_can_see_is_read(shown: str) -> None:
    """A script shows the main text of a page when it is loaded."""
    assert seen(shown) == "shown"


LONG = "The heron waits in the shallow water, and strikes at dawn. " * 30


@pytest.mark.parametrize(
    "wrapper",
    [
        "<div aria-hidden='true'>{}</div><div role='dialog'>Newsletter: subscribe</div>",
        "<div style='visibility:hidden'>{}</div><div>Newsletter: subscribe</div>",
        "<div style='opacity: 0'>{}</div>",
        "<div hidden>{}</div>",
        "<my-app><template shadowrootmode='open'>{}</template></my-app>",
    ],
)
@pytest.mark.parametrize("tag", ["article", "div"])
def test_the_text_of_a_page_is_read_from_its_wrapper(wrapper: str, tag: str) -> None:
    """Wrappers that a script shows, that screen readers skip, and shadow roots in the markup."""
    body = wrapper.format(f"<{tag}><h2>Herons</h2><p>{LONG}</p></{tag}>")
    page = f"<html><head><title>Herons</title><script>x</script></head><body>{body}</body></html>"
    assert extract(page.encode(), "page.html").text.count("strikes at dawn") == 30


def test_hidden_parts_beside_the_text_are_not_read() -> None:
    """Dialogs have headings too, and templates may hold whole articles."""
    for hidden in (
        "<div style='display:none'><h1>secret</h1><p>secret</p></div>",
        "<div hidden><article>secret</article></div>",
        "<template><article>secret</article></template>",
    ):
        page = article(more=f"{hidden}<article>{LONG}</article><h1>Herons</h1>")
        assert "secret" not in extract(page.encode(), "page.html").text


def test_a_formula_is_read_once() -> None:
    """Its picture in letters is hidden from screen readers, which read the formula itself."""
    formula = "<span><math><mi>r</mi></math></span><span aria-hidden='true'>r</span>"
    assert seen(f"<p>The radius is {formula}.</p>").split() == ["The", "radius", "is", "r", "."]


def test_a_formula_behind_its_picture_is_read() -> None:
    """Wikipedia hides it from all but screen readers."""
    hidden = "<span style='display: none'><math><mi>r</mi></math></span>"
    shown = seen(f"<p>The radius is <b>{hidden}<img src='r.svg'></b>.</p>")
    assert shown.split() == ["The", "radius", "is", "r", "."]
    assert seen(f"<p>The radius is <b>{hidden}</b>.</p>") == "The radius is ."
    other = hidden.replace("<math>", "<i>Buy</i><math>")
    assert "Buy" not in seen(f"<p>The radius is <b>{other}<img src='r.svg'></b>.</p>")


BANNERS = (
    "<div id='onetrust-banner-sdk'>We use cookies.<button>Accept All Cookies</button></div>",
    "<section class='cookie-notice'><p>This site uses cookies.</p><button>OK</button></section>",
    "<div role='dialog' aria-label='Cookie banner'><p>Cookies help us.</p><a>Got it!</a></div>",
    "<div><p>Wir nutzen Cookies.</p><div><button>Alle akzeptieren</button></div></div>",
    "<div><p>Nous utilisons des cookies.</p><button>Tout accepter</button></div>",
    "<div><p>Usamos cookies propias.</p><button>Aceptar todas</button></div>",
    "<form><p>Your privacy: we ask for consent.</p><input type='submit' value='I agree'></form>",
)


@pytest.mark.parametrize("banner", BANNERS)
def test_a_request_for_consent_is_removed(banner: str) -> None:
    """By the name of its element, or by its button and what it says."""
    tree = tree_of(f"<p>The heron waits.</p>{banner}<p>It is dawn.</p>")
    assert remove_unseen(tree)
    assert html_lines(tree) == "The heron waits.\nIt is dawn."


@pytest.mark.parametrize(
    "text",
    [
        "<div class='cookie-recipe'><p>Bake the cookies.</p><a href='/'>Print</a></div>",
        "<div class='cookie-consent-on'><h1>Herons</h1><p>They wade.</p></div>",
        "<div><p>Herons wade in shallow water.</p><p>They eat fish.</p><button>OK</button></div>",
        "<article><p>A cookie is set after consent.</p><button>Accept</button></article>",
        "<div id='privacy'><p>The law on privacy was passed in 1983.</p></div>",
    ],
)
def test_other_parts_stay(text: str) -> None:
    """A name, a button or a word alone makes no request."""
    assert seen(text) == html_lines(tree_of(text))
