"""Where reviews run: on this machine, or on a LangGraph server."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol

from ...errors import InputError

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from ...context import SearchContext
    from ...contracts.review import Gate


class ReviewHost(Protocol):
    """Reads and decides the open reviews of one place."""

    async def agates(self, *, collection: str | None = None) -> list[Gate]:
        """Return the open gates, the oldest first."""
        ...

    async def agate(self, gate_id: str) -> Gate:
        """Return an open gate. Raises InputError."""
        ...

    async def afind_gate(self, gate_id: str) -> Gate:
        """Return a gate, also a decided one where the place keeps it. Raises InputError."""
        ...

    async def adecide(
        self,
        gate_id: str,
        decision: Mapping[str, Any],
        *,
        approver: str | None = None,
        on_event: Callable[[Any], None] | None = None,
    ) -> Mapping[str, Any]:
        """Decide an open gate and return the output of its run. Raises InputError."""
        ...

    async def asweep(self) -> list[Gate]:
        """Apply the policy of each gate whose deadline has passed; return these gates."""
        ...


def open_host(context: SearchContext, server: str | None, headers: Sequence[str]) -> ReviewHost:
    """Return the server's reviews, or those of this machine. Raises InputError, ConfigError."""
    if server is None:
        if headers:
            raise InputError("--header goes with --server.")
        from ...graphs.collection_review import CollectionReviewGraph

        return CollectionReviewGraph(context)
    from ...adapters.langgraph_server import ServerReviews

    given = dict(_header(one) for one in headers)
    token = context.using().server_token
    if token is not None:
        given = {"authorization": f"Bearer {token.get_secret_value()}", **given}
    return ServerReviews(server, headers=given)


def _header(text: str) -> tuple[str, str]:
    name, colon, value = text.partition(":")
    if not (colon and name.strip() and value.strip() and text.isascii() and text.isprintable()):
        raise InputError("--header needs a name and a value, as 'NAME: VALUE'.")
    return name.strip().lower(), value.strip()
