"""The listener below the doubles of this package: one thread for each connection."""

from __future__ import annotations

import socket
from contextlib import suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any


class LoopbackListener(ThreadingHTTPServer):
    """An HTTP server on a port of 127.0.0.1 whose end is the end of its connections.

    A connection that is kept alive would be answered by a stopped server otherwise, even after the
    system has given the port to another one.
    """

    daemon_threads = False  # closing waits for them, so that none is left behind
    request_queue_size = 256

    def __init__(self, handler: type[BaseHTTPRequestHandler], *, listens: bool = True) -> None:
        self.accepted = 0
        """Connections that were opened until now."""
        self._open: set[socket.socket] = set()
        super().__init__(("127.0.0.1", 0), handler, bind_and_activate=listens)
        if not listens:
            self.server_bind()  # the port is ours, yet nobody listens

    def get_request(self) -> tuple[socket.socket, Any]:
        """Accept one connection and remember it."""
        connection, address = super().get_request()
        self.accepted += 1
        self._open.add(connection)
        return connection, address

    def close_request(self, request: Any) -> None:
        """Close one connection and forget it."""
        self._open.discard(request)
        super().close_request(request)

    def server_close(self) -> None:
        """Close the port and every connection, and wait for the threads that serve them."""
        for connection in list(self._open):
            with suppress(OSError):
                connection.shutdown(socket.SHUT_RDWR)
        super().server_close()
