"""The pages that a refresh asks to ingest: deletions, refusals and approvals stay as they are."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final

from ...contracts.page_choice import PageChoice
from ...runtime.concurrency import offload
from ...text.urls import url_key
from .questions import build_choice, find_record

if TYPE_CHECKING:
    from ...context import SearchContext
    from ...contracts.ingestion import IngestionItem, IngestionRequest

_KEPT: Final = frozenset(("approved_by", "review", "added_by_hand"))


async def fit_request(
    context: SearchContext, request: IngestionRequest, question: str
) -> IngestionRequest:
    """Return the request as the collection and the question that is asked again are now.

    Left out are pages that were deleted since the refresh began, pages that a review since then
    has not approved, and pages that criteria or rules refuse now and that nobody took in spite of
    them. A new text of a page changes nothing of who has approved it. Raises StoreError.
    """
    record = await find_record(context, request.scope, question)
    store = await context.storage()
    keys = [item.url_key for item in request.items]
    stored = await offload(store.collections.get, request.scope, keys)
    pages = [one.document for one in stored]
    known = {page.url_key: page.provenance for page in pages}
    ways = [url_key(url) for page in pages for url in page.also_at]
    choice = build_choice(record, [*known, *ways]) if record else PageChoice()
    fitted = [
        _as_approved(item, known.get(item.url_key, {}))
        for item in request.items
        if choice.allows(item.url_key)
    ]
    return replace(request, items=[item for item in fitted if item is not None])


def _as_approved(item: IngestionItem, known: Mapping[str, Any]) -> IngestionItem | None:
    """Return the page with the approval that it is stored with; None where it is refused."""
    refused, approvers = _overruling(item.provenance), _overruling(known)
    if refused.keys() - approvers.keys():
        return None
    facts = {name: known[name] for name in _KEPT & known.keys()}
    for name, approver in approvers.items():
        verdict = item.provenance.get(name)
        facts[name] = known[name]
        if isinstance(verdict, Mapping):
            facts[name] = {**verdict, "overruled_by": approver}
    return replace(item, provenance={**item.provenance, **facts})


def _overruling(provenance: Mapping[str, Any]) -> dict[str, Any]:
    """Return who took a page in spite of the criteria or the rules, by these."""
    refusals = {name: provenance.get(name) for name in ("criteria", "rules")}
    return {
        name: refusal["overruled_by"]
        for name, refusal in refusals.items()
        if isinstance(refusal, Mapping) and "overruled_by" in refusal
    }
