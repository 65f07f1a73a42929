"""`collection-search page`: the text of one web page."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Annotated

import typer

from .shared.context_options import AsJson, search_context
from .shared.terminal import Screen

if TYPE_CHECKING:
    from ..contracts.page import ReadPage


def page(
    url: Annotated[str, typer.Argument(metavar="URL", help="Address of the page.")],
    *,
    as_json: AsJson = False,
) -> None:
    """Print the text of one web page or PDF. Nothing is stored.

    The page is fetched as every page of the web: no private addresses, robots.txt is obeyed.
    """
    from ..tools.read_page import aread_page

    screen = Screen(as_json=as_json)
    read = asyncio.run(aread_page(url, context=search_context()))
    if as_json:
        screen.json(_as_json(read))
        return
    screen.note(f"Title: {read.title}")
    screen.note(f"Source: {read.final_url}")
    for line in read.text.splitlines():
        screen.line(line)


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
    }
