"""Pages that hold a notice in place of a text, and documents that speak of one."""

from __future__ import annotations

import pytest

from collection_search.adapters.crawl.extract.extracted import Extracted
from collection_search.adapters.crawl.extract.formats import extract
from collection_search.adapters.crawl.notices import check_content

LONG = "Rivers bend and herons wait. " * 150
STEPS = " ".join(f"Step {n}: press the button and wait for the green light." for n in range(10))


@pytest.mark.parametrize(
    ("title", "text"),
    [
        ("Page not found", "Try the search."),
        ("404", "nginx"),
        ("404 Not Found", "nginx/1.25"),
        ("Error 404 | Birds", "Sorry."),
        ("Birds", "404\nPage not found\nHome"),
        ("Seite nicht gefunden \u2013 Vögel", "Zur Startseite"),
        ("Vögel", "Die gesuchte Seite gibt es leider nicht."),
        ("Oiseaux", "Page introuvable\nAccueil"),
        ("410 Gone", "It was here."),
        ("Birds", "The page you are looking for has been moved or deleted."),
        ("Birds", "The requested URL was not found on this server."),
        ("Not Found", "# Not Found\n\nThe requested resource was not found on this server."),
        ("404: This page could not be found.", "# 404\n\nThis page could not be found."),
        (
            "Error 404 (Not Found)!!1",
            (
                "404. That\u2019s an error.\n\nThe requested URL /herons.html was not found on this"
                " server. That\u2019s all we know."
            ),
        ),
        (
            "Page not found \u2013 Bird blog",
            (
                "# Oops! That page can\u2019t be found.\n\nIt looks like nothing was found at this"
                " location. Maybe try one of the links below or a search?\n\nRecent posts\n\nHow herons"
                " fish\nGulls in the harbour\nFeeding in winter\nArchives\nMay 2024\nApril 2024"
            ),
        ),
        (
            "Bird Shop",
            (
                "# Page not found\n\nThe page you requested may have been moved or deleted. Please check"
                " the address or go to our home page. If you need help, contact us."
            ),
        ),
        (
            "404 - Birds",
            (
                "# 404\n\nWe're sorry, but the page you were looking for doesn't exist. It may have been"
                " moved. Return to the home page."
            ),
        ),
        ("Birds", "Sorry, we couldn't find the page you asked for. Go back to the home page."),
        ("Birds", "This page no longer exists.\nHome\nContact"),
        (
            "Product not found",
            "This product does not exist any more. Back to the shop's home page.",
        ),
        (
            "Fehler 404 - Stadt Oslo",
            (
                "# Seite nicht gefunden\n\nDie von Ihnen aufgerufene Seite konnte leider nicht gefunden"
                " werden. Möglicherweise wurde sie verschoben oder gelöscht. Bitte nutzen Sie die Suche"
                " oder gehen Sie zurück zur Startseite."
            ),
        ),
        ("Stadt Oslo", "# Hoppla!\n\nDiese Seite existiert leider nicht mehr.\n\nZur Startseite"),
        ("Laden", "Artikel nicht gefunden\nWir konnten die gewünschte Seite nicht finden."),
    ],
)
def test_a_page_that_only_says_it_is_missing(title: str, text: str) -> None:
    assert check_content(Extracted(title, text)) == "soft_404"


@pytest.mark.parametrize(
    ("title", "text"),
    [
        ("FileNotFoundError", "Raised when a file is requested but does not exist."),
        ("Module not found in Python: how to mend it", "Install it."),
        ("404 Not Found: what it means", LONG),
        ("Route 404", "A road along the coast."),
        ("Peugeot 404", "A car."),
        ("!", "..."),
        ("Herons", "They could not be found in winter."),
        ("Subscribing", f"{LONG} Subscribe to continue reading our letters."),
        ("Accounts", "How to store a password."),
        (
            "Heron feeder | Bird Shop",
            "# Heron feeder\n\nPrice: 24.90 EUR\n\nDelivery: not available",
        ),
        (
            "Heron feeder",
            "# Heron feeder\n\nNot available\n\nA steel feeder for ponds, with a lid.",
        ),
        ("Fischreiher", "# Fischreiher\n\nArtikel nicht verfügbar\n\nEin Futterspender aus Stahl."),
        (
            "Wanderweg 7",
            "Länge: 12 km\n\nEinkehr: nicht vorhanden\n\nDer Weg führt am See entlang.",
        ),
        ("Gone (song) - Music wiki", "# Gone\n\nGone is a song from 1994, recorded in Bergen."),
        ("404 - area codes", "Area code of Atlanta, Georgia, in use since 1947."),
        (
            "GET /pages/{id}",
            (
                "# GET /pages/{id}\n\nReturns a page of the wiki by its number, with title and body."
                " Returns 404 when the requested page does not exist."
            ),
        ),
        ("HTTP", "# Client errors\n\n403\nForbidden\n404\nNot Found\n410\nGone"),
        (
            "404 Not Found - HTTP | MDN",
            (
                "# 404 Not Found\n\nThe HTTP 404 Not Found client error response status code indicates"
                " that the server cannot find the requested resource. Links that lead to a 404 page are"
                " often called broken or dead links."
            ),
        ),
        (
            "Status",
            (
                "# 410 Gone\n\nThe HTTP 410 Gone status says that a resource was removed on purpose and"
                " does not come back. Clients should drop links to it."
            ),
        ),
        (
            "404 Not Found | Orders API",
            (
                "# 404 Not Found\n\nYou get this error when the number of the order is unknown. Check"
                " the number and send the request again."
            ),
        ),
        (
            "404 error | Glossary",
            (
                "A 404 error says that a page does not exist on the server. Search engines drop such"
                " pages after some time. Broken links cost visitors."
            ),
        ),
        (
            "urlopen",
            (
                "# urlopen(url)\n\nOpens the URL. The requested URL is not encoded by this function:"
                " quote it first."
            ),
        ),
        (
            "NotFoundError",
            (
                "# NotFoundError\n\nFile not found\n\nRaised when the file of a heron record is missing."
                " Catch it and create the file."
            ),
        ),
        ("Exceptions", "# Exceptions\n\nDocument not found\n\nBoth inherit from StoreError."),
        (
            "Broken links",
            "# Broken links\n\nIf the page a visitor is looking for has moved, redirect it with 301.",
        ),
        ("Streets", "# Streets\n\nThe address requested most in 1911 was Storgata 1."),
    ],
)
def test_pages_about_missing_things_are_not_missing(title: str, text: str) -> None:
    assert check_content(Extracted(title, text, not_free=len(text) > 3_000)) is None


def test_a_changed_word_in_a_shop_is_no_missing_page() -> None:
    """As the page is extracted."""
    page = """<html><head><title>Heron feeder 12 l</title></head><body><main>
        <h1>Heron feeder 12 l</h1><p>Price: 24.90 EUR</p><p>Delivery: not available</p>
        <p>A sturdy steel feeder for ponds with a lid and a hook.</p></main></body></html>"""
    assert check_content(extract(page.encode(), "page.html", None)) is None


@pytest.mark.parametrize(
    "text",
    [
        "They wade. Subscribe to continue reading.",
        "They wade. Log in or register to read the full story.",
        "They wade. This article is for subscribers only.",
        "They wade. Already a subscriber?",
        "Sie waten. Jetzt weiterlesen mit einem Abo.",
        "Sie waten. Nur für Abonnenten.",
        "They wade. Log in to read on.",
        "They wade.\n\nSubscribe to continue\n\nFrom 1 EUR a month. Cancel at any time.",
        "They wade.\n\nSign up now to read the rest of this article\n\nLog in\nImprint",
        "They wade. This content is reserved for our paying members.",
        "Sie waten.\n\nDieser Artikel ist nur für Abonnenten verfügbar.\n\nAb 1 EUR im Monat.",
        "Sie waten. Weiterlesen mit SPATZ plus",
    ],
)
def test_a_teaser_is_no_article(text: str) -> None:
    assert check_content(Extracted("Herons", text)) == "paywalled"


@pytest.mark.parametrize(
    "text",
    [
        "Sign in to the AWS Management Console to view your buckets.",
        "Sign in to the Azure portal to access the resource group.",
        "Log in to the server to access the database shell.",
        "Register a callback to read the socket when data arrives.",
        "Users sign up with an e-mail address to access the dashboard.",
        "Nur für Abonnenten des Kanals wird das Ereignis ausgelöst.",
        "Subscribe to a topic to read its messages.",
        "Subscribe to a topic to continue.",
        "This article is for members of the committee.",
        "Become a paying member at any meeting.",
        "Jetzt lesen mit Abo: so kündigen Sie es.",
    ],
)
def test_documents_speak_of_logins_and_subscriptions(text: str) -> None:
    """At their end, at their beginning and alone."""
    for page in (f"# Guide\n\n{text} {STEPS}", f"# Guide\n\n{STEPS} {text}", f"# Guide\n\n{text}"):
        assert check_content(Extracted("Guide", page)) is None


def test_an_offer_stands_at_the_end_of_a_teaser() -> None:
    """What follows it on a page that says more is the text itself."""
    text = f"Subscribe to continue reading. {STEPS}"
    assert check_content(Extracted("Words of offers", text)) is None


def test_a_login_form_is_no_page() -> None:
    assert check_content(Extracted("Sign in", "Sign in", asks_password=True)) == "needs_login"
    assert check_content(Extracted("Herons", "They wade.", asks_password=True)) is None
