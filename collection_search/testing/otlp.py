"""A local server that receives traces like Langfuse: OTLP over HTTP.

Needs the package `opentelemetry-proto`, which comes with `langfuse`.
"""

from __future__ import annotations

import gzip
import json
import threading
from contextlib import suppress
from dataclasses import dataclass
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler
from typing import TYPE_CHECKING, Any, Final, Literal, Self, TypeAlias

from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest

from .loopback_listener import LoopbackListener

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

ScriptedStatus: TypeAlias = int | Literal["hang", "refuse"]
"""An HTTP status, no answer at all, or a connection refused."""

_METADATA: Final = "langfuse.observation.metadata."
_COST: Final = "langfuse.observation.cost_details"
_STATUS: Final = ("UNSET", "OK", "ERROR")


@dataclass(frozen=True, slots=True)
class ReceivedSpan:
    """One span as it arrived, in plain values."""

    name: str
    scope: str
    trace_id: str
    span_id: str
    parent_id: str | None
    attributes: Mapping[str, Any]
    status: str
    """UNSET, OK or ERROR."""
    status_message: str
    events: tuple[Mapping[str, Any], ...]
    started_ns: int
    ended_ns: int
    resource: Mapping[str, Any]
    """Attributes of the process that sent it."""

    @property
    def metadata(self) -> dict[str, Any]:
        """Langfuse's metadata of the observation, decoded from its JSON."""
        return {
            name.removeprefix(_METADATA): json.loads(value)
            for name, value in self.attributes.items()
            if name.startswith(_METADATA)
        }

    @property
    def cost_usd(self) -> float | None:
        """The observation's cost, as Langfuse sums it up."""
        cost = self.attributes.get(_COST)
        return None if cost is None else json.loads(cost)["total"]


@dataclass(frozen=True, slots=True)
class ReceivedExport:
    """One request as it arrived."""

    path: str
    headers: Mapping[str, str]
    """Names in lower case."""
    spans: tuple[ReceivedSpan, ...]


class OtlpServer:
    """The server, running inside a `with` block; what it takes is in `exports` and `spans`."""

    def __init__(self, answer: ScriptedStatus = 200) -> None:
        self.exports: list[ReceivedExport] = []
        self.answer: ScriptedStatus = answer
        """May be changed while the server runs, but for `refuse`."""
        self._arrived = threading.Condition()
        self._stopping = threading.Event()
        self._server = LoopbackListener(self._handler(), listens=answer != "refuse")
        self._thread = threading.Thread(target=self._serve)

    @property
    def base_url(self) -> str:
        """What a client is given."""
        return f"http://127.0.0.1:{self._server.server_port}"

    @property
    def spans(self) -> list[ReceivedSpan]:
        """Every span that arrived, in the order in which they began."""
        spans = [span for export in self.exports for span in export.spans]
        return sorted(spans, key=lambda span: span.started_ns)

    def wait_for(self, count: int, timeout_s: float = 60.0) -> list[ReceivedSpan]:
        """Return the spans once `count` are here. Raises TimeoutError naming those that are."""
        with self._arrived:
            if not self._arrived.wait_for(lambda: len(self.spans) >= count, timeout_s):
                names = [span.name for span in self.spans]
                raise TimeoutError(f"{len(names)} of {count} spans arrived: {names}")
        return self.spans

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *exc_info: object) -> None:
        self._stopping.set()
        if self.answer != "refuse":
            self._server.shutdown()
        self._thread.join()
        self._server.server_close()

    def _serve(self) -> None:
        if self.answer != "refuse":
            self._server.serve_forever(0.02)

    def _status(self, export: ReceivedExport) -> int | None:
        with self._arrived:
            self.exports.append(export)
            self._arrived.notify_all()
        if isinstance(self.answer, int):
            return self.answer
        self._stopping.wait()
        return None

    def _handler(self) -> type[BaseHTTPRequestHandler]:
        status_of = self._status

        def answer() -> ScriptedStatus:
            return self.answer

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def handle(self) -> None:
                with suppress(ConnectionError):  # the client has given up waiting
                    super().handle()

            def do_GET(self) -> None:
                """Name the project of the keys, as Langfuse does."""
                is_ok = self.path == "/api/public/projects" and answer() == HTTPStatus.OK
                body = b'{"data": [{"id": "p1", "name": "demo"}]}' if is_ok else b"{}"
                self.send_response(HTTPStatus.OK if is_ok else HTTPStatus.UNAUTHORIZED)
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            def do_POST(self) -> None:
                size = int(self.headers["Content-Length"])
                body = self.rfile.read(size)
                if len(body) < size:  # the client has gone, or the server stops
                    return
                if self.headers["Content-Encoding"] == "gzip":
                    body = gzip.decompress(body)
                headers = {name.lower(): value for name, value in self.headers.items()}
                status = status_of(ReceivedExport(self.path, headers, tuple(_spans(body))))
                self.close_connection = status is None
                if status is not None:
                    self.send_response(status)
                    self.send_header("Content-Length", "0")
                    self.end_headers()

            def log_message(self, format: str, *args: Any) -> None:  # noqa: A002 - given
                """Log nothing."""

        return Handler


def _spans(body: bytes) -> Iterable[ReceivedSpan]:
    for resource in ExportTraceServiceRequest.FromString(body).resource_spans:
        for scope in resource.scope_spans:
            for span in scope.spans:
                yield ReceivedSpan(
                    name=span.name,
                    scope=scope.scope.name,
                    trace_id=span.trace_id.hex(),
                    span_id=span.span_id.hex(),
                    parent_id=span.parent_span_id.hex() or None,
                    attributes=_plain(span.attributes),
                    status=_STATUS[span.status.code],
                    status_message=span.status.message,
                    events=tuple(
                        {"name": event.name, **_plain(event.attributes)} for event in span.events
                    ),
                    started_ns=span.start_time_unix_nano,
                    ended_ns=span.end_time_unix_nano,
                    resource=_plain(resource.resource.attributes),
                )


def _plain(attributes: Iterable[Any]) -> dict[str, Any]:
    return {attribute.key: _value(attribute.value) for attribute in attributes}


def _value(value: Any) -> Any:
    kind = value.WhichOneof("value")
    if kind == "array_value":
        return [_value(item) for item in value.array_value.values]
    return getattr(value, kind) if kind else None
