"""Search, chat and embedding servers on the loopback address, each answer after a fixed time.

Run as a program it is a process of its own: it prints its addresses as one line of JSON and ends
with its standard input. `/control/reset` and `/control/read` on the control address start and read
the log. Times are of the machine's monotonic clock, which all its processes share.
"""

from __future__ import annotations

import asyncio
import base64
import json
import re
import socket
import sys
import time
import zlib
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from functools import cache
from typing import TYPE_CHECKING, Any, Final, Literal, NamedTuple, TypeAlias
from urllib.parse import parse_qs, urlsplit

import numpy as np
import world
from environment import keep_to_cores

from collection_search.testing.embeddings import anchor_vector

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable, Mapping, Sequence

    from numpy.typing import NDArray

Kind: TypeAlias = Literal["chat", "search", "embeddings", "other"]

LATENCY_MS: Final[Mapping[str, float]] = {"chat": 400.0, "search": 200.0, "embeddings": 100.0}
DIMENSIONS: Final = 1536
CHARS_PER_TOKEN: Final = 4
GRADING: Final = "Grade each page"
"""A chat request with these words is answered with one grade for each numbered page."""

_SEND_BUFFER: Final = 1 << 19
"""Holds an answer of 31 vectors, so that one write sends it."""
_VECTORS: Final = 1021
_LENGTH: Final = re.compile(rb"\r\ncontent-length: *(\d+)", re.IGNORECASE)
_LINE: Final = re.compile(rb"([A-Z]+) (\S+) HTTP/1\.1")


class Call(NamedTuple):
    """One answered request, in nanoseconds."""

    kind: Kind
    start: int
    end: int


class Answer(NamedTuple):
    """What is sent once the time of its kind is over."""

    kind: Kind
    body: bytes
    status: str = "200 OK"


@dataclass
class Log:
    """What happened since the last reset."""

    calls: list[Call] = field(default_factory=list)
    connections: dict[str, int] = field(default_factory=dict)
    """New ones, by the kind of their first request."""
    embedding_items: int = 0
    tokens: dict[str, int] = field(default_factory=dict)
    """As `usage` told them: input and output of chat and of grades, and embeddings."""
    cpu_ns: int = field(default_factory=time.process_time_ns)
    """Processor time of the stub; until the log is read, its value at the reset."""

    def count(self, table: dict[str, int], name: str, more: int = 1) -> None:
        """Add to one of the tables."""
        table[name] = table.get(name, 0) + more

    def read(self) -> dict[str, Any]:
        """Return everything in JSON-plain form."""
        return {**vars(self), "cpu_ns": time.process_time_ns() - self.cpu_ns}


class Stub:
    """The servers' common memory and what they answer."""

    def __init__(self, latency_ms: Mapping[str, float] = LATENCY_MS) -> None:
        self.log = Log()
        self.models_url = self.search_url = self.control_url = ""
        self._latency_s = {kind: value / 1000 for kind, value in latency_ms.items()}

    def receive(self, path: str, body: bytes, started: int, write: Callable[[bytes], None]) -> Kind:
        """Answer one request when its time has come; return its kind."""
        answer = self._answer(path, body)
        sent = _http(answer)
        delay_s = self._latency_s.get(answer.kind, 0.0)
        asyncio.get_running_loop().call_later(
            delay_s, self._send, answer.kind, started, sent, write
        )
        return answer.kind

    def _send(self, kind: Kind, started: int, data: bytes, write: Callable[[bytes], None]) -> None:
        write(data)
        if kind != "other":
            self.log.calls.append(Call(kind, started, time.monotonic_ns()))

    def _answer(self, path: str, body: bytes) -> Answer:
        route = urlsplit(path).path
        if route == "/control/reset":
            self.log = Log()
            return Answer("other", b"{}")
        if route == "/control/read":
            return Answer("other", json.dumps(self.log.read()).encode())
        if route == "/v1/chat/completions":
            return self._chat(json.loads(body))
        if route == "/v1/embeddings":
            return self._embeddings(json.loads(body))
        if route == "/search":
            return _search(path, json.loads(body) if body else None)
        return Answer("other", b'{"error": {"message": "Not Found"}}', "404 Not Found")

    def _chat(self, request: Mapping[str, Any]) -> Answer:
        asked = "".join(str(message["content"]) for message in request["messages"])
        purpose, text = _reply(asked)
        given, made = len(asked) // CHARS_PER_TOKEN, len(text) // CHARS_PER_TOKEN
        self.log.count(self.log.tokens, f"{purpose} input", given)
        self.log.count(self.log.tokens, f"{purpose} output", made)
        message, reason = _message(request, text)
        completion = {
            "id": "chatcmpl-1",
            "object": "chat.completion",
            "created": 1_767_225_600,
            "model": request["model"],
            "choices": [
                {"index": 0, "message": message, "finish_reason": reason, "logprobs": None}
            ],
            "usage": {
                "prompt_tokens": given,
                "completion_tokens": made,
                "total_tokens": given + made,
            },
        }
        return Answer("chat", json.dumps(completion).encode())

    def _embeddings(self, request: Mapping[str, Any]) -> Answer:
        given = request["input"]
        texts = [given] if isinstance(given, str) else given
        tokens = sum(len(text) for text in texts) // CHARS_PER_TOKEN
        self.log.embedding_items += len(texts)
        self.log.count(self.log.tokens, "embeddings", tokens)
        model = json.dumps(request["model"]).encode()
        usage = b'"usage":{"prompt_tokens":%d,"total_tokens":%d}' % (tokens, tokens)
        items = b",".join(
            b'{"object":"embedding","index":%d,"embedding":%b}' % (index, vector)
            for index, vector in enumerate(_vectors(texts, request.get("encoding_format")))
        )
        body = b'{"object":"list","data":[%b],"model":%b,%b}' % (items, model, usage)
        return Answer("embeddings", body)


class Connection(asyncio.Protocol):
    """One kept-alive connection, one request at a time."""

    def __init__(self, stub: Stub) -> None:
        self._stub = stub
        self._received = b""
        self._is_new = True

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Make room for a whole answer."""
        assert isinstance(transport, asyncio.Transport)
        self._transport = transport
        connection = transport.get_extra_info("socket")
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, _SEND_BUFFER)

    def data_received(self, data: bytes) -> None:
        """Answer a request as soon as it is complete."""
        self._received += data
        head, end, body = self._received.partition(b"\r\n\r\n")
        length = _LENGTH.search(head)
        if not end or len(body) < int(length[1] if length else 0):
            return
        self._received = b""
        line = _LINE.match(head)
        path = line[2].decode() if line else ""
        started = time.monotonic_ns()
        kind = self._stub.receive(path, body, started, self._transport.write)
        if self._is_new and kind != "other":
            self._is_new = False
            self._stub.log.count(self._stub.log.connections, kind)


@asynccontextmanager
async def serving(latency_ms: Mapping[str, float] = LATENCY_MS) -> AsyncIterator[Stub]:
    """Give a stub whose servers run in this event loop."""
    stub, loop = Stub(latency_ms), asyncio.get_running_loop()
    servers = [
        await loop.create_server(lambda: Connection(stub), "127.0.0.1", 0, backlog=1024)
        for _ in range(3)
    ]
    ports = [server.sockets[0].getsockname()[1] for server in servers]
    models, stub.search_url, stub.control_url = (f"http://127.0.0.1:{port}" for port in ports)
    stub.models_url = f"{models}/v1"
    try:
        yield stub
    finally:
        for server in servers:
            server.close()


def _http(answer: Answer) -> bytes:
    return b"HTTP/1.1 %b\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n%b" % (
        answer.status.encode(),
        len(answer.body),
        answer.body,
    )


def _reply(asked: str) -> tuple[str, str]:
    """Return what is asked for, a plan ("chat") or grades, and the structured answer."""
    if GRADING in asked:
        pages = len(re.findall(r"^\[\d+\] ", asked, re.MULTILINE))
        return "grades", json.dumps({"grades": [page % 4 for page in range(pages)]})
    number = world.number_of(asked)
    return "chat", json.dumps({"queries": world.queries(number[0]) if number else [asked[:100]]})


def _message(request: Mapping[str, Any], text: str) -> tuple[dict[str, Any], str]:
    """Return the structured answer in the form that the request asks for."""
    message: dict[str, Any] = {"role": "assistant", "content": text, "refusal": None}
    if not request.get("tools"):
        return message, "stop"
    function = {"name": request["tools"][0]["function"]["name"], "arguments": text}
    calls = [{"id": "call_1", "type": "function", "function": function}]
    return message | {"content": None, "tool_calls": calls}, "tool_calls"


def _search(path: str, body: Mapping[str, Any] | None) -> Answer:
    """Answer as Tavily does to a POST with JSON, as SearXNG to a GET."""
    query = body["query"] if body else parse_qs(urlsplit(path).query)["q"][0]
    found = world.hits(*(world.number_of(query) or (0, 0)))
    rows = [
        {"url": hit.url, "title": hit.title, "content": hit.snippet, "score": 0.98 - 0.05 * place}
        for place, hit in enumerate(found)
    ]
    answer: dict[str, Any] = {"query": query, "results": rows}
    if body:
        answer |= {"answer": None, "images": [], "response_time": 0.2, "request_id": "stub"}
        rows = [row | {"raw_content": None} for row in rows]
        usage = {"credits": 1}
        answer |= {"results": rows} | ({"usage": usage} if body.get("include_usage") else {})
    else:
        about = {"engine": "stub", "engines": ["stub"], "category": "general", "positions": [1]}
        answer["results"] = [row | about for row in rows]
        names = ("answers", "corrections", "infoboxes", "suggestions", "unresponsive_engines")
        answer |= {name: [] for name in names}
    return Answer("search", json.dumps(answer).encode())


def _vectors(texts: Sequence[str], encoding: str | None) -> list[bytes]:
    """Return the vectors in JSON, those of a question's request from a stock of ready ones."""
    if encoding == "base64" and any(world.number_of(text) for text in texts):
        stock = _stock()
        return [stock[zlib.crc32(text.encode()) % _VECTORS] for text in texts]
    vectors = [_by_words(text) for text in texts]
    if encoding == "base64":
        return [_base64(vector) for vector in vectors]
    return [json.dumps(vector.tolist()).encode() for vector in vectors]


@cache
def _stock() -> list[bytes]:
    """Return vectors that have a cosine of 0 to 0.7 with one direction, hence with each other."""
    draw = np.random.default_rng(7)
    noise = draw.standard_normal((_VECTORS, DIMENSIONS))
    noise /= np.linalg.norm(noise, axis=1, keepdims=True)
    share = draw.uniform(0.3, 0.9, (_VECTORS, 1))
    mixed = share * noise[:1] + (1 - share) * noise
    return [_base64(each) for each in mixed / np.linalg.norm(mixed, axis=1, keepdims=True)]


def _by_words(text: str) -> NDArray[np.float64]:
    """Return a vector that texts with common words share; the anchors have those of a model."""
    if known := anchor_vector(text, DIMENSIONS):
        return np.array(known)
    vector = np.full(DIMENSIONS, 1e-6)
    for word in re.findall(r"\w+", text.lower()):
        vector[zlib.crc32(word.encode()) % DIMENSIONS] += 1
    vector /= np.linalg.norm(vector)
    return vector


def _base64(vector: NDArray[np.float64]) -> bytes:
    return b'"%b"' % base64.b64encode(vector.astype("<f4").tobytes())


async def _main(latency_ms: Mapping[str, float]) -> None:
    _stock()
    world.hits(0, 0)
    async with serving(latency_ms) as stub:
        names = ("models_url", "search_url", "control_url")
        print(json.dumps({name: getattr(stub, name) for name in names}), flush=True)
        await asyncio.to_thread(sys.stdin.read)


if __name__ == "__main__":
    keep_to_cores(last=True)
    asyncio.run(_main(json.loads(sys.argv[1]) if len(sys.argv) > 1 else LATENCY_MS))
