"""What is stored: the collection's documents, chunks and passages, and the tickets of ingestion."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, TypeAlias

from pydantic import BaseModel, ConfigDict, Field

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

Vectors: TypeAlias = "NDArray[np.float32]"
"""`(n, d)` float32, rows of unit length."""


@dataclass(frozen=True, slots=True)
class Embedded:
    """Texts as an embedder placed them, with what that consumed."""

    vectors: Vectors
    """One row per text, in order."""
    input_tokens: int | None = None
    """None when the embedder does not say."""


RowState = Literal["waiting", "to_fetch", "working", "stored", "dead"]
"""Life of a ledger row. `waiting`: its text is staged, any worker may claim it. `to_fetch`: only a
snippet is known, the page has not been fetched. `dead`: gave up after the last attempt."""

Provenance: TypeAlias = Mapping[str, Any]
"""Where a document comes from, JSON-plain: question, query, provider, rank, scores, ids, times."""


@dataclass(frozen=True, slots=True)
class TenantScope:
    """Whose collection: required by every read and write of a store."""

    tenant_id: str
    collection: str

    def __post_init__(self) -> None:
        for name, value in (("tenant_id", self.tenant_id), ("collection", self.collection)):
            if not value.strip() or len(value) > 200 or not value.isprintable():  # noqa: PLR2004
                raise ValueError(f"{name} needs 1 to 200 printable characters, got {value!r}")


@dataclass(frozen=True, slots=True)
class IngestionItem:
    """One page to ingest. Without `content_ref` only its address and snippet are known."""

    url: str
    url_key: str
    title: str
    content_ref: str | None = None
    provenance: Provenance = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class IngestionRequest:
    """Pages that go into one collection, with the ids of the run that chose them."""

    scope: TenantScope
    items: Sequence[IngestionItem]
    question: str | None = None
    run_id: str | None = None
    trace_id: str | None = None


class Ticket(BaseModel):
    """The durable receipt of a started ingestion."""

    model_config = ConfigDict(frozen=True)

    ticket_id: str
    tenant_id: str
    collection: str
    count: int
    """URLs that were accepted."""


class RowStatus(BaseModel):
    """Where one page of a ticket stands."""

    url: str
    title: str
    state: RowState
    attempts: int = 0
    error: str | None = None


class TicketStatus(BaseModel):
    """Where a ticket stands. The four counts add up to `count`."""

    ticket_id: str
    collection: str
    count: int
    stored: int = 0
    pending: int = 0
    """Rows that a worker will still take or is working on."""
    to_fetch: int = 0
    """Rows whose page has not been fetched: they wait and are not documents."""
    failed: int = 0
    rows: list[RowStatus] = Field(default_factory=list)

    @property
    def settled(self) -> bool:
        """True when no worker has anything left to do for this ticket."""
        return self.pending == 0


@dataclass(frozen=True, slots=True)
class Claim:
    """A ledger row in one worker's hands; `fence` proves it when the work is finished."""

    row_id: int
    scope: TenantScope
    url: str
    url_key: str
    title: str
    content_ref: str | None
    provenance: Provenance
    attempts: int
    fence: int


@dataclass(frozen=True, slots=True)
class Document:
    """One page of a collection, without its text."""

    url: str
    url_key: str
    title: str
    content_hash: str
    """SHA-256 of the text, hexadecimal."""
    provenance: Provenance = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Chunk:
    """A part of a document: `text` is the document's text from `start` to `end`, in characters."""

    ordinal: int
    text: str
    start: int
    end: int
    vector: NDArray[np.float32] | None = None
    """`(d,)`, unit length; None in a collection that has no embedder."""


@dataclass(frozen=True, slots=True)
class StoredChunk:
    """A chunk that a store found, with its document."""

    document: Document
    chunk: Chunk
    score: float
    """Order within this answer only; higher is better."""


class Passage(BaseModel):
    """A citable answer from a collection."""

    n: int
    """Number of the citation, from 1."""
    url: str
    title: str
    text: str
    score: float
    """Calibrated relevance, 0-100: see `collection_search.scoring`."""
    provenance: dict[str, Any] = Field(default_factory=dict)


class CollectionInfo(BaseModel):
    """A collection in figures."""

    collection: str
    documents: int
    chunks: int
    embedder: str | None = None
    """Fingerprint of the embedder that filled it; None: searched by its words alone."""
    waiting: int = 0
    """Ledger rows not yet stored, those to fetch included."""
    failed: int = 0


class PendingChunk(NamedTuple):
    """A chunk that waits for its new vector."""

    key: int
    """The store's own; another chunk may get it when this one is replaced."""
    text: str


class PendingVectors(NamedTuple):
    """How far the preparation of new vectors is."""

    chunks: list[PendingChunk]
    """The next ones."""
    left: int
    """Chunks without a new vector, these included."""
    total: int
