"""One request to one judged address, and its answer within limits of time and size."""

from __future__ import annotations

import asyncio
import io
import math
import os
import time
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, Final, NamedTuple, TypeAlias

import aiohttp
from yarl import URL

from ....errors import FetchError
from .decompression import Decoder, encoding_of
from .sniffing import HEAD_BYTES

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from multidict import CIMultiDictProxy

    from ....contracts.page import PageKind
    from ....errors import FetchReason
    from .url_rules import Target

_OK: Final = 200
_JOINED_BYTES: Final = 1_000_000
_PAUSE_AFTER_PIECES: Final = 8
"""Half a MB is unpacked and hashed between two breaths of the event loop."""


@dataclass(frozen=True, slots=True)
class TransferLimits:
    """What one transfer may cost."""

    connect_timeout_s: float
    min_rate: float
    """Received bytes per second, on average, once `grace_s` have passed."""
    grace_s: float
    max_ratio: float
    max_bytes: int
    """Of any body; the admission may allow less."""


class Admitted(NamedTuple):
    """What a body is by its first bytes, and how many of it are read."""

    kind: PageKind | None
    max_bytes: int
    is_cut: bool = False
    """What lies behind is left, else too much is an error."""


class Received(NamedTuple):
    """An answer; only one with status 200 has its body read."""

    status: int
    headers: CIMultiDictProxy[str]
    body: bytes = b""
    kind: PageKind | None = None


Admit: TypeAlias = "Callable[[bytes, CIMultiDictProxy[str]], Admitted]"
"""Judges a body by its first bytes and headers; raises FetchError for what is not read."""


async def exchange(
    session: aiohttp.ClientSession,
    target: Target,
    *,
    headers: Mapping[str, str],
    limits: TransferLimits,
    admit: Admit,
    deadline_s: float,
    proxy: str | None = None,
) -> Received:
    """Return the answer of the one address, redirects not followed.

    `admit` sees the first bytes of the decoded body. Raises FetchError.
    """
    if deadline_s <= 0:
        raise _too_late(target.host)
    url = URL(target.url, encoded=True)
    if url.raw_host != target.host or url.port != target.port:
        raise FetchError("the URL can be read in two ways", reason="bad_url")
    until = time.monotonic() + deadline_s
    timeout = _timeout(deadline_s, limits.connect_timeout_s)
    try:
        async with session.get(
            url, headers=headers, allow_redirects=False, timeout=timeout, proxy=proxy
        ) as answer:
            if answer.status != _OK:
                answer.release()
                return Received(answer.status, answer.headers)
            return await _Body(answer, target.host, limits, until, admit).read()
    except FetchError:
        raise
    except (aiohttp.ClientError, OSError, ValueError) as error:
        raise _failure(error, target.host) from error


@lru_cache(maxsize=64)
def _timeout(total_s: float, connect_s: float) -> aiohttp.ClientTimeout:
    return aiohttp.ClientTimeout(total=total_s, connect=connect_s, ceil_threshold=math.inf)


class _Body:
    """Reads, unpacks and limits the body of one answer."""

    def __init__(
        self,
        answer: aiohttp.ClientResponse,
        host: str,
        limits: TransferLimits,
        until: float,
        admit: Admit,
    ) -> None:
        self._answer = answer
        self._host = host
        self._limits = limits
        self._until = until
        self._admit = admit
        self._parts: list[bytes] = []
        self._large = io.BytesIO()
        self._size = 0
        self._received = 0
        self._started = time.monotonic()
        self._admitted: Admitted | None = None
        self._is_full = False

    async def read(self) -> Received:
        answer = self._answer
        codings = answer.headers.getall("Content-Encoding", ())
        encoding = encoding_of(codings) if codings else "identity"
        if encoding == "identity":
            self._check_size(answer.content_length or 0, self._limits.max_bytes)
            await self._read_plain()
        else:
            await self._read_packed(Decoder(encoding, max_ratio=self._limits.max_ratio))
        body, known = self._whole(), self._admitted
        if known is None and body:  # less than what usually tells
            known = self._admit(body, answer.headers)
        kind = known.kind if known else None
        return Received(answer.status, answer.headers, body, kind)

    async def _read_plain(self) -> None:
        content = self._answer.content
        while raw := await content.readany():
            self._check_time(len(raw))
            self._take(raw)
            if self._is_full:
                return

    async def _read_packed(self, decoder: Decoder) -> None:
        content, pieces = self._answer.content, 0
        while raw := await content.readany():
            self._check_time(len(raw))
            for piece in decoder.feed(raw):
                self._take(piece)
                if self._is_full:
                    return
                pieces += 1
                if pieces % _PAUSE_AFTER_PIECES == 0:
                    await asyncio.sleep(0)
                    self._check_time(0)
        decoder.finish()

    def _take(self, piece: bytes) -> None:
        size = self._size + len(piece)
        known = self._admitted
        if known is None and size >= HEAD_BYTES:
            head = b"".join((*self._parts, piece[:HEAD_BYTES]))[:HEAD_BYTES]
            known = self._admitted = self._admit(head, self._answer.headers)
        if known is not None and size > known.max_bytes:
            if not known.is_cut:
                self._check_size(size, known.max_bytes)
            piece = piece[: known.max_bytes - self._size]
            self._is_full = True
        self._parts.append(piece)
        self._size = size
        if size > _JOINED_BYTES:
            self._large.writelines(self._parts)
            self._parts.clear()

    def _whole(self) -> bytes:
        if self._size > _JOINED_BYTES:
            return self._large.getvalue()  # its own memory, where a join would copy it all at once
        return self._parts[0] if len(self._parts) == 1 else b"".join(self._parts)

    def _check_size(self, size: int, limit: int) -> None:
        if size > limit:
            raise FetchError(
                f"the answer of {self._host} is larger than {limit / 1e6:g} MB", reason="too_large"
            )

    def _check_time(self, received: int) -> None:
        self._received += received
        now = time.monotonic()
        if now > self._until:
            raise _too_late(self._host)
        passed = now - self._started
        limits = self._limits
        if passed > limits.grace_s and self._received < limits.min_rate * passed:
            raise FetchError(
                f"{self._host} sends less than {limits.min_rate:g} bytes per second",
                reason="too_slow",
            )


def _too_late(host: str) -> FetchError:
    return FetchError(f"{host} did not deliver the page in time", reason="deadline")


_FAILURES: Final[tuple[tuple[type[BaseException], FetchReason, str], ...]] = (
    (aiohttp.ConnectionTimeoutError, "connect_timeout", "{} could not be connected to in time"),
    (TimeoutError, "deadline", "{} did not deliver the page in time"),
    (aiohttp.ClientConnectorCertificateError, "tls_failed", "the certificate of {} is not trusted"),
    (aiohttp.ClientSSLError, "tls_failed", "no encrypted connection to {} can be made"),
    (aiohttp.ClientConnectorDNSError, "dns_failed", "the name {} cannot be resolved"),
    (aiohttp.ClientProxyConnectionError, "connect_failed", "the egress proxy does not answer"),
    (aiohttp.ClientHttpProxyError, "connect_failed", "the egress proxy refused the way to {}"),
    (aiohttp.ClientConnectorError, "connect_failed", "{} cannot be connected to"),
    (aiohttp.ClientPayloadError, "incomplete", "the answer of {} broke off"),
    (aiohttp.ClientResponseError, "bad_response", "the answer of {} is no valid HTTP"),
    (aiohttp.ClientConnectionError, "incomplete", "{} hung up without a whole answer"),
    (aiohttp.ClientError, "bad_url", "no request to {} can be made"),
    (OSError, "connect_failed", "{} cannot be connected to"),
    (ValueError, "bad_url", "no request to {} can be made"),
)


def _failure(error: Exception, host: str) -> FetchError:
    for kind, reason, text in _FAILURES:
        if isinstance(error, kind):
            detail = _errno_text(error)
            return FetchError(text.format(host) + detail, reason=reason)
    raise error


def _errno_text(error: Exception) -> str:
    errno = getattr(error, "errno", None)
    is_plain = isinstance(error, aiohttp.ClientConnectorError) and isinstance(errno, int)
    return f": {os.strerror(errno).lower()}" if is_plain and errno and errno > 0 else ""
