"""A local server that speaks OpenAI's protocol by script: chat and embeddings."""

from __future__ import annotations

import json
import threading
from contextlib import suppress
from http.server import BaseHTTPRequestHandler
from typing import TYPE_CHECKING, Any, Final, Self

from .loopback_listener import LoopbackListener
from .openai_protocol import (
    KEY_REFUSED,
    MODEL_UNKNOWN,
    QUOTA_USED_UP,
    SERVER_ERROR,
    THROTTLED,
    OpenAIFailure,
    RawReply,
    ReceivedRequest,
    ScriptedReply,
    ScriptedToolCalls,
    completion_body,
    embeddings_body,
    refused_method,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = [
    "KEY_REFUSED",
    "MODEL_UNKNOWN",
    "QUOTA_USED_UP",
    "SERVER_ERROR",
    "THROTTLED",
    "OpenAIFailure",
    "OpenAIServer",
    "RawReply",
    "ReceivedRequest",
    "ScriptedReply",
    "ScriptedToolCalls",
]


_NO_REPLY: Final = (
    'No reply is scripted for this double: give it one, as in OpenAIServer({"queries": ["a"]}).'
)


class OpenAIServer:
    """The server, running inside a `with` block; replies in order, the last one repeated.

    A reply to the model that plans searches is `{"queries": ["first", "second", "third"]}`, one
    that calls tools is `ScriptedToolCalls(("web_search", {"query": "tea"}))`. Without any, chat
    fails and embeddings work. Any key is taken. Give the client `base_url` as its address
    (`OPENAI_BASE_URL`).

    The vectors of its embeddings come from the words of the texts and are not of unit length;
    replies for embeddings stand in their place.
    """

    def __init__(
        self,
        *replies: ScriptedReply,
        embeddings: Sequence[OpenAIFailure | RawReply] = (),
        refuses: frozenset[str] = frozenset(),
        latency_s: float = 0.0,
        usage: tuple[int, int] | None = (29, 44),
        dimension: int = 64,
        gives_base64: bool = True,
        models: Sequence[str] = (),
        key: str | None = None,
        listed: OpenAIFailure | RawReply | None = None,
    ) -> None:
        self.requests: list[ReceivedRequest] = []
        self.refuses = refuses
        """Methods of structured output, or `base64`, that are answered with an error 400."""
        self.latency_s = latency_s
        self.dimension = dimension
        """Of vectors whose request names none."""
        self.gives_base64 = gives_base64
        """False for an endpoint that sends lists whatever is asked for."""
        self.models = models
        """Names in the list of models."""
        self.key = key
        """The key that the list of models is shown for; without one it is shown to anybody."""
        self.listed = listed
        """What stands in place of the list."""
        self._replies = replies
        self._embeddings = embeddings
        self._usage = usage
        self._answered = {"chat": 0, "embeddings": 0}
        self._lock = threading.Lock()
        self._stopping = threading.Event()
        self._server = LoopbackListener(self._handler())
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.02,))

    @property
    def base_url(self) -> str:
        """What a client is given, `/v1` included."""
        return f"http://127.0.0.1:{self._server.server_port}/v1"

    @property
    def connections(self) -> int:
        """How many connections were opened so far."""
        return self._server.accepted

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *exc_info: object) -> None:
        self._stopping.set()
        self._server.shutdown()
        self._thread.join()
        self._server.server_close()

    def _answer(self, request: ReceivedRequest) -> RawReply:
        reply = self._next(request)
        self._stopping.wait(self.latency_s)
        if isinstance(reply, RawReply):
            return reply
        if isinstance(reply, OpenAIFailure):
            return RawReply.json(reply.body(), reply.status)
        if reply is None:
            return RawReply.json(self._vectors(request))
        return RawReply.json(completion_body(request, reply, self._usage))

    def _listed(self, request: ReceivedRequest) -> RawReply:
        """Return the list of models, which nobody pays for."""
        with self._lock:
            self.requests.append(request)
        if isinstance(self.listed, RawReply):
            return self.listed
        if self.listed is not None:
            failure = self.listed
        elif not request.path.endswith("/models"):
            failure = OpenAIFailure(404, f"Invalid URL (GET {request.path})")
        elif self.key and request.headers.get("authorization") != f"Bearer {self.key}":
            failure = KEY_REFUSED
        else:
            return RawReply.json(
                {"data": [{"id": name, "object": "model"} for name in self.models]}
            )
        return RawReply.json(failure.body(), failure.status)

    def _next(self, request: ReceivedRequest) -> ScriptedReply | None:
        """Return the scripted reply, None for embeddings without one."""
        with self._lock:
            self.requests.append(request)
            if request.path.endswith("/embeddings"):
                if "encoding_format" in request.body and "base64" in self.refuses:
                    return OpenAIFailure(400, "encoding_format is not supported")
                return self._in_turn("embeddings", self._embeddings) if self._embeddings else None
            if not request.path.endswith("/chat/completions"):
                return OpenAIFailure(404, f"Invalid URL (POST {request.path})")
            if request.method in self.refuses:
                return refused_method(request.method)
            if not self._replies:
                return OpenAIFailure(500, _NO_REPLY)
            return self._in_turn("chat", self._replies)

    def _in_turn(self, kind: str, replies: Sequence[ScriptedReply]) -> ScriptedReply:
        self._answered[kind] += 1
        return replies[min(self._answered[kind], len(replies)) - 1]

    def _vectors(self, request: ReceivedRequest) -> dict[str, Any]:
        return embeddings_body(
            request,
            dimension=self.dimension,
            gives_base64=self.gives_base64,
            counts=self._usage is not None,
        )

    def _handler(self) -> type[BaseHTTPRequestHandler]:
        answer, listed = self._answer, self._listed

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"
            wbufsize = -1  # head and body in one packet

            def handle(self) -> None:
                with suppress(ConnectionError):  # the client has given up waiting
                    super().handle()

            def do_GET(self) -> None:
                headers = {name.lower(): value for name, value in self.headers.items()}
                self._send(listed(ReceivedRequest(self.path, headers, {})))

            def do_POST(self) -> None:
                size = int(self.headers["Content-Length"])
                headers = {name.lower(): value for name, value in self.headers.items()}
                body = json.loads(self.rfile.read(size))
                self._send(answer(ReceivedRequest(self.path, headers, body)))

            def _send(self, raw: RawReply) -> None:
                self.send_response(raw.status)
                own = {"Content-Type": raw.content_type, "Content-Length": str(len(raw.body))}
                for name, value in {**own, **raw.headers}.items():
                    self.send_header(name, value)
                self.end_headers()
                self.wfile.write(raw.body)

            def log_message(self, format: str, *args: Any) -> None:  # noqa: A002 - given
                """Log nothing."""

        return Handler
