"""Pages of the web."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol, runtime_checkable

if TYPE_CHECKING:
    from collections.abc import Callable

    from ..contracts.page import NotModified, ReadPage, Validators


@runtime_checkable
class PageReader(Protocol):
    """Reads pages of the web, politely and within limits; many calls may run at once."""

    async def read(
        self, url: str, *, validators: Validators | None = None, content_hash: str | None = None
    ) -> ReadPage | NotModified:
        """Return the page's text, or NotModified for who knows this version of the page.

        Known is a version by its validators, or else by the SHA-256 of its bytes. Raises
        FetchError: `retryable` and `retry_in_s` tell whether and when another attempt may help.
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
        on_found: Callable[[int], None] | None = None,
    ) -> list[str]:
        """Return the URL and the pages of its site, in normal form, the nearest first.

        Links are followed over at most `depth` steps; the site's sitemaps count as one. What
        cannot be had is left out. `on_found` gets how many pages are known so far.
        """
        ...
