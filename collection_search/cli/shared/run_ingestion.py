"""The ingestion that a run started, followed to its end."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, NamedTuple

from ...errors import CollectionSearchError
from .failed_pages import UningestedPage, dead_pages
from .put_off import format_put_off, put_off_pages
from .run_summary import count_changes
from .ticket_progress import wait_with_bar

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from ...context import SearchContext
    from .terminal import Screen

WAIT_S: Final = 600.0
_COUNTS: Final = {"stored", "failed", "pending", "to_fetch", "retired"}


class FollowedIngestion(NamedTuple):
    """What became of the ingestion of a run."""

    receipt: dict[str, Any] | None
    failed: Sequence[UningestedPage] = ()


def follow_ingestion(
    receipt: Mapping[str, Any] | None,
    context: SearchContext,
    screen: Screen,
    *,
    timeout_s: float = WAIT_S,
) -> FollowedIngestion:
    """Return the receipt with the ticket's `status`, after waiting, and the pages that failed.

    A failure while waiting is its `error`: the pages were accepted. With a timeout of 0 nothing is
    ingested by this process.
    """
    if not receipt or not receipt["ticket"]:
        return FollowedIngestion(dict(receipt) if receipt else None)
    try:
        status = wait_with_bar(receipt["ticket"], context, screen, timeout_s=timeout_s)
    except CollectionSearchError as error:
        cause = {"kind": type(error).__name__, "message": str(error)}
        return FollowedIngestion({**receipt, "status": None, "error": cause})
    for sentence in format_put_off(put_off_pages(status.rows if timeout_s else ())):
        screen.warn(sentence)
    told = status.model_dump(include=_COUNTS) | count_changes(status.rows)
    return FollowedIngestion({**receipt, "status": told}, dead_pages(status.rows))
