"""The pages that people approved or rejected in the reviews of a tenant."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from ...ranking.adaptive import scale_key
from ...text.urls import url_key
from ..criteria.refused_pages import reason_against

if TYPE_CHECKING:
    from collections.abc import Iterator

    from ...contracts.review import Gate, ReviewCandidate
    from ...ports import GateStore

LAST_DECISIONS: Final = 100
"""Decisions that a threshold is learnt from: the last ones."""


@dataclass(frozen=True, slots=True)
class DecidedPage:
    """A page that a person was shown."""

    url: str
    title: str
    snippet: str
    score: float
    """0 to 100 on its scale."""
    scale: tuple[str, str | None]
    """The scale, and the model behind it: see `scale_key`."""
    is_approved: bool | None
    """None for a page that was not approved where that says nothing about it.

    The collection had it already, or criteria or rules refused it.
    """


@dataclass(frozen=True, slots=True)
class PersonDecision:
    """One decision of a person, with the pages that were shown."""

    gate_id: str
    collection: str
    question: str
    approver: str | None
    decided_at: str
    """ISO 8601, UTC."""
    pages: tuple[DecidedPage, ...]
    """In the order in which they were shown."""
    added_urls: tuple[str, ...]
    """Pages that the search did not find."""


def list_decisions(
    gates: GateStore,
    tenant_id: str,
    *,
    collection: str | None = None,
    limit: int = LAST_DECISIONS,
) -> list[PersonDecision]:
    """Return the last `limit` decisions of people, the newest first. Blocks. Raises StoreError.

    Decisions by a deadline or a threshold are not among them. A page that was shown and not
    approved counts as rejected, unless the collection had it already or criteria or rules refused
    it: "approve all" leaves such a page out.
    """
    found = gates.decided(tenant_id, collection=collection, decided_by="person", limit=limit)
    return [_decision(gate) for gate in found]


def decided_pages(gate: Gate) -> Iterator[DecidedPage]:
    """Yield the candidates of a gate that a person decided."""
    approved = {url_key(url) for url in gate.decision["approved_urls"]}
    for candidate in gate.candidates:
        yield _page(candidate, is_approved=url_key(candidate["url"]) in approved)


def _page(candidate: ReviewCandidate, *, is_approved: bool) -> DecidedPage:
    is_judged = is_approved or not (candidate["in_collection"] or reason_against(candidate))
    return DecidedPage(
        url=candidate["url"],
        title=candidate["title"],
        snippet=candidate["snippet"],
        score=candidate["embedding_rank_score"],
        scale=scale_key(candidate["explanation"]),
        is_approved=is_approved if is_judged else None,
    )


def _decision(gate: Gate) -> PersonDecision:
    return PersonDecision(
        gate_id=gate.gate_id,
        collection=gate.collection,
        question=gate.question,
        approver=gate.decision["approver"],
        decided_at=gate.decision["decided_at"],
        pages=tuple(decided_pages(gate)),
        added_urls=tuple(gate.decision["added_urls"]),
    )
