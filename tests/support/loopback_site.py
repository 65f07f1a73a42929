"""Web sites on the loopback addresses, which count what they are asked and may misbehave.

`python tests/support/loopback_site.py HOSTS PAGES FAULTS [PORT...]` serves them from a process of
its own: it prints its addresses as JSON, and after each line of its standard input what it has
counted. A line is `counts`, or `refuse`, `accept` or `slow` and numbers of hosts.
"""

from __future__ import annotations

import asyncio
import json
import random
import sys
import threading
import time
from collections import Counter
from contextlib import suppress
from dataclasses import dataclass, field
from email.utils import formatdate
from hashlib import sha256
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping, Sequence
    from types import TracebackType
    from typing import Self

MODIFIED: Final = formatdate(1_700_000_000, usegmt=True)
FAULTS: Final = ("timeout", "429", "503", "reset", "truncated")
HANG_S: Final = 30.0
TURNS: Final = 5
"""Of the event loop."""


def article(title: str, text: str, head: str = "") -> bytes:
    """Return a page that a reader takes for an article."""
    paragraphs = "".join(f"<p>{part}</p>" for part in text.split("\n\n"))
    body = f"<main><article><h1>{title}</h1>{paragraphs}</article></main>"
    page = (
        f"<!doctype html><html><head><title>{title}</title>{head}</head><body>{body}</body></html>"
    )
    return page.encode()


def essay(topic: str, paragraphs: int = 3) -> str:
    """Return a text of a few hundred words that is about its topic alone."""
    sentence = f"Of {topic} it is said that it grows slowly, and that patience is its best friend. "
    return "\n\n".join(f"Part {n}. " + sentence * 4 for n in range(1, paragraphs + 1))


@dataclass
class Answer:
    """What a page answers."""

    body: bytes
    status: int = 200
    headers: dict[str, str] = field(default_factory=dict)
    is_known_by: str = "etag"
    """`etag`, `date`, or nothing."""

    def head(self) -> dict[str, str]:
        known = {
            "etag": {"ETag": f'"{sha256(self.body).hexdigest()[:16]}"'},
            "date": {"Last-Modified": MODIFIED},
        }
        return (
            {"Content-Type": "text/html; charset=utf-8"}
            | known.get(self.is_known_by, {})
            | self.headers
        )


class LoopbackSite:
    """Sites on 127.0.0.1, 127.0.0.2 ..., served by a thread of their own inside a `with` block."""

    def __init__(
        self,
        *,
        hosts: int = 1,
        fault_rate: float = 0.0,
        seed: int = 1,
        ports: Sequence[int] = (),
    ) -> None:
        self.pages: dict[tuple[int, str], Answer] = {}
        """What a host answers, by its number and the path."""
        self.requests: list[tuple[int, str, Mapping[str, str]]] = []
        """Host, path, and headers (names in lower case), in order of arrival."""
        self.arrivals: list[float] = []
        """When these requests came, on the clock `time.monotonic`."""
        self.open: Counter[int] = Counter()
        self.most_open: Counter[int] = Counter()
        self.faults: Counter[str] = Counter()
        self.slow: set[int] = set()
        """Hosts that leave the first request for each page without an answer."""
        self._slow_paths: set[tuple[int, str]] = set()
        self._count = hosts
        self._rate = fault_rate
        self._random = random.Random(seed)
        self._ports: list[int] = []
        self._wanted = [*ports, *[0] * hosts]
        self._loop = asyncio.new_event_loop()
        self._ready = threading.Event()
        self._tasks: dict[asyncio.Task[None], int] = {}
        self._servers: dict[int, asyncio.Server] = {}
        self._thread = threading.Thread(target=self._serve, daemon=True)

    def __enter__(self) -> Self:
        self._thread.start()
        assert self._ready.wait(30)
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join(30)

    @property
    def is_served(self) -> bool:
        """Return whether the sites answer."""
        return self._ready.is_set()

    @property
    def allowed(self) -> list[str]:
        """The entries that let a fetcher in."""
        return [f"127.0.0.{host + 1}:{port}" for host, port in enumerate(self._ports)]

    def address(self, path: str = "/", host: int = 0) -> str:
        """Return the URL of a page."""
        return f"http://{self.allowed[host]}{path}"

    def put(self, path: str, body: bytes, host: int = 0, **options: Any) -> str:
        """Let a host have a page, and return its URL."""
        self.pages[host, path] = Answer(body, **options)
        return self.address(path, host)

    def asked(self, path: str | None = None) -> list[Mapping[str, str]]:
        """Return the headers of the requests for a page, or for all but robots.txt."""
        return [
            headers
            for _, one, headers in self.requests
            if (one == path if path else one not in {"/robots.txt", "/sitemap.xml"})
        ]

    def refuse(self, *hosts: int) -> None:
        """Refuse connections to these hosts, and end those that are open."""
        asyncio.run_coroutine_threadsafe(self._refuse(hosts), self._loop).result(30)

    def accept(self, *hosts: int) -> None:
        """Accept connections to these hosts again, at the same ports."""
        asyncio.run_coroutine_threadsafe(self._listen(hosts, self._ports), self._loop).result(30)

    def _serve(self) -> None:
        asyncio.set_event_loop(self._loop)
        hosts = range(self._count)
        self._loop.run_until_complete(self._listen(hosts, self._wanted))
        self._ports += [self._servers[host].sockets[0].getsockname()[1] for host in hosts]
        self._ready.set()
        self._loop.run_forever()
        self._loop.run_until_complete(self._refuse(hosts))
        self._loop.close()

    async def _listen(self, hosts: Iterable[int], ports: Sequence[int]) -> None:
        for host in hosts:
            self._servers[host] = await asyncio.start_server(
                self._handler(host), f"127.0.0.{host + 1}", ports[host]
            )

    async def _refuse(self, hosts: Collection[int]) -> None:
        for host in hosts:
            self._servers[host].close()
        tasks = [task for task, host in self._tasks.items() if host in hosts]
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    def _handler(self, host: int) -> Any:
        async def handle(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            task = asyncio.current_task()
            assert task is not None
            self._tasks[task] = host
            self.open[host] += 1
            for _ in range(TURNS):  # the end of another one may have come just before
                await asyncio.sleep(0)
            self.most_open[host] = max(self.most_open[host], self.open[host])
            try:
                while await self._answered(host, reader, writer):
                    pass
            except (OSError, asyncio.IncompleteReadError, asyncio.CancelledError):
                pass
            finally:
                self.open[host] -= 1
                del self._tasks[task]
                writer.close()
                with suppress(OSError, asyncio.CancelledError):
                    await writer.wait_closed()

        return handle

    async def _answered(
        self, host: int, reader: asyncio.StreamReader, writer: asyncio.StreamWriter
    ) -> bool:
        """Answer one request; False when the connection is over."""
        lines = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1").split("\r\n")
        path = lines[0].split(" ")[1]
        pairs = (line.split(":", 1) for line in lines[1:] if line)
        headers = {name.lower(): value.strip() for name, value in pairs}
        self.requests.append((host, path, headers))
        self.arrivals.append(time.monotonic())
        if path == "/robots.txt" and (host, path) not in self.pages:
            return await self._send(writer, 404, {"Content-Type": "text/plain"}, b"")
        if host in self.slow and (host, path) not in self._slow_paths:
            self._slow_paths.add((host, path))
            return await self._hang(reader)
        if self._random.random() < self._rate:
            return await self._misbehave(reader, writer, self.pages.get((host, path)))
        answer = self.pages.get((host, path))
        if answer is None:
            page = article("Not found", "There is nothing here.")
            return await self._send(writer, 404, {"Content-Type": "text/html"}, page)
        head = answer.head()
        known = {headers.get("if-none-match"), headers.get("if-modified-since")} - {None}
        if answer.status == 200 and known & {head.get("ETag"), head.get("Last-Modified")}:
            return await self._send(writer, 304, head, b"")
        return await self._send(writer, answer.status, head, answer.body)

    async def _send(
        self, writer: asyncio.StreamWriter, status: int, headers: Mapping[str, str], body: bytes
    ) -> bool:
        length = {} if status == 304 else {"Content-Length": str(len(body))}
        lines = [f"{name}: {value}" for name, value in {**headers, **length}.items()]
        writer.write("\r\n".join([f"HTTP/1.1 {status} X", *lines, "", ""]).encode() + body)
        await writer.drain()
        return True

    async def _misbehave(
        self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, answer: Answer | None
    ) -> bool:
        kind = self._random.choice(FAULTS)
        self.faults[kind] += 1
        if kind == "timeout":
            return await self._hang(reader)
        if kind in {"429", "503"}:
            return await self._send(writer, int(kind), {"Content-Type": "text/plain"}, b"later")
        if kind == "reset":
            writer.transport.abort()
        elif answer is not None:
            length = len(answer.body) + 100
            writer.write(f"HTTP/1.1 200 OK\r\nContent-Length: {length}\r\n\r\n".encode())
            writer.write(answer.body[: length // 2])
            await writer.drain()
        return False

    async def _hang(self, reader: asyncio.StreamReader) -> bool:
        """Wait until the other side gives up."""
        with suppress(TimeoutError):
            await asyncio.wait_for(reader.read(), HANG_S)
        return False


def tell(text: str) -> None:
    """Write a line that is read at once."""
    sys.stdout.write(f"{text}\n")
    sys.stdout.flush()


def serve(hosts: int, pages: int, rate: float, *ports: int) -> None:
    """Serve until standard input ends."""
    with LoopbackSite(hosts=hosts, fault_rate=rate, ports=ports) as site:
        urls = [
            site.put(f"/{n}", article(f"Tea {n}", essay(f"tea number {n}", 1 + n % 3)), n % hosts)
            for n in range(pages)
        ]
        tell(json.dumps({"urls": urls, "allowed": site.allowed}))
        for line in sys.stdin:
            command, *numbers = line.split()
            if command == "slow":
                site.slow.update(map(int, numbers))
            elif command != "counts":
                {"refuse": site.refuse, "accept": site.accept}[command](*map(int, numbers))
            asked = Counter(host for host, path, _ in site.requests if path != "/robots.txt")
            counts = {
                "most_open": max(site.most_open.values(), default=0),
                "requests": asked.total(),
                "by_host": [asked[host] for host in range(hosts)],
                "faults": dict(site.faults),
            }
            tell(json.dumps(counts))


if __name__ == "__main__":
    serve(int(sys.argv[1]), int(sys.argv[2]), float(sys.argv[3]), *map(int, sys.argv[4:]))
