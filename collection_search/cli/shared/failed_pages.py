"""Pages that could not be ingested, as a table: why, what to do, and their addresses."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple
from urllib.parse import urlsplit

from .wrapping import fit_line

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from ...contracts.coverage import UnstoredPage
    from ...contracts.ingestion import RowStatus
    from .terminal import Screen

_REASONS: Final = {
    "bad_url": "the address is not valid",
    "bad_scheme": "the address is not http or https",
    "credentials_in_url": "the address holds a password",
    "blocked_host": "the host is not public",
    "blocked_address": "the address is not public",
    "blocked_port": "the port is not allowed",
    "dns_failed": "the name of the site is not known",
    "connect_failed": "the site cannot be reached",
    "connect_timeout": "the site cannot be reached in time",
    "tls_failed": "the certificate of the site is not valid",
    "too_many_redirects": "the site redirects too often",
    "bad_redirect": "the site redirects to no valid address",
    "robots_disallowed": "robots.txt forbids it",
    "robots_unreachable": "robots.txt of the site cannot be read",
    "rate_limited": "the site asks for time",
    "host_busy": "too many requests of our own wait for the site",
    "too_large": "the page is too large",
    "ratio_exceeded": "the page is packed too tightly",
    "too_slow": "the site is too slow",
    "deadline": "the page did not arrive in time",
    "incomplete": "the answer broke off",
    "bad_response": "the answer is no valid HTTP",
    "bad_encoding": "the page cannot be unpacked",
    "unsupported_type": "the kind of file is not supported",
    "http_error": "the site answered with an error",
    "gone": "the page is gone",
    "needs_login": "the site refuses it, or wants a login",
    "needs_javascript": "a script would load the text",
    "challenge": "the site wants a person or a browser",
    "noindex": "the page asks not to be indexed",
    "empty": "the page holds no text",
    "soft_404": "the page says that it does not exist",
    "paywalled": "the text must be paid for",
    "extraction_failed": "no text can be taken from the page",
    "extraction_killed": "reading the page took too much",
    "render_failed": "the browser could not show the page",
}
"""Each reason of `FetchReason` in words."""
RETRY: Final = "Try it again later: 'collection-search ingest retry-failed'."
_REMEDIES: Final = {
    **dict.fromkeys(("bad_url", "bad_scheme", "bad_redirect"), "Correct the address and add it."),
    "credentials_in_url": "Add the address without the password.",
    **dict.fromkeys(("blocked_host", "blocked_address", "blocked_port"), ""),  # the error says it
    **dict.fromkeys(("gone", "soft_404"), "Look for its new address and add that."),
    "tls_failed": "Nothing can be done here: the site has to renew it.",
    **dict.fromkeys(
        ("robots_disallowed", "needs_login", "needs_javascript", "challenge", "noindex",
         "paywalled"),
        "Take another page, or save it and add the folder with 'collection-search corpus add'.",
    ),
    **dict.fromkeys(
        ("too_large", "ratio_exceeded", "bad_encoding", "unsupported_type",
         "extraction_failed", "extraction_killed", "render_failed", "bad_response",
         "too_many_redirects"),
        "Take another page.",
    ),
    "empty": "Take another page; a scanned PDF needs the setting parsers.",
}  # fmt: skip
"""What to do about each reason; what is not listed may work later."""
_OF_PARSER: Final = "The parser "
"""The beginning of what an operator's own parser failed by."""
_MEND_PARSER: Final = (
    "Look into the log and correct the parser, then 'collection-search ingest retry-failed'."
)
_HEAD: Final = ("pages", "why, what to do, and where")
_GAP: Final = "  "
_MAX_LISTED: Final = 20
"""Addresses of one reason that are listed."""


class UningestedPage(NamedTuple):
    """A page that could not be ingested."""

    url: str
    error: str
    """As the ledger tells it: the reason of a failed fetch, a colon, and a sentence."""
    collection: str = ""
    """Named where pages of several collections are listed."""


def format_failed(
    pages: Iterable[UningestedPage], *, width: int, most: int | None = None
) -> Iterator[str]:
    """Yield a table with a row for each reason, then the addresses; no page, no line.

    Of each reason at most `most` addresses are listed, by default all.

    >>> page = UningestedPage("https://a.org/x", "gone: a.org answered with HTTP status 404")
    >>> for line in format_failed([page], width=60):
    ...     print(line)
    pages  why, what to do, and where
    -----  ---------------------------------------------------
        1  the page is gone (answered with HTTP status 404)
           Look for its new address and add that.
           https://a.org/x
    """
    groups: dict[tuple[str, str], list[UningestedPage]] = {}
    for page in pages:
        groups.setdefault(_told(page), []).append(page)
    if not groups:
        return
    first = len(_HEAD[0])
    margin = " " * (first + len(_GAP))
    yield _GAP.join(_HEAD)
    yield _GAP.join(("-" * first, "-" * max(width - len(margin) - 2, 1)))
    for (why, remedy), found in sorted(groups.items(), key=lambda group: -len(group[1])):
        yield from fit_line(f"{len(found):>{first}}{_GAP}{why}", width, hang=len(margin))
        if remedy:
            yield from fit_line(margin + remedy, width)
        yield from _addresses(found, margin, width, most)


def _addresses(
    pages: Sequence[UningestedPage], margin: str, width: int, most: int | None
) -> Iterator[str]:
    shown = pages[:most]
    for page in shown:
        where = f" ({page.collection})" if page.collection else ""
        yield from fit_line(f"{margin}{page.url}{where}", width)
    if more := len(pages) - len(shown):
        yield f"{margin}and {more} more: 'collection-search ingest failed' lists them all"


def format_unstored(pages: Sequence[UnstoredPage], *, width: int) -> Iterator[str]:
    """Yield the table of the failed pages among them, and then those that wait."""
    failed = [page for page in pages if page["state"] != "pending"]
    told = (UningestedPage(page["url"], page["reason"] or "") for page in failed)
    yield from format_failed(told, width=width)
    for page in pages:
        if page["state"] == "pending":
            yield f"waits  {page['url']}"
            if page["reason"]:
                yield f"       {page['reason']}"


def warn_of_failed(pages: Sequence[UningestedPage], screen: Screen) -> None:
    """Print how many pages were not ingested, and the table, to stderr."""
    if pages:
        count = "1 page was" if len(pages) == 1 else f"{len(pages)} pages were"
        table = format_failed(pages, width=screen.err_width, most=_MAX_LISTED)
        screen.warn(f"{count} not ingested:", table=table)


def dead_pages(rows: Iterable[RowStatus]) -> list[UningestedPage]:
    """Return the pages of a ticket that were given up."""
    return [UningestedPage(row.url, row.error or "") for row in rows if row.state == "dead"]


def _told(page: UningestedPage) -> tuple[str, str]:
    """Return why the page failed, without the name of its site, and what to do."""
    reason, _, text = page.error.partition(": ")
    if reason not in _REASONS:
        return page.error, ""
    host = urlsplit(page.url).hostname or ""
    said = text.removeprefix(f"{host} ").strip().rstrip(".")
    words = _REASONS[reason]
    is_new = said and said.lower() not in words and words not in said.lower()
    remedy = _MEND_PARSER if said.startswith(_OF_PARSER) else _REMEDIES.get(reason, RETRY)
    return f"{words} ({said})" if is_new else words, remedy
