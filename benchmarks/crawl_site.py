"""A quick loopback site for the crawl benchmark: many hosts, pages of one size, kept connections.

As a program it prints its ports as one line of JSON and ends with its standard input.
"""

from __future__ import annotations

import asyncio
import json
import random
import sys
from functools import cache
from typing import TYPE_CHECKING, Final

import world
from environment import keep_to_cores

from collection_search.testing.hostile_site.file_types import pdf

if TYPE_CHECKING:
    from collections.abc import Sequence

HOSTS: Final = 16
DIFFERENT: Final = 200
PAGE_BYTES: Final = 46_000
BIG: Final = 4
_LARGE_EVERY: Final = 50
_LARGE_BYTES: Final = (1_000_000, 2_000_000, 3_000_000, 5_000_000)
_SMALL_WORDS: Final = ("the", "of", "and", "a", "to", "in", "is", "for", "with", "on", "by", "from")
_NAVIGATION: Final = "".join(f'<li><a href="/topic/{n}">Topic {n}</a></li>' for n in range(60))


def page(number: int) -> bytes:
    """Return one of the different pages: an article between navigation and a footer.

    >>> 0.95 < len(page(3)) / PAGE_BYTES < 1.05, page(3) == page(3 + DIFFERENT)
    (True, True)
    """
    return _page(number % DIFFERENT, PAGE_BYTES)


def mixed_page(number: int) -> bytes:
    """Return the same, every fiftieth in place of it a page of 1 to 5 MB.

    >>> mixed_page(3) == page(3)
    True
    """
    number %= DIFFERENT
    large, rest = divmod(number + 1, _LARGE_EVERY)
    return page(number) if rest else _page(number, _LARGE_BYTES[large - 1], words=600)


@cache
def _page(number: int, of_bytes: int, *, words: int = 60) -> bytes:
    """Return an article with that many words in a paragraph, give or take a half."""
    source = random.Random(number)
    terms = sorted({word for query in world.queries(number) for word in query.split()})
    vocabulary = [*terms, *_SMALL_WORDS]
    parts: list[str] = []
    size = len(_NAVIGATION) * 2 + 600
    while size < of_bytes:
        length = source.randint(words // 2, words + words // 2)
        text = " ".join(source.choices(vocabulary, k=length))
        part = f"<p>{text.capitalize()}, <a href='/a/{number}'>see</a> <em>there</em>.</p>\n"
        if source.random() < 0.2:
            part = f"<h2>{' '.join(source.choices(vocabulary, k=4))}</h2>\n{part}"
        parts.append(part)
        size += len(part)
    return f"""<!doctype html>
<html lang="en"><head><meta charset="utf-8"><title>Page {number}</title></head><body>
<nav><ul>{_NAVIGATION}</ul></nav><main><article><h1>Page {number}</h1>
{"".join(parts)}</article></main><footer><ul>{_NAVIGATION}</ul></footer></body></html>
""".encode()


@cache
def _answer(kind: str, number: int) -> bytes:
    body = _PAGES[kind](number)
    head = f'HTTP/1.1 200 OK\r\nContent-Type: text/html; charset=utf-8\r\nETag: "{number}"\r\n'
    return f"{head}Content-Length: {len(body)}\r\n\r\n".encode() + body


@cache
def _big_answer(number: int) -> bytes:
    """Return an answer near the limits of size: 9 MB of HTML or 29 MB of PDF."""
    if number % 2:
        body = page(number) + b"<p>" + b"a word and another, " * 440_000
    else:
        body = pdf() + b"\n%" + bytes(range(48, 58)) * 2_890_000
    return f"HTTP/1.1 200 OK\r\nContent-Length: {len(body)}\r\n\r\n".encode() + body


_PAGES: Final = {"page": page, "mixed": mixed_page}
_NONE: Final = b"HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n"


def _answered(path: bytes) -> bytes:
    kind, _, number = path.removeprefix(b"/").decode().partition("/")
    if kind in _PAGES:
        return _answer(kind, int(number) % DIFFERENT)
    return _big_answer(int(number)) if kind == "big" else _NONE


class _Site(asyncio.Protocol):
    """Answers each request at once."""

    def __init__(self) -> None:
        self._received = b""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self._transport = transport

    def data_received(self, data: bytes) -> None:
        *requests, self._received = (self._received + data).split(b"\r\n\r\n")
        for request in requests:
            path = request.split(b" ", 2)[1]
            self._transport.write(_answered(path))


def urls(ports: Sequence[int], count: int, kind: str = "page") -> list[str]:
    """Return the addresses of that many pages, spread over the hosts.

    >>> urls([81, 82], 3)
    ['http://127.0.0.1:81/page/0', 'http://127.0.0.1:82/page/1', 'http://127.0.0.1:81/page/2']
    """
    return [f"http://127.0.0.1:{ports[n % len(ports)]}/{kind}/{n}" for n in range(count)]


async def _serve() -> None:
    loop = asyncio.get_running_loop()
    servers = [await loop.create_server(_Site, "127.0.0.1", 0) for _ in range(HOSTS)]
    for kind in _PAGES:
        for number in range(DIFFERENT):
            _answer(kind, number)
    for number in range(BIG):
        _big_answer(number)
    ports = [server.sockets[0].getsockname()[1] for server in servers]
    print(json.dumps({"ports": ports}), flush=True)
    await loop.run_in_executor(None, sys.stdin.read)
    for server in servers:
        server.close()


if __name__ == "__main__":
    keep_to_cores(last=True)
    asyncio.run(_serve())
