"""Statuses, and pages with less text than they promise."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from .case import page_case, page_cases
from .replies import MARKER, PAGE, SiteReply, article

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from .case import Case, CaseOutcome

_STATUSES: Final[Mapping[CaseOutcome, tuple[int, ...]]] = {
    "http_error": (206, 400, 402, 405, 418, 451, 500, 502, 504, 999),
    "needs_login": (401, 403),
    "gone": (404, 410),
    "empty": (204,),
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


def _text(text: str) -> SiteReply:
    return SiteReply(text.encode())


def _html(body: str, head: str = "") -> SiteReply:
    return _text(f"<html><head>{head}</head><body>{body}</body></html>")


def _short(title: str, text: str, head: str = "") -> SiteReply:
    return _html(f"<p>{text}</p>", f"<title>{title}</title>{head}")


def _statuses() -> Iterator[Case]:
    for outcome, statuses in _STATUSES.items():
        for status in statuses:
            reply = SiteReply(b"" if outcome == "empty" else PAGE, status=status)
            yield page_case(f"status {status}", "a status and a page", outcome, reply)
    for form, wait in _WAITS.items():
        headers = {"Retry-After": wait.encode().decode("latin-1")}
        for status in (429, 503):
            reply = SiteReply(PAGE, status=status, headers=headers)
            name, does = f"{status}, Retry-After {form}", f"Retry-After: {wait[:40]}"
            yield page_case(name, does, "rate_limited", reply)


def _known() -> Iterator[Case]:
    same = SiteReply(status=304, kind=None, headers=_ETAG)
    bare = SiteReply(status=304, kind=None)
    unchanged = {
        "unchanged": ("304 for who knows the page", SiteReply(PAGE, if_known=same)),
        "unchanged, no validators": ("a bare 304", SiteReply(PAGE, if_known=bare)),
    }
    changed = SiteReply(PAGE, headers={"ETag": '"heron-2"'})
    odd = {"ETag": '"' + "x" * 6_000 + '"', "Last-Modified": "never"}
    does = "304 to who knows nothing, and a body"
    yield from page_cases("not_modified", unchanged, known=True)
    yield page_case("changed", "a new page for who knows the old one", "read", changed, known=True)
    yield page_case("304 unasked", "304 to who knows nothing", "http_error", same)
    yield page_case("304 with a page", does, "bad_response", SiteReply(PAGE, status=304))
    does = "an ETag of 100 KB and a date of words"
    yield page_case("odd validators", does, "read", SiteReply(PAGE, headers=odd))


def _empty() -> Iterator[Case]:
    refresh = '<meta http-equiv="refresh" content="0;url=http://127.0.0.1:1/">'
    frame = _html("<iframe src='http://127.0.0.1:1/'></iframe>")
    pages = {
        "nothing": ("an empty body", SiteReply()),
        "blanks": ("blanks alone", SiteReply(b" \n\t " * 99)),
        "pictures alone": ("no words", _html("<img src='a'>")),
        "meta refresh": ("sends browsers inward; not followed", _html("", refresh)),
        "frames": ("the text is in a frame that is not followed", frame),
    }
    yield from page_cases("empty", pages)


def _contents() -> Iterator[Case]:
    canonical = article(head='<link rel="canonical" href="https://elsewhere.example/stolen">')
    base = article(head='<base href="http://127.0.0.1:1/">')
    about = article(title="404 Not Found: what it means", more=f"<p>{'Rivers bend. ' * 90}</p>")
    lost = _short("Page not found", "Sorry, the page you are looking for does not exist.")
    verloren = _short("Seite nicht gefunden", "Die gesuchte Seite gibt es leider nicht.")
    shop = _short("Heron feeder", f"{MARKER}.</p><p>Delivery: not available</p><p>12 litres")
    console = _short("Buckets", f"{MARKER}. Sign in to the console to view your buckets.")
    moved = _short(
        "404 - Birds", "We're sorry, but the page you requested has been moved. Go home."
    )
    paywall = _short("Herons", f"{MARKER}. Subscribe to continue reading.")
    in_data = _short("Herons", f"{MARKER} and then", _NOT_FREE)
    pages: Mapping[CaseOutcome, Mapping[str, tuple[str, SiteReply]]] = {
        "read": {
            "canonical elsewhere": ("claims to be another site's page", _text(canonical)),
            "base elsewhere": ("a base address inside", _text(base)),
            "about 404": ("an article about the status", _text(about)),
            "shop": ("a short page with the words 'not available'", shop),
            "sign in": ("a short page that tells where to sign in", console),
        },
        "soft_404": {
            "soft 404": ("'not found' with status 200", lost),
            "soft 404 with a number": ("'404' with status 200", moved),
            "soft 404 in German": ("'nicht gefunden' with status 200", verloren),
        },
        "paywalled": {
            "paywall": ("the beginning of an article", paywall),
            "paywall in data": ("says that it is not free, and shows little", in_data),
        },
        "needs_login": {"login": ("a form with status 200", _text(_LOGIN))},
    }
    for outcome, group in pages.items():
        yield from page_cases(outcome, group)


def cases() -> tuple[Case, ...]:
    """Return the cases of statuses and contents."""
    return (*_statuses(), *_known(), *_empty(), *_contents())
