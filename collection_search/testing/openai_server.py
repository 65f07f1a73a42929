"""A server on the loopback address that speaks OpenAI's chat-completions protocol by script."""

from __future__ import annotations

import json
import threading
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Final, Self, TypeAlias


@dataclass(frozen=True, slots=True)
class Failure:
    """An error as the protocol words it."""

    status: int
    message: str
    type: str = "invalid_request_error"
    code: str | None = None
    param: str | None = None

    def body(self) -> dict[str, Any]:
        """Return the JSON body."""
        fields = ("message", "type", "param", "code")
        return {"error": {name: getattr(self, name) for name in fields}}


KEY_REFUSED: Final = Failure(
    401, "Incorrect API key provided: sk-wrong*****key.", code="invalid_api_key"
)
MODEL_UNKNOWN: Final = Failure(
    404, "The model `no-such-model` does not exist.", code="model_not_found"
)
THROTTLED: Final = Failure(
    429, "Rate limit reached for requests.", type="requests", code="rate_limit_exceeded"
)
QUOTA_USED_UP: Final = Failure(
    429,
    "You exceeded your current quota, please check your plan and billing details.",
    type="insufficient_quota",
    code="insufficient_quota",
)
SERVER_ERROR: Final = Failure(
    500, "The server had an error while processing your request.", type="server_error"
)

Reply: TypeAlias = Mapping[str, Any] | str | Failure
"""Structured data in the form that the request asks for, a plain text, or an error."""


@dataclass(frozen=True, slots=True)
class ReceivedRequest:
    """One request as it arrived."""

    path: str
    headers: Mapping[str, str]
    """Names in lower case."""
    body: Mapping[str, Any]

    @property
    def method(self) -> str | None:
        """The method of structured output that the request asks for."""
        form = self.body.get("response_format", {}).get("type")
        if "tools" in self.body:
            return "function_calling"
        return {"json_schema": "json_schema", "json_object": "json_mode"}.get(form)


class OpenAIServer:
    """The server, running inside a `with` block; replies in order, the last one repeated."""

    def __init__(
        self,
        *replies: Reply,
        refuses: frozenset[str] = frozenset(),
        latency_s: float = 0.0,
        usage: tuple[int, int] = (29, 44),
    ) -> None:
        self.requests: list[ReceivedRequest] = []
        self.refuses = refuses
        """Methods of structured output that are answered with an error 400."""
        self.latency_s = latency_s
        self._replies = replies
        self._usage = usage
        self._answered = 0
        self._lock = threading.Lock()
        self._stopping = threading.Event()
        self._server = _Listener(("127.0.0.1", 0), self._handler())
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.02,))

    @property
    def base_url(self) -> str:
        """What a client is given, `/v1` included."""
        return f"http://127.0.0.1:{self._server.server_port}/v1"

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *exc_info: object) -> None:
        self._stopping.set()
        self._server.shutdown()
        self._thread.join()
        self._server.server_close()

    def _answer(self, request: ReceivedRequest) -> tuple[int, dict[str, Any]]:
        reply = self._next(request)
        self._stopping.wait(self.latency_s)
        if isinstance(reply, Failure):
            return reply.status, reply.body()
        return 200, _completion(request, reply, self._usage)

    def _next(self, request: ReceivedRequest) -> Reply:
        with self._lock:
            self.requests.append(request)
            if not request.path.endswith("/chat/completions"):
                return Failure(404, f"Invalid URL (POST {request.path})")
            if request.method in self.refuses:
                return _refusal(request.method)
            self._answered += 1
            return self._replies[min(self._answered, len(self._replies)) - 1]

    def _handler(self) -> type[BaseHTTPRequestHandler]:
        answer = self._answer

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"
            wbufsize = -1  # head and body in one packet

            def handle(self) -> None:
                with suppress(ConnectionError):  # the client has given up waiting
                    super().handle()

            def do_POST(self) -> None:
                size = int(self.headers["Content-Length"])
                headers = {name.lower(): value for name, value in self.headers.items()}
                body = json.loads(self.rfile.read(size))
                self._send(*answer(ReceivedRequest(self.path, headers, body)))

            def _send(self, status: int, body: Mapping[str, Any]) -> None:
                data = json.dumps(body).encode()
                self.send_response(status)
                self.send_header("Content-Type", "application/json")
                self.send_header("Content-Length", str(len(data)))
                self.end_headers()
                self.wfile.write(data)

            def log_message(self, format: str, *args: Any) -> None:  # noqa: A002 - given
                """Keep quiet."""

        return Handler


class _Listener(ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = 256


def _refusal(method: str) -> Failure:
    if method == "function_calling":
        return Failure(400, "This model does not support tools.", param="tools")
    form = "json_schema" if method == "json_schema" else "json_object"
    return Failure(
        400,
        f"Invalid parameter: 'response_format' of type '{form}' is not supported with this model.",
        param="response_format",
    )


def _completion(
    request: ReceivedRequest, reply: Mapping[str, Any] | str, usage: tuple[int, int]
) -> dict[str, Any]:
    given, made = usage
    message, reason = _message(request, reply)
    return {
        "id": "chatcmpl-1",
        "object": "chat.completion",
        "created": 1_767_225_600,
        "model": request.body["model"],
        "choices": [{"index": 0, "message": message, "finish_reason": reason, "logprobs": None}],
        "usage": {
            "prompt_tokens": given,
            "completion_tokens": made,
            "total_tokens": given + made,
        },
    }


def _message(
    request: ReceivedRequest, reply: Mapping[str, Any] | str
) -> tuple[dict[str, Any], str]:
    message: dict[str, Any] = {"role": "assistant", "content": reply, "refusal": None}
    if isinstance(reply, str):
        return message, "stop"
    arguments = json.dumps(reply)
    if request.method != "function_calling":
        return message | {"content": arguments}, "stop"
    function = {"name": request.body["tools"][0]["function"]["name"], "arguments": arguments}
    calls = [{"id": "call_1", "type": "function", "function": function}]
    return message | {"content": None, "tool_calls": calls}, "tool_calls"
