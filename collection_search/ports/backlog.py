"""Ports of the ingestion's backlog: who can count it, and where the figures go."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol, runtime_checkable

if TYPE_CHECKING:
    from collections.abc import Mapping

    from ..contracts.ingestion import Priority


@runtime_checkable
class BacklogMetrics(Protocol):
    """A receiver of the backlog's figures. It is called from an event loop and must not block.

    A `SearchMetrics` that has these methods too is given the figures by a server. None stands for
    a look that failed: what was known before is no longer true. No figure is of one tenant.
    """

    def record_rows(
        self, due: Mapping[str, int] | None, dead: Mapping[str, int] | None = None
    ) -> None:
        """Take the ledger's rows that are due, and those that were given up, by priority."""
        ...

    def record_messages(self, ready: Mapping[str, int] | None) -> None:
        """Take the messages that wait in the broker, by the short name of their queue."""
        ...


@runtime_checkable
class CountsDead(Protocol):
    """A ledger that counts the rows that were given up."""

    def dead(self, *, limit: int) -> dict[Priority, int]:
        """Return how many rows of each priority were given up, counted up to the limit."""
        ...


@runtime_checkable
class CountsMessages(Protocol):
    """A `WorkQueue` that counts what waits in all of its queues; safe for threads."""

    def ready(self) -> dict[str, int]:
        """Return how many messages wait, by the short name of their queue.

        Those that nobody works on any more are `dead`. Blocks. Raises IngestError.
        """
        ...
