"""The pages that a refresh asks to ingest: deletions, refusals and approvals stay as they are."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final

from ...errors import QualityThresholdError
from ...runtime.concurrency import offload
from ...text.urls import url_key
from ..criteria.verdicts import named_criteria
from .questions import build_choice

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
    them. A new text of a page changes nothing of who has approved it. Raises QualityThresholdError
    where nothing is left, StoreError.
    """
    store = await context.storage()
    record = await offload(store.collections.find_question, request.scope, question)
    if record is None or record.last_asked_at != context.page_choice.asked_at:
        ended = "forgotten" if record is None else "asked anew"
        raise QualityThresholdError(f"the question was {ended} while the refresh asked it")
    keys = [item.url_key for item in request.items]
    stored = await offload(store.collections.get, request.scope, keys)
    pages = [one.document for one in stored]
    known = {page.url_key: page.provenance for page in pages}
    ways = [url_key(url) for page in pages for url in page.also_at]
    choice = build_choice(record, [*known, *ways])
    allowed = [item for item in request.items if choice.allows(item.url_key)]
    fitted = [_as_approved(item, known.get(item.url_key, {})) for item in allowed]
    if not (items := [item for item in fitted if item is not None]):
        raise QualityThresholdError("all pages that were found are deleted or refused by now")
    return replace(request, items=items)


def _as_approved(item: IngestionItem, known: Mapping[str, Any]) -> IngestionItem | None:
    """Return the page with the approval that it is stored with; None where it is refused.

    An approval in spite of criteria counts for these criteria only. It is kept as it is stored
    while they do not refuse the page.
    """
    refused, approvers = _overruling(item.provenance), _overruling(known)
    if _has_other_criteria(item.provenance, known):
        approvers.pop("criteria", None)
    if refused.keys() - approvers.keys():
        return None
    facts = {name: known[name] for name in _KEPT & known.keys()}
    for name, approver in approvers.items():
        is_refused = name in refused
        facts[name] = (
            {**item.provenance[name], "overruled_by": approver} if is_refused else known[name]
        )
    return replace(item, provenance={**item.provenance, **facts})


def _has_other_criteria(provenance: Mapping[str, Any], known: Mapping[str, Any]) -> bool:
    """Return whether a page was judged by other criteria than those that it is stored with."""
    told, stored = (one.get("criteria") for one in (provenance, known))
    if not isinstance(told, Mapping) or not isinstance(stored, Mapping):
        return False
    names, before = ({n.casefold() for n in named_criteria(one)} for one in (told, stored))
    return names != before or not names


def _overruling(provenance: Mapping[str, Any]) -> dict[str, Any]:
    """Return who took a page in spite of the criteria or the rules that refuse it, by these."""
    refusals = {name: provenance.get(name) for name in ("criteria", "rules")}
    return {
        name: refusal["overruled_by"]
        for name, refusal in refusals.items()
        if isinstance(refusal, Mapping) and refusal.get("refused") and "overruled_by" in refusal
    }
