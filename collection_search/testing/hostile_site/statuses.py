"""Statuses, and pages that say less than they seem to."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from .case import Case, page_case
from .replies import MARKER, PAGE, SiteReply, article

if TYPE_CHECKING:
    from collections.abc import Iterator

    from .case import CaseOutcome

_STATUSES: Final[dict[int, CaseOutcome]] = {
    400: "http_error",
    401: "needs_login",
    402: "http_error",
    403: "needs_login",
    404: "gone",
    405: "http_error",
    410: "gone",
    418: "http_error",
    451: "http_error",
    500: "http_error",
    502: "http_error",
    504: "http_error",
    204: "empty",
    206: "http_error",
    999: "http_error",
}
_WAITS: Final = {
    "seconds": "120",
    "a date": "Wed, 21 Oct 2099 07:28:00 GMT",
    "a date long ago": "Wed, 21 Oct 2015 07:28:00 GMT",
    "words": "soon",
    "a negative number": "-5",
    "a fraction": "1.5",
    "a year": "31536000",
    "endless digits": "9" * 400,
    "other digits": "\u00b2",
    "nothing": "",
}
_ETAG: Final = {"ETag": '"heron-1"', "Last-Modified": "Wed, 21 Oct 2015 07:28:00 GMT"}
_LOGIN: Final = """<!doctype html><html><head><title>Sign in</title></head><body>
<h1>Sign in</h1><form><input name="user"><input type="password" name="password"></form></body>
</html>"""
_NOT_FREE: Final = """<script type="application/ld+json">
{"@type": "NewsArticle", "isAccessibleForFree": false}</script>"""


def _short(title: str, text: str, head: str = "") -> bytes:
    return (
        f"<html><head><title>{title}</title>{head}</head><body><p>{text}</p></body></html>".encode()
    )


def _statuses() -> Iterator[Case]:
    for status, outcome in _STATUSES.items():
        body = b"" if status == 204 else PAGE  # noqa: PLR2004
        yield page_case(
            f"status {status}", "a status and a page", outcome, SiteReply(body, status=status)
        )
    for form, wait in _WAITS.items():
        for status in (429, 503):
            headers = {"Retry-After": wait.encode().decode("latin-1")}
            yield page_case(
                f"{status}, Retry-After {form}",
                f"Retry-After: {wait[:40]}",
                "rate_limited",
                SiteReply(PAGE, status=status, headers=headers),
            )


def _known() -> Iterator[Case]:
    same = SiteReply(status=304, kind=None, headers=_ETAG)
    bare = SiteReply(status=304, kind=None)
    changed = {"ETag": '"heron-2"'}
    yield Case(
        "unchanged",
        "304 for who knows the page",
        "not_modified",
        {"/page": SiteReply(PAGE, if_known=same)},
        known=True,
    )
    yield Case(
        "unchanged, no validators",
        "a bare 304",
        "not_modified",
        {"/page": SiteReply(PAGE, if_known=bare)},
        known=True,
    )
    yield Case(
        "changed",
        "a new page for who knows the old one",
        "read",
        {"/page": SiteReply(PAGE, headers=changed)},
        known=True,
    )
    yield page_case("304 unasked", "304 to who knows nothing", "http_error", same)
    yield page_case(
        "304 with a page",
        "304 to who knows nothing, and a body",
        "bad_response",
        SiteReply(PAGE, status=304),
    )
    yield page_case(
        "odd validators",
        "an ETag of 100 KB and a date of words",
        "read",
        SiteReply(PAGE, headers={"ETag": '"' + "x" * 6_000 + '"', "Last-Modified": "never"}),
    )


def _contents() -> Iterator[Case]:
    refresh = '<meta http-equiv="refresh" content="0;url=http://127.0.0.1:{}/">'
    canonical = '<link rel="canonical" href="https://elsewhere.example/stolen">'
    yield page_case("nothing", "an empty body", "empty", SiteReply())
    yield page_case("blanks", "blanks alone", "empty", SiteReply(b" \n\t " * 99))
    yield page_case(
        "pictures alone", "no words", "empty", SiteReply(b"<html><body><img src='a'></body></html>")
    )
    yield page_case(
        "scripts alone",
        "a page that a browser would build",
        "empty",
        SiteReply(b"<html><body><div id='root'></div><script>build()</script></body></html>"),
    )
    yield page_case(
        "meta refresh",
        "sends browsers inward; not followed",
        "empty",
        SiteReply(f"<html><head>{refresh.format(1)}</head><body></body></html>".encode()),
    )
    yield page_case(
        "canonical elsewhere",
        "claims to be another site's page",
        "read",
        SiteReply(article(head=canonical).encode()),
    )
    yield page_case(
        "frames",
        "the text is in a frame that is not followed",
        "empty",
        SiteReply(b"<html><body><iframe src='http://127.0.0.1:1/'></iframe></body></html>"),
    )
    yield page_case(
        "base elsewhere",
        "a base address inside",
        "read",
        SiteReply(article(head='<base href="http://127.0.0.1:1/">').encode()),
    )
    yield page_case(
        "soft 404",
        "'not found' with status 200",
        "soft_404",
        SiteReply(_short("Page not found", "Sorry, the page you are looking for does not exist.")),
    )
    yield page_case(
        "soft 404 in German",
        "'nicht gefunden' with status 200",
        "soft_404",
        SiteReply(_short("Seite nicht gefunden", "Die gesuchte Seite gibt es leider nicht.")),
    )
    yield page_case(
        "about 404",
        "an article about the status",
        "read",
        SiteReply(
            article(
                title="404 Not Found: what it means", more=f"<p>{'Rivers bend. ' * 90}</p>"
            ).encode()
        ),
    )
    yield page_case(
        "paywall",
        "the beginning of an article",
        "paywalled",
        SiteReply(_short("Herons", f"{MARKER}. Subscribe to continue reading.")),
    )
    yield page_case(
        "paywall in data",
        "says that it is not free, and shows little",
        "paywalled",
        SiteReply(_short("Herons", f"{MARKER} and then", _NOT_FREE)),
    )
    yield page_case("login", "a form with status 200", "needs_login", SiteReply(_LOGIN.encode()))


def cases() -> tuple[Case, ...]:
    """Return the cases of statuses and contents."""
    return (*_statuses(), *_known(), *_contents())
