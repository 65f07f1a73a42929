"""A local server that answers like a search provider, or fails by script."""

from __future__ import annotations

import json
import os
import socket
import struct
import threading
from contextlib import suppress
from dataclasses import dataclass
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler
from typing import TYPE_CHECKING, Any, Final, Self, cast
from urllib.parse import parse_qsl, urlsplit

from .loopback_listener import LoopbackListener
from .providers.brave import Brave
from .providers.exa import Exa
from .providers.faults import gateway_failures, misbehaviours
from .providers.google import Google
from .providers.kagi import Kagi
from .providers.linkup import Linkup
from .providers.mojeek import Mojeek
from .providers.openalex import OpenAlex
from .providers.perplexity import Perplexity
from .providers.searxng import Searxng
from .providers.serpapi import SerpApi
from .providers.serper import Serper
from .providers.tavily import Tavily
from .providers.wikipedia import Wikipedia
from .providers.wire import Dialect, ProviderFailure, ProviderRequest, Reply

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

DIALECTS: Final[Mapping[str, type[Dialect]]] = {
    dialect.name: dialect
    for dialect in (
        Brave,
        Exa,
        Google,
        Kagi,
        Linkup,
        Mojeek,
        OpenAlex,
        Perplexity,
        Searxng,
        SerpApi,
        Serper,
        Tavily,
        Wikipedia,
    )
}

_BLANKS: Final = b" " * 65_536
_POLL_S: Final = 0.005
_DRIP_S: Final = 0.01
_SLOW_BYTES: Final = 1_000_000
_RESET_ON_CLOSE: Final = struct.pack("ii", 1, 0)
"""SO_LINGER: on, no time."""


@dataclass(slots=True)
class _Script:
    reply: Reply
    after: int
    """Requests that are answered as usual before."""
    times: int | None
    """Requests that get the reply; None: every further one."""

    def next(self) -> Reply | None:
        if self.after:
            self.after -= 1
            return None
        if self.times is None:
            return self.reply
        self.times -= 1
        return self.reply if self.times >= 0 else None


class ProviderServer:
    """The server, running inside a `with` block; keeps connections alive as vendors do.

    `dialect` is a name of `DIALECTS` or any `Dialect`. Its made-up index has pages about "asyncio"
    (45), "sqlite" (7), "python" (230) and "markup" (1), and nothing about anything else. Give the
    adapter `base_url` as its address (`TAVILY_BASE_URL` and the like) and `key` as its key; any
    other key is refused. `fail("throttled")` and the other names of `failures` make it fail.
    """

    def __init__(self, dialect: str | Dialect) -> None:
        self.dialect = DIALECTS[dialect]() if isinstance(dialect, str) else dialect
        self.requests: list[ProviderRequest] = []
        """Every request, in the order of arrival."""
        self.refused: list[ProviderRequest] = []
        """Those that did not pass the vendor's checks; scripted failures do not count."""
        self._script: _Script | None = None
        self._lock = threading.Lock()
        self._stopping = threading.Event()
        self._running: tuple[_Listener, threading.Thread] | None = None

    @property
    def base_url(self) -> str:
        """Scheme, host and port, to which the vendor's documented path is appended."""
        return f"http://127.0.0.1:{self._listener.server_port}"

    @property
    def key(self) -> str:
        """The one key that is accepted."""
        return self.dialect.key

    @property
    def connections(self) -> int:
        """How many connections were opened so far."""
        return self._listener.accepted

    @property
    def failures(self) -> Mapping[str, ProviderFailure]:
        """What `fail` takes, by name: the vendor's own errors, gateways', and broken answers."""
        dialect = self.dialect
        return {**gateway_failures(dialect), **misbehaviours(dialect), **dialect.failures()}

    def fail(self, name: str, *, after: int = 0, times: int | None = None) -> ProviderFailure:
        """Fail in this way, for `times` requests after `after` good ones; return what to expect."""
        failure = self.failures[name]
        self.reply(failure.reply, after=after, times=times)
        return failure

    def reply(self, reply: Reply, *, after: int = 0, times: int | None = None) -> None:
        """Give this reply, for `times` requests after `after` usual ones."""
        self._script = _Script(reply, after, times)

    def recover(self) -> None:
        """Answer as usual again."""
        self._script = None

    def __enter__(self) -> Self:
        listener = _Listener(self._answer, self._stopping)
        thread = threading.Thread(target=listener.serve_forever, args=(_POLL_S,))
        self._running = listener, thread
        thread.start()
        return self

    def __exit__(self, *exc_info: object) -> None:
        if self._running:
            listener, thread = self._running
            self._stopping.set()
            listener.shutdown()
            thread.join()
            listener.server_close()

    @property
    def _listener(self) -> _Listener:
        if self._running is None:
            raise RuntimeError("the server runs inside a `with` block only")
        return self._running[0]

    def _answer(self, request: ProviderRequest) -> Reply:
        with self._lock:
            self.requests.append(request)
            scripted = self._script.next() if self._script else None
        if scripted is None:
            reply = self.dialect.answer(request)
            if reply.status >= HTTPStatus.BAD_REQUEST:
                self.refused.append(request)
            return reply
        if scripted.mishap == "held":
            self._stopping.wait()
        if scripted.shows_request:
            shown = f"<p>{request.target}</p><pre>{dict(request.headers)}</pre>".encode()
            return Reply(scripted.status, scripted.body + shown, scripted.headers)
        return scripted


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    wbufsize = -1  # head and body in one packet
    disable_nagle_algorithm = True

    def handle(self) -> None:
        with suppress(OSError):  # the client has gone, or the server stops
            super().handle()

    def finish(self) -> None:
        with suppress(OSError):
            super().finish()

    def do_GET(self) -> None:
        address = urlsplit(self.path)
        body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        request = ProviderRequest(
            method=self.command,
            path=address.path,
            params=dict(parse_qsl(address.query, keep_blank_values=True)),
            headers={name.lower(): value for name, value in self.headers.items()},
            target=self.path,
            body=_json(body),
        )
        reply = cast("_Listener", self.server).answer(request)
        self.close_connection = reply.mishap is not None or self.close_connection
        if reply.mishap == "reset":
            _reset(self.connection)
        elif reply.mishap == "garbled":
            self.wfile.write(b"220 mail.example.com ESMTP ready\r\n\r\n")
        elif reply.mishap != "held":
            self._send(reply)
        if reply.mishap == "slow":
            listener = cast("_Listener", self.server)
            while not listener.stopping.wait(_DRIP_S):
                self.wfile.write(b" ")
                self.wfile.flush()

    do_POST = do_GET  # noqa: N815 - given

    def _send(self, reply: Reply) -> None:
        self.send_response(reply.status)
        for name, value in reply.headers.items():
            self.send_header(name, value)
        if reply.status != HTTPStatus.NO_CONTENT:
            size = reply.padding + len(reply.body) + (reply.mishap == "cut")
            size = _SLOW_BYTES if reply.mishap == "slow" else size
            self.send_header("Content-Length", str(size))
        self.end_headers()
        if reply.mishap == "slow":
            return
        for start in range(0, reply.padding, len(_BLANKS)):
            self.wfile.write(_BLANKS[: reply.padding - start])
        self.wfile.write(reply.body)

    def log_message(self, format: str, *args: Any) -> None:  # noqa: A002 - given
        """Log nothing."""


class _Listener(LoopbackListener):
    def __init__(
        self, answer: Callable[[ProviderRequest], Reply], stopping: threading.Event
    ) -> None:
        super().__init__(_Handler)
        self.answer = answer
        self.stopping = stopping


def _json(body: bytes) -> Any:
    with suppress(ValueError):
        return json.loads(body)
    return None


def _reset(connection: socket.socket) -> None:
    """Reset the connection as a crashed server does: with RST, not with FIN."""
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, _RESET_ON_CLOSE)
    os.close(connection.detach())
