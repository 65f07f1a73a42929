"""Ports of readers of web pages."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol, runtime_checkable

if TYPE_CHECKING:
    from collections.abc import Callable

    from ..contracts.page import NotModified, ReadPage, Validators


@runtime_checkable
class PageReader(Protocol):
    """A reader of web pages, with limits per host; many calls may run at once."""

    async def read(
        self, url: str, *, validators: Validators | None = None, content_hash: str | None = None
    ) -> ReadPage | NotModified:
        """Return the page's text, or NotModified when the caller knows this version.

        `validators`, or else `content_hash` (SHA-256 of the bytes), name that version. Raises
        FetchError: `retryable` and `retry_in_s` say whether and when to retry.
        """
        ...


@runtime_checkable
class SiteReader(Protocol):
    """A page reader that finds further pages of a site."""

    async def site(
        self,
        url: str,
        *,
        depth: int,
        max_pages: int,
        fits: Callable[[str], bool] | None = None,
        on_found: Callable[[int], None] | None = None,
    ) -> list[str]:
        """Return the URL and the pages of its site, in normal form, the nearest first.

        Follows links over at most `depth` steps; the site's sitemaps count as one. Skips pages
        that fail, and those that `fits` refuses: they are neither read nor counted. `on_found`
        gets the number of pages so far.
        """
        ...
