"""Lists of what is stored, a page at a time, and how fresh it is."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from .collection import Provenance
    from .review import DeadlinePolicy


class ListedDocument(NamedTuple):
    """A document in a list, without its text."""

    url: str
    url_key: str
    title: str
    is_pdf: bool
    stored_at: float
    """Unix time at which it was stored or found unchanged."""
    chunks: int
    provenance: Provenance


class DocumentPage(NamedTuple):
    """A part of a list of documents."""

    total: int
    """Documents of the whole list."""
    documents: list[ListedDocument]


class DocumentAges(NamedTuple):
    """When the documents of a collection were stored or found unchanged, as Unix times."""

    oldest: float
    newest: float


class WaitingGate(NamedTuple):
    """An open gate in a list, without its candidates."""

    gate_id: str
    collection: str
    question: str
    round: int
    candidate_count: int
    threshold: float
    deadline: float
    """Unix time, as `opened_at`."""
    policy: DeadlinePolicy
    opened_at: float
    host: str


class GatePage(NamedTuple):
    """A part of the list of open gates."""

    total: int
    """Gates of the whole list."""
    gates: list[WaitingGate]
