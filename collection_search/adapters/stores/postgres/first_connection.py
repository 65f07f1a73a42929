"""The first connection of a process: what no waiting mends is told at once."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any, Final

import psycopg
from psycopg.conninfo import conninfo_to_dict

from .store_errors import is_refused_connection, translate_failure

if TYPE_CHECKING:
    from collections.abc import Mapping

WAIT_S: Final = 10.0
"""Longest wait for a server that starts."""
_MAX_CONNECTING_S: Final = 10
"""Of one attempt, where the address says nothing: a host may swallow what is sent to it."""
_PAUSE_S: Final = 0.2


def connect_first(
    url: str, options: Mapping[str, Any], *, wait_s: float = WAIT_S
) -> psycopg.Connection[Any]:
    """Return a connection; a server that is not there yet has some time to come. Blocks.

    Raises StoreError. A pool would tell only that there is no connection, and not the reason.
    """
    deadline = time.monotonic() + wait_s
    while True:
        try:
            limit_s = conninfo_to_dict(url).get("connect_timeout", _MAX_CONNECTING_S)
            return psycopg.connect(url, connect_timeout=limit_s, **options)
        except psycopg.Error as error:
            if is_refused_connection(error) or time.monotonic() >= deadline:
                raise translate_failure(url, error) from None  # its context may quote the address
            time.sleep(_PAUSE_S)
