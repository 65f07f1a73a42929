"""What stands in place of a document is refused; what only speaks of such pages is kept."""

from __future__ import annotations

import re

import pytest

from collection_search.adapters.crawl.extract.blocking_pages import is_challenge_markup
from collection_search.adapters.crawl.extract.extracted import EmptyDocumentError
from collection_search.adapters.crawl.extract.formats import extract
from collection_search.testing.hostile_site.replies import MARKER, article
from collection_search.testing.hostile_site.stand_in_pages import CHALLENGES, DOCUMENTS, SCRIPTED

LONG = "Rivers bend and herons wait for the fish. " * 60


def reason_of(page: bytes) -> str:
    with pytest.raises(EmptyDocumentError) as caught:
        extract(page, "page.html")
    return caught.value.reason


@pytest.mark.parametrize("name", CHALLENGES)
def test_a_challenge_is_no_document(name: str) -> None:
    """Captchas, checks of the browser and requests for consent, in several languages."""
    assert reason_of(CHALLENGES[name]) == "challenge"


@pytest.mark.parametrize("name", SCRIPTED)
def test_a_page_that_a_script_would_fill_is_no_document(name: str) -> None:
    """With its notice or without one."""
    assert reason_of(SCRIPTED[name]) == "needs_javascript"


@pytest.mark.parametrize("name", DOCUMENTS)
def test_a_document_is_kept_without_banner_and_notice(name: str) -> None:
    """Its own text decides, whatever it speaks of and whatever stands around it."""
    text = re.sub(r"\s+", " ", extract(DOCUMENTS[name], "page.html").text)
    assert MARKER in text
    assert not re.search("cookies to improve|partners|akzeptieren|to run this app", text)


@pytest.mark.parametrize("name", [*CHALLENGES, *SCRIPTED])
def test_the_amount_of_other_text_decides(name: str) -> None:
    """The same markup and phrases in a long page are a part of a document."""
    page = {**CHALLENGES, **SCRIPTED}[name].replace(b"</body>", f"<p>{LONG}</p></body>".encode())
    assert "herons wait" in extract(page, "page.html").text


@pytest.mark.parametrize(
    "text",
    [
        "JavaScript is a language for programs in web pages, used by most of them.",
        "Just a moment in the life of a heron, seen from the bank at dawn.",
        "How to enable JavaScript: open the settings and set the switch to on.",
        "The access was denied to all ships until the spring of that year.",
        "Cookies taste best when they are warm. Bake them for ten minutes.",
        "A robot check in the factory takes one hour and needs two people.",
        "Cloudflare is a company. It operates a network in many countries.",
        "Loading docks of the old harbour, in the order of their building.",
        "404 herons were counted. The captcha was not needed for that.",
        "Consent of the owners is needed for a visit to the island.",
    ],
)
def test_a_short_page_may_speak_of_them(text: str) -> None:
    """Words such as these say nothing in themselves."""
    page = f"<html><head><title>Notes</title></head><body><p>{text}</p></body></html>"
    assert extract(page.encode(), "page.html").text == text


COOKIES = "Cookies are small files. Some cookies are set only after consent."
FIREFOX = "To enable JavaScript in Firefox, open about:config and set javascript.enabled to true."


@pytest.mark.parametrize(
    ("title", "body"),
    [
        ("Cookie policy", f"<p>{COOKIES}</p><button>OK</button>"),
        ("Cookie policy", f"<div><p>{COOKIES}</p><button>Accept all</button></div>"),
        ("Birds | Privacy", f"<p>{COOKIES}</p><button>OK</button>"),
        ("Was sind Cookies?", f"<p>{COOKIES}</p><a>Settings</a><button>OK</button>"),
        ("Captcha", "<p>A test that tells people from programs.</p>"),
        ("Enable JavaScript", f"<p>{FIREFOX}</p>"),
        ("Enable JavaScript", f"<p>{FIREFOX}</p><script>x</script>"),
        ("Hilfe", "<p>Um JavaScript in Chrome zu aktivieren, öffnen Sie die Einstellungen.</p>"),
        ("JavaScript", "<p>Most programs need JavaScript. Browsers run it.</p><script>x</script>"),
        ("Help", "<p>In Safari, open Settings and turn JavaScript on.</p><script>x</script>"),
    ],
)
def test_a_short_page_may_explain_them(title: str, body: str) -> None:
    """Its title names the subject, or it tells the steps; a button or a script changes nothing."""
    page = f"<html><head><title>{title}</title></head><body><h1>{title}</h1>{body}</body></html>"
    assert len(extract(page.encode(), "page.html").text) > len(title) + 20


@pytest.mark.parametrize(
    ("title", "body", "reason"),
    [
        ("Your privacy", f"<p>{COOKIES}</p><button>OK</button>", "challenge"),
        (
            "Privacy",
            f"<p>{COOKIES}</p><button>Reject</button><button>Accept</button>",
            "challenge",
        ),
        ("Cookie settings", f"<p>{COOKIES}</p><button>Accept all</button>", "challenge"),
        ("Captcha", "<p>Please type the letters of the picture below.</p>", "challenge"),
        ("Captcha", "<p>A test.</p><form class='captcha'><input name='n'></form>", "challenge"),
        ("JavaScript is disabled", "<p>Please enable JavaScript.</p>", "needs_javascript"),
        (
            "JavaScript",
            f"<p>This site needs JavaScript. {FIREFOX}</p><script>x</script>",
            "needs_javascript",
        ),
        ("Birds", "<p>To use this site, please enable JavaScript.</p>", "needs_javascript"),
    ],
)
def test_a_page_that_asks_explains_nothing(title: str, body: str, reason: str) -> None:
    """It speaks to its reader, of itself, or leaves a choice."""
    page = f"<html><head><title>{title}</title></head><body><h1>{title}</h1>{body}</body></html>"
    assert reason_of(page.encode()) == reason


def test_a_list_of_links_with_a_banner_is_kept() -> None:
    """Menus are not the only links."""
    links = "".join(f"<li><a href='/{n}'>The herons of the river {n}</a></li>" for n in range(9))
    banner = "<div><p>We use cookies.</p><button>Accept all</button></div>"
    page = f"<html><body><ul>{links}</ul>{banner}</body></html>"
    assert "river 8" in extract(page.encode(), "page.html").text


def test_the_messages_say_what_to_do() -> None:
    """They stand in the list of pages that were given up."""
    for page in (CHALLENGES["Cloudflare"], CHALLENGES["consent wall"], SCRIPTED["React app"]):
        with pytest.raises(EmptyDocumentError, match=r"stored of the page stays.*[Uu]se another"):
            extract(page, "page.html")


def test_only_a_challenge_makes_a_refusal_one() -> None:
    """A site may refuse those who are not signed in, in the same words."""
    challenges = [CHALLENGES[name].decode() for name in CHALLENGES if "consent" not in name]
    assert all(map(is_challenge_markup, challenges))
    for plain in (
        "",
        "<h1>Access Denied</h1><p>Sign in to see this page.",
        "<h1>403 Forbidden</h1><p>You don't have permission to access /a on this server.",
        "<title>Too many requests</title><p>Please wait.",
        article(),
    ):
        assert not is_challenge_markup(plain)


def test_marks_are_found_in_linear_time() -> None:
    """Endless repetitions of what a phrase begins with."""
    for piece in ("checking ", "a ", "enable javascript ", "<div id='root'>", "verify that you "):
        extract(f"<html><body><p>{MARKER}</p>{piece * 20_000}</body></html>".encode(), "page.html")
