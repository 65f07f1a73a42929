"""A server on the loopback address that answers a model's API by script, for official clients."""

from __future__ import annotations

import json
import threading
from contextlib import suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import TYPE_CHECKING, Any, Self

if TYPE_CHECKING:
    from collections.abc import Mapping


class ModelServer:
    """The server, running inside a `with` block; its replies are given in order."""

    def __init__(self, *replies: Mapping[str, Any]) -> None:
        self.requests: list[tuple[str, Any]] = []
        """Path and JSON body of each request, in the order of arrival."""
        left, requests = iter(replies), self.requests

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def handle(self) -> None:
                with suppress(ConnectionError):
                    super().handle()

            def do_POST(self) -> None:
                size = int(self.headers["Content-Length"])
                requests.append((self.path, json.loads(self.rfile.read(size))))
                body = json.dumps(next(left)).encode()
                self.send_response(200)
                self.send_header("Content-Type", "application/json")
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, format: str, *args: Any) -> None:  # noqa: A002 - given
                """Log nothing."""

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._server.daemon_threads = True
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.02,))

    @property
    def address(self) -> str:
        """Scheme, host and port."""
        return f"http://127.0.0.1:{self._server.server_port}"

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *exc_info: object) -> None:
        self._server.shutdown()
        self._thread.join()
        self._server.server_close()


def chat_reply(message: Mapping[str, Any]) -> dict[str, Any]:
    """Return a chat completion with this message of the assistant."""
    reason = "tool_calls" if message.get("tool_calls") else "stop"
    choice = {
        "index": 0,
        "finish_reason": reason,
        "logprobs": None,
        "message": {"role": "assistant", "content": None, "refusal": None, **message},
    }
    return {
        "id": "chatcmpl-1",
        "object": "chat.completion",
        "created": 1,
        "model": "double",
        "choices": [choice],
    }


def response_reply(*items: Mapping[str, Any]) -> dict[str, Any]:
    """Return a response with these output items."""
    return {
        "id": "resp_1",
        "object": "response",
        "created_at": 1,
        "model": "double",
        "output": list(items),
        "parallel_tool_calls": True,
        "tool_choice": "auto",
        "tools": [],
        "status": "completed",
    }


def anthropic_reply(*blocks: Mapping[str, Any]) -> dict[str, Any]:
    """Return a message with these content blocks."""
    calls = any(block["type"] == "tool_use" for block in blocks)
    return {
        "id": "msg_1",
        "type": "message",
        "role": "assistant",
        "model": "double",
        "content": list(blocks),
        "stop_reason": "tool_use" if calls else "end_turn",
        "stop_sequence": None,
        "usage": {"input_tokens": 1, "output_tokens": 1},
    }
