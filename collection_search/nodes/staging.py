"""Pages in the stages that search: distinct ones, and the texts that came with them."""

from __future__ import annotations

import logging
from collections import Counter
from typing import TYPE_CHECKING, Final, TypeVar

from ..runtime.concurrency import offload
from ..runtime.failure_log import log_failure
from ..text.urls import host_of_key, url_key
from ..tools.ingestion.storage_rights import storing_providers

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from ..contracts.ingestion_state import AcquiredPage
    from ..contracts.search import WebSearchResponse
    from ..contracts.state import Candidate
    from .stage import StageRun

PageT = TypeVar("PageT", "Candidate", "AcquiredPage")

TELLING_CHARS: Final = 40
"""A shorter snippet says too little to tell that two pages are the same."""

logger = logging.getLogger(__name__)


def distinct(pages: Iterable[PageT]) -> list[PageT]:
    """Return the first page of each URL, in order."""
    found: dict[str, PageT] = {}
    for page in pages:
        found.setdefault(page["url_key"], page)
    return list(found.values())


def without_twins(pages: Iterable[PageT]) -> tuple[list[PageT], list[PageT]]:
    """Return the first page of each host, kind, title and snippet, in order, and the others.

    Such pages differ by a parameter alone as a rule, or by their layout. Pages with a short
    snippet are all kept: a site may give many of its pages the same title and a few words.
    """
    pages = list(pages)
    hosts = [host_of_key(page["url_key"]) for page in pages]
    counts = Counter(hosts)
    found: dict[tuple[object, ...], PageT] = {}
    twins = []
    for page, host in zip(pages, hosts, strict=True):
        look = (page["url_key"],) if counts[host] == 1 else _look(page, host)
        if found.setdefault(look, page) is not page:
            twins.append(page)
    return list(found.values()), twins


def _look(page: Candidate | AcquiredPage, host: str) -> tuple[object, ...]:
    """Return what twins have in common; a page with a short snippet has no twin."""
    snippet = _plain(page["snippet"])
    if len(snippet) < TELLING_CHARS:
        return (page["url_key"],)
    return host, page.get("is_pdf"), _plain(page["title"]), snippet


def _plain(text: str) -> str:
    return " ".join(text.casefold().split())


def is_unwanted(page: Candidate | AcquiredPage, wants_pdf: bool | None) -> bool:  # noqa: FBT001
    """Return whether a page is a PDF where none is wanted, or none where only PDFs are."""
    return wants_pdf is not None and page.get("is_pdf", False) != wants_pdf


async def stage_texts(
    pages: Sequence[Candidate] | Sequence[AcquiredPage],
    responses: Sequence[WebSearchResponse],
    run: StageRun,
) -> bool:
    """Stage the texts that may be stored and set each page's `content_ref`; False if that failed.

    A page without a staged text is fetched when it is ingested, so the search goes on.
    """
    with_texts = [one for one in responses if any(result.content for result in one.results)]
    if not with_texts:
        return True
    try:
        names = {_provider(one) for one in with_texts}
        allowed = await offload(storing_providers, names, run.context.using(), run.context.provider)
        texts = {
            url_key(result.url): result.content
            for response in reversed(with_texts)
            if _provider(response) in allowed
            for result in reversed(response.results)
            if result.content
        }
        staged = [page for page in pages if page["url_key"] in texts]
        if not staged:
            return True
        store = await run.context.storage()
        wanted = [texts[page["url_key"]] for page in staged]
        refs = await offload(store.staging.put, run.context.tenant(), wanted)
    except Exception as error:  # noqa: BLE001 - it is logged
        log_failure(logger, "page texts could not be staged", error)
        return False
    for page, ref in zip(staged, refs, strict=True):
        page["content_ref"] = ref
    return True


def _provider(response: WebSearchResponse) -> str:
    return str(response.outcome.meta["provider"])
