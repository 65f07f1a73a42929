"""The reviews of the LangGraph server in this process, without a socket."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Final

from langgraph_sdk import get_client

from .langgraph_server import ServerReviews

if TYPE_CHECKING:
    from langgraph_sdk.client import LangGraphClient

_SERVER: Final = "langgraph_api.server"


def is_in_server() -> bool:
    """Return whether this process is a LangGraph server."""
    return _SERVER in sys.modules


class LoopbackReviews(ServerReviews):
    """The open reviews of this process's own LangGraph server, of all its users.

    The caller has to look up first whose review it is.
    """

    def __init__(self) -> None:
        super().__init__("http://api")

    def _connect(self) -> LangGraphClient:
        return get_client(url=None, api_key=None)
