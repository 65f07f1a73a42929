"""Reads the text of one web page through the safe fetch."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..contracts.page import ReadPage
from ..errors import FetchError, InputError
from ..runtime.concurrency import blocking
from ..text.urls import normalize_url
from .public_arguments import context_for, validate_arguments

if TYPE_CHECKING:
    from ..context import SearchContext


async def aread_page(url: str, *, context: SearchContext | None = None) -> ReadPage:
    """Return the page with its extracted text, title and address after redirects.

    Private addresses, robots.txt, sizes and times are judged as for every page of the web; PDF is
    read too. Nothing is stored. `read_page` blocks, inside a running event loop too; `aread_page`
    is its coroutine.

    Raises InvalidUrlError, FetchError (`retryable` says whether a retry may help), ExtractionError
    for a page without text, ConfigError.
    """
    validate_arguments(url=url)
    context = context_for(context, None)
    address = normalize_url(url)
    if not context.fetches():
        raise InputError("A replay reads no pages. Leave out the cassette.")
    page = await (await context.page_reader()).read(address)
    if not isinstance(page, ReadPage):  # it answers a conditional request, which this is not
        raise FetchError(f"{address} sent no page.", reason="bad_response")
    return page


read_page = blocking(aread_page, "read_page")
"""`aread_page` for code without an event loop."""
