"""The base class of the contract suites for stores."""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING, Any, Final

import pytest

from ...contracts.collection import Chunk, Document, TenantScope
from ...contracts.ingestion import IngestionItem, IngestionRequest
from ..clock import FakeClock

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from ...contracts.collection import StoredChunk, Vectors
    from ...contracts.ingestion import Claim, RowState, Ticket, TicketStatus
    from ...ports import Storage

MINE: Final = TenantScope("tenant one", "docs")
THEIRS: Final = TenantScope("tenant two", "docs")
LEASE_S: Final = 15.0
MAX_ATTEMPTS: Final = 3


def document(name: str = "page", text: str = "", **provenance: Any) -> Document:
    """Return a document of the site example.com."""
    return Document(
        url=f"https://example.com/{name}",
        url_key=f"example.com/{name}",
        title=f"Title of {name}",
        content_hash=hashlib.sha256(text.encode()).hexdigest(),
        provenance=provenance,
    )


def chunks(*texts: str, vectors: Vectors | None = None) -> list[Chunk]:
    """Return the texts as the chunks of one document."""
    made, start = [], 0
    for ordinal, text in enumerate(texts):
        vector = None if vectors is None else vectors[ordinal]
        made.append(Chunk(ordinal, text, start, start + len(text), vector))
        start += len(text)
    return made


def axes(*places: int) -> Vectors:
    """Return unit vectors of four dimensions, each along one axis."""
    import numpy as np

    return np.eye(4, dtype=np.float32)[list(places)]


class StoreContract:
    """A store in the test's folder: a subclass defines `storage`."""

    store: Storage
    clock: FakeClock

    def storage(self, folder: Path, *, clock: Callable[[], float], max_attempts: int) -> Storage:
        """Open the store in this folder and return it."""
        raise NotImplementedError

    @pytest.fixture(autouse=True)
    def _opened(self, tmp_path: Path) -> Iterator[None]:
        self.clock = FakeClock()
        self.store = self._reopened(tmp_path)
        yield
        self.store.close()

    def _reopened(self, folder: Path) -> Storage:
        return self.storage(folder, clock=self.clock.time, max_attempts=MAX_ATTEMPTS)

    def _put(self, name: str, *texts: str, scope: TenantScope = MINE, **more: Any) -> None:
        self.store.collections.replace_document(
            scope, document(name, "".join(texts)), chunks(*texts, **more)
        )

    def _enqueue(self, *names: str, scope: TenantScope = MINE, text: str = "text of") -> Ticket:
        refs = self.store.staging.put(scope.tenant_id, [f"{text} {name}" for name in names])
        items = [
            IngestionItem(page.url, page.url_key, page.title, ref)
            for page, ref in zip(map(document, names), refs, strict=True)
        ]
        return self.store.ledger.enqueue(IngestionRequest(scope, items))

    def _claim(self, owner: str = "worker") -> Claim:
        claim = self.store.ledger.claim(owner, lease_s=LEASE_S)
        assert claim is not None
        return claim

    def _finish(self, claim: Claim, text: str = "tea") -> bool:
        page = Document(claim.url, claim.url_key, claim.title, "0" * 64, claim.provenance)
        return self.store.ledger.finish(claim, page, chunks(text))

    def _status(self, ticket: Ticket) -> TicketStatus:
        status = self.store.ledger.status(ticket.tenant_id, ticket.ticket_id)
        assert status is not None
        return status

    def _state(self, ticket: Ticket) -> RowState:
        (row,) = self._status(ticket).rows
        return row.state

    def _texts(self, question: str, scope: TenantScope = MINE, **search: Any) -> list[str]:
        return [one.chunk.text for one in self._found(question, scope, **search)]

    def _found(self, question: str, scope: TenantScope = MINE, **search: Any) -> list[StoredChunk]:
        return self.store.collections.search(scope, question, **search)
