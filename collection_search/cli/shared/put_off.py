"""Sentences about pages that wait for a later time: what, for whom and until when."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final
from urllib.parse import urlsplit

from ...text.timestamps import iso_time

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from ...contracts.ingestion import Pause, RowStatus

_CAUSES: Final = {"host": "the site {name}", "embedder": "the embedder {name}"}


def format_pauses(pauses: Iterable[Pause]) -> Iterator[str]:
    """Yield a sentence for each cause that pages wait for.

    >>> from collection_search.contracts.ingestion import Pause
    >>> held = Pause(cause="host:a.org", reason="asks for time", since=0, until=7200, pages=2)
    >>> list(format_pauses([held]))
    ['2 pages wait for the site a.org until 1970-01-01T02:00:00Z: asks for time']
    """
    from ...ports.ledger import PROXY

    for pause in pauses:
        cause = name_cause(pause.cause)
        pages = "1 page waits" if pause.pages == 1 else f"{pause.pages} pages wait"
        if pause.cause == PROXY:
            yield f"{pages} for a worker with another fetch_proxy."
            continue
        yield f"{pages} for {cause} until {iso_time(pause.until)}: {pause.reason}"


def name_cause(cause: str) -> str:
    """Return the cause of a pause in words.

    >>> name_cause("host:a.org"), name_cause("network")
    ('the site a.org', 'the network')
    """
    from ...contracts.embedded_text import embedder_of_vectors

    kind, _, name = cause.partition(":")
    return _CAUSES.get(kind, "the network").format(name=embedder_of_vectors(name))


def format_put_off(pages: Iterable[tuple[str, float, str]]) -> Iterator[str]:
    """Yield a sentence for each site and reason; a page is its URL, Unix time and reason.

    >>> list(format_put_off([("https://a.org/x", 0, "busy"), ("https://a.org/y", 60, "busy")]))
    ['2 pages of a.org are put off until 1970-01-01T00:01:00Z: busy']
    """
    groups: dict[tuple[str, str], list[tuple[str, float]]] = {}
    for url, until, reason in pages:
        groups.setdefault((urlsplit(url).netloc, reason), []).append((url, until))
    for (site, reason), found in groups.items():
        url, until = max(found, key=lambda page: page[1])
        what = f"{url} is" if len(found) == 1 else f"{len(found)} pages of {site} are"
        yield f"{what} put off until {iso_time(until)}: {reason}"


def put_off_pages(rows: Iterable[RowStatus]) -> list[tuple[str, float, str]]:
    """Return the rows that wait for a later time, as `format_put_off` takes them."""
    return [
        (row.url, row.put_off_until, row.error or "")
        for row in rows
        if row.put_off_until is not None
    ]
