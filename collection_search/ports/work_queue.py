"""Port of the message queue that wakes the workers of an ingestion."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol, runtime_checkable

if TYPE_CHECKING:
    from ..contracts.ingestion import Priority


@runtime_checkable
class WorkQueue(Protocol):
    """Messages that say that rows of a priority are due; safe for threads.

    They name no row: a worker takes the row whose turn it is in the ledger. So a message that is
    lost or comes twice changes nothing.
    """

    def depth(self, priority: Priority) -> int:
        """Return how many messages wait. Blocks. Raises IngestError."""
        ...

    def send(self, priority: Priority, count: int) -> None:
        """Send so many messages; each is safe once this returns. Blocks. Raises IngestError."""
        ...


class QueuedWork(Protocol):
    """The work on rows for the messages of a queue; safe for threads."""

    def work(self, message_id: str, priority: Priority, *, is_redelivered: bool = False) -> int:
        """Work on rows that are due, up to the priority; return how many. Blocks.

        A message that is delivered again had a worker that is gone: its row is taken over at once.
        Raises StoreError.
        """
        ...

    def sweep(self) -> int:
        """Return rows of ended workers to the ledger, and send missing messages; return how many.

        Does nothing while another process sweeps. Blocks. Raises IngestError, StoreError.
        """
        ...

    def stop(self, *, timeout_s: float = ...) -> bool:
        """Claim no further rows, and release those not done in time; return whether all were."""
        ...
