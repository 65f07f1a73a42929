"""`collection-search page`: the text of one web page."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Annotated, Final
from urllib.parse import urlsplit

import typer

from ..errors import FetchError
from .shared.context_options import AsJson, search_context
from .shared.terminal import Screen

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ..contracts.page import ReadPage

_PORTS: Final = {"http": 80, "https": 443}


def page(
    url: Annotated[str, typer.Argument(metavar="URL", help="Address of the page.")],
    *,
    as_json: AsJson = False,
) -> None:
    """Print the text of one web page or PDF. Nothing is stored.

    The page is fetched as every page of the web: no private addresses, robots.txt is obeyed.
    """
    from ..tools.read_page import aread_page

    screen, context = Screen(as_json=as_json), search_context()
    try:
        read = asyncio.run(aread_page(url, context=context))
    except FetchError as error:
        if not (way_out := _way_out(error, url, context.using().fetch_allowed)):
            raise
        raise FetchError(f"{error}. {way_out}", reason=error.reason) from error
    if as_json:
        screen.json(_as_json(read))
        return
    screen.note(f"Title: {read.title}")
    screen.note(f"Source: {read.final_url}")
    for line in read.text.splitlines():
        screen.line(line)
    if read.truncated_at_page is not None:
        screen.note(f"Only pages 1 to {read.truncated_at_page} were read: the document has more.")


def _way_out(error: FetchError, url: str, allowed: Sequence[str]) -> str:
    """Return the setting that permits a refused private address, blank for any other failure."""
    from ..settings import PREFIX
    from ..text.urls import normalize_url
    from ..tools.ingestion.failures import may_be_allowed

    if not may_be_allowed(error):
        return ""
    parts = urlsplit(normalize_url(url))
    entry = parts.netloc if parts.port else f"{parts.netloc}:{_PORTS[parts.scheme]}"
    refused = str(error).partition(" ")[0].removesuffix(":")
    # A redirect may lead to another host, and no setting permits that.
    is_own = refused == (parts.hostname or "").removesuffix(".") and entry not in allowed
    if not is_own:
        return ""
    return f"If it is yours, set {PREFIX}FETCH_ALLOWED={','.join([*allowed, entry])}"


def _as_json(read: ReadPage) -> dict[str, str | int | float | None]:
    return {
        "url": read.url,
        "final_url": read.final_url,
        "canonical_url": read.canonical_url,
        "status": read.status,
        "kind": read.kind,
        "title": read.title,
        "text": read.text,
        "content_hash": read.content_hash,
        "fetched_at": read.fetched_at,
        "truncated_at_page": read.truncated_at_page,
    }
