"""Requests, tickets, claims and results of an ingestion."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import IntEnum
from typing import TYPE_CHECKING, Any, Literal

from pydantic import BaseModel, ConfigDict, Field

if TYPE_CHECKING:
    from collections.abc import Sequence

    from .collection import Provenance, TenantScope
    from .page import PageRules, Validators

RowState = Literal["waiting", "to_fetch", "working", "stored", "dead", "retired"]
"""State of a ledger row. `waiting`: its text is staged, any worker may claim it. `to_fetch`: only a
worker that fetches may claim it. `dead`: given up. `retired`: the page vanished, and its document
was deleted."""

PageChange = Literal["new", "changed", "unchanged", "duplicate", "gone"]
"""Result of the last ingestion, compared with what was stored before. `duplicate`: the
text is stored under another address of the page."""

PageOutcome = Literal[PageChange, "failed"]
"""Result of a claim. `failed`: the page was given up."""


@dataclass(frozen=True, slots=True)
class IngestionItem:
    """One page to ingest. Without `content_ref` only its address and snippet are known."""

    url: str
    url_key: str
    title: str
    content_ref: str | None = None
    provenance: Provenance = field(default_factory=dict)


KnownPages = Literal["keep", "retry", "renew"]
"""Known pages that a request starts again. `keep`: retired ones. `retry`: dead ones, too. `renew`:
stored ones that were fetched, too."""


class Priority(IntEnum):
    """Order of waiting pages: all of one priority are taken before those of the next."""

    INTERACTIVE = 0
    """Somebody asked for the page."""
    REFRESH = 1


@dataclass(frozen=True, slots=True)
class IngestionRequest:
    """Pages for one collection, with the ids of the run that chose them."""

    scope: TenantScope
    items: Sequence[IngestionItem]
    question: str | None = None
    run_id: str | None = None
    trace_id: str | None = None
    known: KnownPages = "retry"
    priority: Priority = Priority.INTERACTIVE
    rules: PageRules | None = None
    """What the fetch of these pages may do; None: what the settings of a worker permit."""


class Ticket(BaseModel):
    """The durable receipt of a started ingestion."""

    model_config = ConfigDict(frozen=True)

    ticket_id: str
    tenant_id: str
    collection: str
    count: int
    """URLs that were accepted."""


class RowStatus(BaseModel):
    """The state of one page of a ticket."""

    url: str
    url_key: str = ""
    title: str
    state: RowState
    attempts: int = 0
    error: str | None = None
    """Reason of the last failure, postponement or retirement."""
    put_off_until: float | None = None
    """Unix time before which the page is not tried again; None if that is within a minute."""
    change: PageChange | None = None
    """None before the page was stored or retired, and while it is refreshed."""


class TicketStatus(BaseModel):
    """The state of a ticket. The five counts add up to `count`."""

    ticket_id: str
    collection: str
    count: int
    stored: int = 0
    pending: int = 0
    """Rows that any worker may claim or has claimed."""
    to_fetch: int = 0
    """Rows that wait for a worker that fetches."""
    failed: int = 0
    retired: int = 0
    rows: list[RowStatus] = Field(default_factory=list)

    def left(self, *, fetch: bool = False) -> int:
        """Return the number of unfinished rows, with or without those to be fetched."""
        return self.pending + (self.to_fetch if fetch else 0)

    def put_off(self, *, fetch: bool = False) -> list[RowStatus]:
        """Return the unfinished rows if none of them is tried within a minute, else none."""
        states = {"waiting", "working", *(("to_fetch",) if fetch else ())}
        left = [row for row in self.rows if row.state in states]
        return left if all(row.put_off_until is not None for row in left) else []

    @property
    def settled(self) -> bool:
        """Return whether workers that do not fetch have finished this ticket."""
        return self.left() == 0


class DeadLetter(BaseModel):
    """A page that was given up, with the reason."""

    collection: str
    url: str
    url_key: str
    title: str
    attempts: int
    error: str
    failed_at: float
    """Unix time."""


@dataclass(frozen=True, slots=True)
class Claim:
    """A ledger row that one worker has claimed; `fence` proves the claim at its end."""

    row_id: int
    scope: TenantScope
    url: str
    url_key: str
    title: str
    content_ref: str | None
    provenance: Provenance
    attempts: int
    fence: int
    validators: Validators
    """For a conditional request; empty unless the page is stored as it was fetched, title too."""
    content_hash: str | None = None
    """SHA-256 of the stored page's bytes; None unless it is stored as it was fetched."""
    text_hash: str | None = None
    """`Document.content_hash` of what is stored for the page now; None when nothing is."""
    document_title: str | None = None
    """Title of the page's own document; None when it has none, or another address has it."""
    fetched_title: str | None = None
    """`Fetched.title` of the last fetch."""
    is_refresh: bool = False
    """The page is to be fetched again; what is stored stays readable until it is replaced."""
    extracted: ExtractedPage | None = None
    """The page as an earlier claim fetched it, when only the rest of the work failed."""
    rules: PageRules | None = None
    """What the fetch may do; None: what the settings of the process permit."""
    probes: tuple[str, ...] = ()
    """Causes of `Pause`s that this claim tries out."""
    page_kind: str = ""
    """`Fetched.kind` of the stored page; blank where it is not known."""
    parser: str = ""
    """`Fetched.parser` of the stored page."""

    @property
    def needs_fetch(self) -> bool:
        """Return whether no text of the page is staged."""
        return self.content_ref is None and self.extracted is None


@dataclass(frozen=True, slots=True)
class PageDone:
    """A finished claim, with the error when the page vanished or failed."""

    claim: Claim
    outcome: PageOutcome
    error: str = ""


@dataclass(frozen=True, slots=True)
class Fetched:
    """The facts of a fetched page."""

    final_url: str
    """After all redirects."""
    canonical_url: str | None
    validators: Validators
    body_hash: str
    """SHA-256 of the decoded bytes, hexadecimal."""
    fetched_at: float
    """Unix time."""
    status: int
    kind: str
    """What the bytes are: `html`, `pdf`, `text` ..."""
    truncated_at_page: int | None = None
    """The last page of a PDF whose text was read, if there are more."""
    parser: str = ""
    """The setting `parsers` for pages of this kind; blank for the built-in reader."""
    title: str | None = None
    """The page's title; None in what earlier versions stored."""


@dataclass(frozen=True, slots=True)
class ExtractedPage:
    """The text of a fetched page that waits to be stored, by its reference in the staging."""

    content_ref: str
    title: str
    fetched: Fetched


class Pause(BaseModel):
    """Work that waits until a cause outside of the pages is gone."""

    model_config = ConfigDict(frozen=True)

    cause: str
    """`network`, `host:` with a URL's netloc, `embedder:` with a fingerprint, or `proxy`."""
    reason: str
    """The error of the last try."""
    since: float
    """Unix time of the first failure."""
    until: float
    """Unix time of the next try, with one page."""
    pages: int = 0
    """Pages that wait."""


class StagedSession(BaseModel):
    """Candidates that were acquired and can be ingested later."""

    model_config = ConfigDict(frozen=True)

    session_id: str
    collection: str
    created_at: float
    """Unix time."""
    facts: dict[str, Any] = Field(default_factory=dict)
    """JSON-plain: source, mode, query, ids of the run ..."""
    candidates: list[dict[str, Any]] = Field(default_factory=list)
    """JSON-plain, best first; `content_ref` names the staged text where there is one."""
