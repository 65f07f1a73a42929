"""Ports of readers of web pages, and of the turns in which they ask a site."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol, runtime_checkable

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from ..contracts.document_text import Extracted
    from ..contracts.page import FetchedPage, NotModified, ReadPage, Validators


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


class PageParser(Protocol):
    """A function that reads one kind of page in place of the built-in reader, as OCR does.

    The setting `parsers` names it. An `async def` runs on the event loop of the process, a plain
    function in a thread. Pages are untrusted: a parser sets its own limits.
    """

    def __call__(self, page: FetchedPage, /) -> Awaitable[Extracted | None] | Extracted | None:
        """Return title and text; None leaves the page to the built-in reader of its kind.

        Raises FetchError or ExtractionError for a page that cannot be read; any other error means
        the same. A page with an empty text fails as `empty`.
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


@runtime_checkable
class RequestTurns(Protocol):
    """The next turn of each site, for all processes together.

    A turn that was taken is not given back: its time passes. Both methods block, are safe for
    threads, and raise StoreError.
    """

    def take(self, site: str, delay_s: float, most_s: float) -> float:
        """Take the next turn; return the seconds until it, from 0.

        The turn after it is `delay_s` later. Where the next turn is more than `most_s` away nothing
        is taken; the result is greater than `most_s` then.
        """
        ...

    def hold(self, site: str, seconds: float) -> None:
        """Let nobody have a turn before so many seconds have passed."""
        ...
