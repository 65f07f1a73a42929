"""Redirects to forbidden addresses, in circles, and broken; names that change address."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Final

from .case import Case, page_case
from .replies import PAGE, SiteReply, redirect

if TYPE_CHECKING:
    from collections.abc import Iterator

    from .case import CaseOutcome

_INWARD: Final = {
    "loopback": "http://127.0.0.1:{forbidden}/",
    "another loopback": "http://127.8.9.1:{forbidden}/",
    "localhost": "http://localhost:{forbidden}/",
    "localhost with a dot": "http://localhost.:{forbidden}/",
    "a name under localhost": "http://a.localhost:{forbidden}/",
    "a single label": "http://intranet:{forbidden}/",
    "an internal name": "http://db.internal:{forbidden}/",
    "decimal": "http://2130706433:{forbidden}/",
    "hexadecimal": "http://0x7f000001:{forbidden}/",
    "octal": "http://0177.0.0.1:{forbidden}/",
    "short form": "http://127.1:{forbidden}/",
    "full-width digits": "http://%EF%BC%91%EF%BC%92%EF%BC%97.0.0.1:{forbidden}/",
    "the unspecified address": "http://0.0.0.0:{forbidden}/",
    "IPv6 loopback": "http://[::1]:{forbidden}/",
    "IPv6 unspecified": "http://[::]:{forbidden}/",
    "IPv4 mapped": "http://[::ffff:127.0.0.1]:{forbidden}/",
    "IPv4 mapped in hexadecimal": "http://[::ffff:7f00:1]:{forbidden}/",
    "IPv4 compatible": "http://[::127.0.0.1]:{forbidden}/",
    "NAT64": "http://[64:ff9b::7f00:1]:{forbidden}/",
    "6to4": "http://[2002:7f00:1::]:{forbidden}/",
    "link-local": "http://[fe80::1]:{forbidden}/",
    "unique local": "http://[fd00::1]:{forbidden}/",
    "ten": "http://10.0.0.1:{forbidden}/",
    "cloud metadata": "http://169.254.169.254/latest/meta-data/",
    "carrier-grade NAT": "http://100.64.0.1/",
    "a name for loopback": "http://inward.hostile-site.net:{forbidden}/",
    "a name for both": "http://both.hostile-site.net:{forbidden}/",
    "without a scheme": "//127.0.0.1:{forbidden}/",
}
_STRANGE: Final[dict[str, tuple[str, CaseOutcome]]] = {
    "file": ("file:///etc/passwd", "bad_scheme"),
    "ftp": ("ftp://127.0.0.1:{forbidden}/", "bad_scheme"),
    "gopher": ("gopher://127.0.0.1:{forbidden}/_x", "bad_scheme"),
    "javascript": ("javascript:alert(1)", "bad_scheme"),
    "data": ("data:text/html,heron", "bad_scheme"),
    "credentials": ("http://user:secret@{host}/there", "credentials_in_url"),
    "credentials that look like a host": (
        "http://{host}@127.0.0.1:{forbidden}/",
        "credentials_in_url",
    ),
    "a mail port": ("http://127.0.0.1:25/", "blocked_address"),
    "no host": ("http:///nowhere", "bad_redirect"),
    "a port out of range": ("http://127.0.0.1:99999/", "bad_redirect"),
    "broken brackets": ("http://[::1/", "bad_redirect"),
    "line feeds": ("http://{host}/\x01there", "bad_redirect"),
    "blanks alone": ("   ", "bad_redirect"),
}
_NOWHERE: Final = "2d00::1"
"""A public address by its form, which nobody has."""
_NAMES: Final = {
    "inward.hostile-site.net": ("127.0.0.1",),
    "both.hostile-site.net": (f"{_NOWHERE},127.0.0.1",),
}
_REFUSED_NAMES: Final = frozenset(
    {
        *("localhost", "localhost with a dot", "a name under localhost", "a single label"),
        *("an internal name", "decimal", "hexadecimal", "octal", "short form"),
    }
)
"""Refused before any name is resolved; all others are refused by their address."""


def _inward() -> Iterator[Case]:
    for number, (form, target) in enumerate(_INWARD.items()):
        status = (301, 302, 303, 307, 308)[number % 5]
        page = {"/page": redirect(target, status)}
        outcome: CaseOutcome = "blocked_host" if form in _REFUSED_NAMES else "blocked_address"
        yield Case(f"to {form}", f"a redirect to {target}", outcome, page, names=_NAMES)


def _strange() -> Iterator[Case]:
    for form, (target, outcome) in _STRANGE.items():
        yield page_case(f"redirect: {form}", f"a redirect to {target!r}", outcome, redirect(target))


def _rebinding() -> Iterator[Case]:
    forms = {
        "public, then loopback": (_NOWHERE, "127.0.0.1"),
        "loopback at once": ("127.0.0.1",),
        "loopback among public ones": (f"{_NOWHERE},127.0.0.1,{_NOWHERE}",),
        "IPv6 loopback": ("::1",),
        "mapped loopback": ("::ffff:127.0.0.1",),
        "the unspecified address": ("0.0.0.0",),  # noqa: S104
    }
    for number, (form, answers) in enumerate(forms.items()):
        name = f"rebinding-{number}.hostile-site.net"
        case = Case(f"rebinding: {form}", f"a name that stands for {form}", "blocked_address")
        start = f"http://{name}:{{forbidden}}/"
        yield replace(case, start=start, names={name: answers}, times=len(answers))


def _longer() -> Iterator[Case]:
    away, here = {"/page": redirect("/there", 301)}, {"/there": SiteReply(PAGE)}
    itself = redirect("http://{host}/page")
    circle = {**away, "/there": redirect("/page")}
    long = {"/page": redirect("/0")} | {f"/{n}": redirect(f"/{n + 1}") for n in range(9)}
    dots = {"/page": redirect("../../there"), **here}
    inward = {**away, "/there": redirect("http://127.0.0.1:{forbidden}/")}
    unaddressed, choice = SiteReply(PAGE, status=302), SiteReply(PAGE, status=300)
    yield page_case("redirect to itself", "the same address for ever", "too_many_redirects", itself)
    yield Case("redirect circle", "two pages that name one another", "too_many_redirects", circle)
    yield Case("long way", "nine redirects", "too_many_redirects", long)
    yield page_case("redirect without Location", "302 and nothing more", "http_error", unaddressed)
    yield page_case("300", "a choice of pages", "http_error", choice)
    yield Case("redirect at home", "a relative address", "read", {**away, **here})
    yield Case("redirect with dots", "../ beyond the root", "read", dots)
    does = "a good redirect before the bad one"
    yield Case("second hop inward", does, "blocked_address", inward)


def _at_once() -> Iterator[Case]:
    user, inward = "http://user:secret@{host}/page", "http://127.0.0.1:{forbidden}/"
    nowhere = "http://nowhere.hostile-site.net/"
    does = "a password in the address"
    yield Case("file at once", "not a web address", "bad_scheme", start="file:///etc/passwd")
    yield Case("credentials at once", does, "credentials_in_url", start=user)
    yield Case("inward at once", "the listener itself", "blocked_address", start=inward)
    yield Case("no such name", "a name without an address", "dns_failed", start=nowhere)


def cases() -> tuple[Case, ...]:
    """Return the cases of redirects and names."""
    return (*_inward(), *_strange(), *_rebinding(), *_longer(), *_at_once())
