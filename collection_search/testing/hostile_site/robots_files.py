"""robots.txt in every form."""

from __future__ import annotations

from itertools import chain, repeat
from typing import TYPE_CHECKING, Final

from .case import Case
from .replies import PAGE, SiteReply, redirect

if TYPE_CHECKING:
    from collections.abc import Iterator

    from .case import CaseOutcome

_CLOSED: Final = b"User-agent: *\nDisallow: /\n"
_LINES: Final = b"# a comment of no use at all\n" * 2_000
_BIG: Final = (600_000 // len(_LINES)) + 1


def _text(body: bytes) -> SiteReply:
    return SiteReply(body, kind="text/plain")


_FORMS: Final[dict[str, tuple[SiteReply, CaseOutcome]]] = {
    "closed": (_text(_CLOSED), "robots_disallowed"),
    "empty": (_text(b""), "read"),
    "404": (_text(b"none"), "read"),
    "403": (SiteReply(b"no", status=403), "read"),
    "410": (SiteReply(b"no", status=410), "read"),
    "429": (SiteReply(b"wait", status=429), "read"),
    "500": (SiteReply(b"broken", status=500), "robots_unreachable"),
    "503": (SiteReply(b"broken", status=503), "robots_unreachable"),
    "reset": (SiteReply(head=list, ending="reset"), "robots_unreachable"),
    "hung up": (SiteReply(head=list), "robots_unreachable"),
    "silence": (SiteReply(head=list, ending="hold"), "robots_unreachable"),
    "drip": (SiteReply(lambda: repeat(b"#"), pause_s=0.5), "robots_unreachable"),
    "byte order mark": (_text(b"\xef\xbb\xbf" + _CLOSED), "robots_disallowed"),
    "for us": (
        _text(b"User-agent: collection-search\nDisallow: /page\n\nUser-agent: *\nAllow: /\n"),
        "robots_disallowed",
    ),
    "for others": (_text(b"User-agent: OtherBot\nDisallow: /\n"), "read"),
    "us apart from all": (
        _text(b"User-agent: *\nDisallow: /\n\nUser-agent: Collection-Search\nAllow: /\n"),
        "read",
    ),
    "our name in capitals with a version": (
        _text(b"User-agent: COLLECTION-SEARCH/9.9\nDisallow: /\n\nUser-agent: *\nDisallow:\n"),
        "robots_disallowed",
    ),
    "longest match allows": (_text(_CLOSED + b"Allow: /page\n"), "read"),
    "longest match forbids": (
        _text(b"User-agent: *\nAllow: /\nDisallow: /page\n"),
        "robots_disallowed",
    ),
    "wildcard": (_text(b"User-agent: *\nDisallow: /*ge$\n"), "robots_disallowed"),
    "end mark": (_text(b"User-agent: *\nDisallow: /pag$\n"), "read"),
    "escapes": (_text(b"User-agent: *\nDisallow: /%70age\n"), "robots_disallowed"),
    "carriage returns": (_text(_CLOSED.replace(b"\n", b"\r")), "robots_disallowed"),
    "no line end": (_text(_CLOSED.rstrip()), "robots_disallowed"),
    "blanks and case": (
        _text(b"  USER-AGENT :  *  \n  disallow : /page # here\n"),
        "robots_disallowed",
    ),
    "HTML": (SiteReply(PAGE), "read"),
    "binary": (_text(bytes(range(256)) * 9), "read"),
    "Latin-1": (_text(_CLOSED + b"# gr\xfc\xdfe\n"), "robots_disallowed"),
    "rules first": (_text(_CLOSED + _LINES * _BIG), "robots_disallowed"),
    "rules beyond 500 KiB": (_text(_LINES * _BIG + _CLOSED), "read"),
    "endless": (
        SiteReply(lambda: chain([_CLOSED], repeat(_LINES)), kind="text/plain"),
        "robots_disallowed",
    ),
    "thousands of wildcards": (
        _text(b"User-agent: *\n" + b"Disallow: /*a*b*c*d*e*f*g\n" * 9_000),
        "read",
    ),
    "one rule of wildcards": (_text(b"User-agent: *\nDisallow: /" + b"*a" * 5_000 + b"\n"), "read"),
    "inward": (redirect("http://127.0.0.1:{forbidden}/robots.txt"), "robots_unreachable"),
    "circle": (redirect("/robots.txt"), "read"),
    "damaged gzip": (
        SiteReply(b"\x1f\x8b\x08" + b"rubbish", headers={"Content-Encoding": "gzip"}),
        "robots_unreachable",
    ),
}

_SLOW: Final = frozenset({"silence", "drip"})


def _delays() -> Iterator[Case]:
    page = {"/page": SiteReply(PAGE)}
    forms = ("none", "words", "negative", "infinite", "none at all")
    for form, delay in zip(forms, (b"0", b"soon", b"-1", b"inf", b"nan"), strict=True):
        robots = _text(b"User-agent: *\nCrawl-delay: " + delay + b"\n")
        yield Case(f"robots: delay {form}", "an odd Crawl-delay", "read", page, robots)


def cases() -> tuple[Case, ...]:
    """Return the cases of robots.txt."""
    page = {"/page": SiteReply(PAGE)}
    forms = [
        Case(f"robots: {form}", f"robots.txt: {form}", outcome, page, robots, slow=form in _SLOW)
        for form, (robots, outcome) in _FORMS.items()
    ]
    closed: CaseOutcome = "robots_disallowed"
    moved = {**page, "/rules.txt": _text(_CLOSED)}
    onward = {"/page": redirect("/there"), "/there": SiteReply(PAGE)}
    rules = _text(b"User-agent: *\nDisallow: /there\n")
    return (
        *forms,
        *_delays(),
        Case(
            "robots: elsewhere",
            "a redirect to the rules",
            closed,
            moved,
            redirect("/rules.txt", 301),
        ),
        Case("robots: after a redirect", "the second page is closed", closed, onward, rules),
    )
