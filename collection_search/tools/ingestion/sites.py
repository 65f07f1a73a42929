"""Collects the addresses to ingest: each page once, and further pages of the same sites."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from ...errors import ConfigError, InputError, InvalidUrlError
from ...ports import SiteReader
from ...text.redaction import redact
from ...text.urls import normalize_url, url_key

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from ...ports import PageReader

MAX_PAGES: Final = 10_000
MAX_STEPS: Final = 10
_MAX_TOLD: Final = 200


def deduplicate_urls(urls: Iterable[str]) -> dict[str, str]:
    """Return the normalized URLs by their key, in order. Raises InvalidUrlError.

    >>> list(deduplicate_urls(["https://a.example/x?utm_source=y", "https://a.example/x"]).values())
    ['https://a.example/x']
    """
    found: dict[str, str] = {}
    for url in urls:
        try:
            normal = normalize_url(url)
        except InvalidUrlError as error:
            raise InvalidUrlError(f"{redact(url, most=_MAX_TOLD)!r}: {error}") from error
        found.setdefault(url_key(normal), normal)
    return found


async def collect_pages(
    reader: PageReader,
    starts: Mapping[str, str],
    *,
    depth: int,
    max_pages: int,
    fits: Callable[[str], bool] | None = None,
    on_found: Callable[[int], None] | None = None,
) -> dict[str, str]:
    """Return the pages and those of their sites that `fits` takes, each once, `max_pages` in all.

    `on_found` gets how many are known so far. Raises InputError, ConfigError for a reader that
    cannot look for pages.
    """
    if not 0 <= depth <= MAX_STEPS or not 1 <= max_pages <= MAX_PAGES:
        raise InputError(
            f"depth needs 0 to {MAX_STEPS} and max_pages 1 to {MAX_PAGES}:"
            f" {depth} and {max_pages} were given."
        )
    if not isinstance(reader, SiteReader):
        raise ConfigError("This reader of pages cannot look for further pages of a site.")
    found = dict(starts)
    for start in starts.values():
        if len(found) >= max_pages:
            break

        def tell(count: int, known: int = len(found)) -> None:
            if on_found is not None:
                on_found(min(known + count, max_pages))

        tell(0)
        for url in await reader.site(
            start, depth=depth, max_pages=max_pages, fits=fits, on_found=tell
        ):
            found.setdefault(url_key(url), url)
    return dict(list(found.items())[: max(max_pages, len(starts))])
