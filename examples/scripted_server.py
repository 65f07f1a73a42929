"""The scripted model as an endpoint on this machine that speaks like OpenAI and Anthropic."""

from __future__ import annotations

import json
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import TYPE_CHECKING, Any, Self

from scripted import Call

if TYPE_CHECKING:
    from scripted import Script


class ScriptedServer:
    """The endpoint, running inside a `with` block; `requests` has what it was sent."""

    host = "127.0.0.1"

    def __init__(self, script: Script) -> None:
        self.requests: list[dict[str, Any]] = []
        self._script = script
        self._server = ThreadingHTTPServer((self.host, 0), self._handler())
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.02,))

    @property
    def base_url(self) -> str:
        """The address without `/v1`."""
        return f"http://{self.host}:{self._server.server_port}"

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._server.shutdown()
        self._thread.join()
        self._server.server_close()

    def _answer(self, path: str, request: dict[str, Any]) -> dict[str, Any]:
        self.requests.append(request)
        step = self._script.next(json.dumps(request["messages"]))
        name = f"call_{len(self.requests)}"
        write = _of_anthropic if path.endswith("/messages") else _of_openai
        return write(step, name) | {"model": request["model"]}

    def _handler(self) -> type[BaseHTTPRequestHandler]:
        answer = self._answer

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                request = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
                body = json.dumps(answer(self.path, request)).encode()
                self.send_response(200)
                self.send_header("Content-Type", "application/json")
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, *_: Any) -> None:
                """Log nothing."""

        return Handler


def _of_openai(step: Call | str, name: str) -> dict[str, Any]:
    message: dict[str, Any] = {"role": "assistant", "content": step}
    if isinstance(step, Call):
        function = {"name": step.name, "arguments": json.dumps(step.arguments)}
        calls = [{"id": name, "type": "function", "function": function}]
        message |= {"content": None, "tool_calls": calls}
    reason = "tool_calls" if isinstance(step, Call) else "stop"
    return {
        "id": "chatcmpl-1",
        "object": "chat.completion",
        "created": 0,
        "choices": [{"index": 0, "message": message, "finish_reason": reason}],
    }


def _of_anthropic(step: Call | str, name: str) -> dict[str, Any]:
    block: dict[str, Any] = {"type": "text", "text": step}
    if isinstance(step, Call):
        block = {"type": "tool_use", "id": name, "name": step.name, "input": step.arguments}
    return {
        "id": "msg_1",
        "type": "message",
        "role": "assistant",
        "content": [block],
        "stop_reason": "tool_use" if isinstance(step, Call) else "end_turn",
        "stop_sequence": None,
        "usage": {"input_tokens": 0, "output_tokens": 0},
    }
