"""Pages in the stages that search: distinct ones, and the texts that came with them."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, TypeVar

from ..runtime.concurrency import offload
from ..text.redaction import redact_error
from ..text.urls import url_key
from ..tools.ingestion.storage_rights import storing_providers

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from ..contracts.ingestion_state import AcquiredPage
    from ..contracts.search import WebSearchResponse
    from ..contracts.state import Candidate
    from .stage import StageRun

PageT = TypeVar("PageT", "Candidate", "AcquiredPage")

logger = logging.getLogger(__name__)


def distinct(pages: Iterable[PageT]) -> list[PageT]:
    """Return the first page of each URL, in order."""
    found: dict[str, PageT] = {}
    for page in pages:
        found.setdefault(page["url_key"], page)
    return list(found.values())


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
    except Exception as error:
        logger.warning("page texts could not be staged", exc_info=redact_error(error))
        return False
    for page, ref in zip(staged, refs, strict=True):
        page["content_ref"] = ref
    return True


def _provider(response: WebSearchResponse) -> str:
    return str(response.outcome.meta["provider"])
