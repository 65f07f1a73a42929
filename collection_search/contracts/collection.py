"""Documents, chunks, passages, figures and questions of collections."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final, Literal, NamedTuple, TypeAlias

from pydantic import BaseModel, ConfigDict, Field

from ..errors import InputError

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

Vectors: TypeAlias = "NDArray[np.float32]"
"""`(n, d)` float32, rows of unit length."""

_DIMENSIONS = re.compile(r"@\d+$")


@dataclass(frozen=True, slots=True)
class Embedded:
    """The vectors of texts, with the tokens that they took."""

    vectors: Vectors
    """One row per text, in order."""
    input_tokens: int | None = None
    """None when it is not known."""


def model_of(fingerprint: str) -> str:
    """Return an embedder's model as its provider knows it: without vendor and dimension.

    >>> model_of("openai:text-embedding-3-small@512"), model_of("a-model-of-my-own")
    ('text-embedding-3-small', 'a-model-of-my-own')
    """
    name = _DIMENSIONS.sub("", fingerprint)
    return name.partition(":")[2] or name


Provenance: TypeAlias = Mapping[str, Any]
"""Where a document comes from, JSON-plain: question, query, provider, rank, scores, ids, times."""


@dataclass(frozen=True, slots=True)
class TenantScope:
    """A tenant's collection: required by every read and write of a store.

    Raises InputError for a name that no collection can have.
    """

    tenant_id: str
    collection: str

    def __post_init__(self) -> None:
        for name, value in (("tenant_id", self.tenant_id), ("collection", self.collection)):
            if not value.strip() or len(value) > 200 or not value.isprintable():  # noqa: PLR2004
                raise InputError(f"{name} needs 1 to 200 printable characters, got {value!r}.")


AddressKind = Literal["redirect", "canonical", "equal_text"]
"""Why a further URL leads to a document."""


@dataclass(frozen=True, slots=True)
class Document:
    """One page of a collection, without its text."""

    url: str
    url_key: str
    title: str
    content_hash: str
    """SHA-256 of the text, hexadecimal."""
    provenance: Provenance = field(default_factory=dict)
    also_at: tuple[str, ...] = ()
    """Further URLs of the page, in alphabetical order: redirects, and others with equal text."""


@dataclass(frozen=True, slots=True)
class Chunk:
    """A part of a document: `text` is the document's text from `start` to `end`, in characters."""

    ordinal: int
    text: str
    start: int
    end: int
    vector: NDArray[np.float32] | None = None
    """`(d,)`, unit length; None in a collection that has no embedder."""
    headings: tuple[str, ...] = ()
    """The headings above it, outermost first; empty for documents stored by earlier versions."""
    page: int | None = None
    """The page of a PDF on which it begins, from 1; None for documents without pages."""
    table_header: str | None = None
    """The header of the table that it continues, which is not in `text`."""

    @property
    def whole_text(self) -> str:
        """Return the text below its table's header: what is searched, embedded and cited."""
        return f"{self.table_header}\n{self.text}" if self.table_header else self.text


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
    """Below the header of the table that it continues, if it does."""
    score: float
    """Calibrated relevance, 0-100: see `collection_search.ranking.scoring`."""
    evidence: float | None = None
    """How well it answers the question, 0-100: see `collection_search.ranking.evidence`."""
    provenance: dict[str, Any] = Field(default_factory=dict)


class CollectionInfo(BaseModel):
    """A collection in figures."""

    collection: str
    documents: int
    chunks: int
    embedder: str | None = None
    """Fingerprint of the embedder that filled it, with the form of `contracts.embedded_text`; None:
    searched by its words alone."""
    waiting: int = 0
    """Ledger rows not yet done, those to fetch included."""
    failed: int = 0


class StoredDocument(NamedTuple):
    """A document with its chunks in order."""

    document: Document
    chunks: list[Chunk]


class LastCoverage(BaseModel):
    """The result of the last verification of a question with its planned queries."""

    model_config = ConfigDict(frozen=True)

    query_count: int
    gaps: list[str] = Field(default_factory=list)
    """The queries that the collection did not answer."""
    best_scores: dict[str, float | None] = Field(default_factory=dict)
    """How well the best passage answers each query, in the order in which they were asked; empty
    for what earlier versions stored."""
    verified_at: float
    """Unix time."""


class QuestionRecord(BaseModel):
    """A question of a collection, which a refresh asks again."""

    model_config = ConfigDict(frozen=True)

    question: str
    purpose: str = ""
    quality_mode: str = "standard"
    max_candidates: int = 20
    provider: str | None = None
    """The provider that it was asked of. None: an earlier version stored it, and the settings
    choose."""
    is_provider_live: bool = False
    """Whether that was an object of the program that asked: no name makes it again."""
    auto_ingest_top_k: int | None = None
    auto_ingest_min_score: float | None = None
    queries: list[str] = Field(default_factory=list)
    """What was searched for to answer it; empty where that was not stored."""
    is_pdf: bool | None = None
    """True: it asks for PDFs only; False: for everything else."""
    criteria: list[str] = Field(default_factory=list)
    """Conditions that its pages must meet."""
    url_keys: list[str] = Field(default_factory=list)
    """Pages of its last result, best first. Of a reviewed one those that the review approved."""
    is_reviewed: bool | None = None
    """Whether a review, or a person on the page, chose its pages: a refresh brings no new ones.
    None where an earlier version stored it: its reviews tell."""
    removed: list[str] = Field(default_factory=list)
    """Keys of pages that were deleted one by one, set by the store: a refresh brings none back."""
    coverage: LastCoverage | None = None
    """None where it was not verified since it was asked last."""
    first_asked_at: float = 0.0
    """Unix time, set by the store, as is the next."""
    last_asked_at: float = 0.0


class Deleted(BaseModel):
    """The counts of a deletion."""

    collections: int = 0
    documents: int = 0
    pages: int = 0
    """Ledger rows."""
    texts: int = 0
    """Staged texts and sessions."""
    questions: int = 0
    crawls: int = 0
    gates: int = 0
    """Reviews that runs have asked for."""
    comparisons: int = 0
    """Runs that were ranked by two profiles."""


class Compaction(BaseModel):
    """The size of the database before and after its free space went back to the system."""

    bytes_before: int
    bytes_after: int


Filters: TypeAlias = Mapping[str, Any]
"""Conditions of the documents that a search may return; all given keys apply:

- `is_pdf`: bool
- `provider`, `source`, `host`, `url_key`: a text, or several of which one must fit; a host has its
  port where the URL has one; a source is that of the provenance or the URL
- `url_prefix`: a text that the URL starts with
- `published_after`, `published_before`: ISO dates, both inclusive; `published_date`: one or
  several; pages without a date do not fit
- `metadata`: a mapping of names to plain values, or to several of which one must fit; they are
  compared with the metadata that the document's caller gave, else with its provenance

A text that a caller stored with metadata of its own fits by these names in there as well.
"""
FILTER_KEYS: Final = (
    "host",
    "is_pdf",
    "metadata",
    "provider",
    "published_after",
    "published_before",
    "published_date",
    "source",
    "url_key",
    "url_prefix",
)
OWN_PROVIDER: Final = "langchain"
"""Provider of a document that a caller stored with metadata of its own."""
OWN_METADATA: Final = "metadata"
"""Key of that metadata in its provenance."""


def validate_filters(filters: Any) -> None:
    """Raise InputError for filters that are no mapping.

    >>> validate_filters({"is_pdf": True})
    """
    if not isinstance(filters, Mapping | None):
        raise InputError(
            "filters must be a mapping of names to values or None, but"
            f" {type(filters).__name__!r} was given."
        )


class PendingChunk(NamedTuple):
    """A chunk that waits for its new vector."""

    key: int
    """The store's own key; another chunk may get it when this one is replaced."""
    text: str
    title: str
    """Of its document."""


class PendingVectors(NamedTuple):
    """The progress of the preparation of new vectors."""

    chunks: list[PendingChunk]
    """The next ones."""
    left: int
    """Chunks without a new vector, these included."""
    total: int
