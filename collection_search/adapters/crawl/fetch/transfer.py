"""One request to one checked address, with limits of time and size for its answer."""

from __future__ import annotations

import asyncio
import io
import math
import os
import time
from contextlib import suppress
from dataclasses import dataclass, field
from functools import lru_cache
from http import HTTPStatus
from typing import TYPE_CHECKING, Final, NamedTuple, TypeAlias

import aiohttp
from yarl import URL

from ....errors import FetchError
from .decompression import Decoder, encoding_of
from .public_hosts import show_host
from .sniffing import HEAD_BYTES

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from multidict import CIMultiDictProxy

    from ....contracts.page import PageKind
    from ....errors import FetchReason
    from .url_rules import Target

_JOINED_BYTES: Final = 1_000_000
_REFUSALS: Final = frozenset({403, 429, 503})
"""Statuses of challenges, whose body tells them from other refusals."""
_REFUSAL_BYTES: Final = 1 << 16
_REFUSAL_S: Final = 5.0
"""The part of such a body that is read, and how long it may take."""
_PAUSE_AFTER_PIECES: Final = 8
"""Half a MB is unpacked before other tasks of the event loop run."""


@dataclass(frozen=True, slots=True)
class TransferLimits:
    """The limits of one transfer."""

    connect_timeout_s: float
    min_rate: float
    """Received bytes per second, on average, once `grace_s` have passed."""
    grace_s: float
    max_ratio: float
    max_bytes: int
    """Of any body; the admission may allow less."""


class Admitted(NamedTuple):
    """The kind of a body by its first bytes, and its limit of size."""

    kind: PageKind | None
    max_bytes: int
    is_cut: bool = False
    """A longer body is cut; otherwise it is an error."""
    take: Callable[[int], None] | None = None
    """Told the size of each piece of the body when it has arrived. Raises FetchError to refuse."""


class Received(NamedTuple):
    """An answer; the body is read when the status is 200, and its beginning for a refusal."""

    status: int
    headers: CIMultiDictProxy[str]
    body: bytes = b""
    kind: PageKind | None = None


Admit: TypeAlias = "Callable[[bytes, CIMultiDictProxy[str]], Admitted]"
"""Decides on a body by its first bytes and headers. Raises FetchError for one to refuse."""


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
    """Return the answer of the address, without following redirects.

    `admit` gets the first bytes of the decoded body. Raises FetchError.
    """
    if deadline_s <= 0:
        raise _too_late(target.host)
    url = URL(target.url, encoded=True)
    if url.raw_host != target.host or url.port != target.port:
        raise FetchError("the URL is ambiguous", reason="bad_url")
    until = time.monotonic() + deadline_s
    timeout = _timeout(deadline_s, limits.connect_timeout_s)
    try:
        async with session.get(
            url, headers=headers, allow_redirects=False, timeout=timeout, proxy=proxy
        ) as answer:
            if answer.status in _REFUSALS:
                return await _refusal(answer, target.host, limits, until)
            if answer.status != HTTPStatus.OK:
                answer.release()
                return Received(answer.status, answer.headers)
            return await _Body(answer, target.host, limits, until, admit).read()
    except FetchError:
        raise
    except (aiohttp.ClientError, OSError, ValueError) as error:
        raise _failure(error, target.host) from error


async def _refusal(
    answer: aiohttp.ClientResponse, host: str, limits: TransferLimits, until: float
) -> Received:
    """Return a refusal with the beginning of its body, without one if that cannot be read."""
    beginning = Admitted(None, _REFUSAL_BYTES, is_cut=True)
    body = _Body(answer, host, limits, until, lambda *_: beginning)
    with suppress(FetchError, aiohttp.ClientError, OSError, ValueError):
        async with asyncio.timeout(_REFUSAL_S):
            return await body.read()
    return Received(answer.status, answer.headers)


@lru_cache(maxsize=64)
def _timeout(total_s: float, connect_s: float) -> aiohttp.ClientTimeout:
    return aiohttp.ClientTimeout(total=total_s, connect=connect_s, ceil_threshold=math.inf)


@dataclass(slots=True, eq=False)
class _Body:
    """The body of one answer while it is read, unpacked and limited."""

    answer: aiohttp.ClientResponse
    host: str
    limits: TransferLimits
    until: float
    admit: Admit
    parts: list[bytes] = field(default_factory=list)
    large: io.BytesIO = field(default_factory=io.BytesIO)
    size: int = 0
    received: int = 0
    started: float = field(default_factory=time.monotonic)
    admitted: Admitted | None = None
    is_full: bool = False

    async def read(self) -> Received:
        answer = self.answer
        codings = answer.headers.getall("Content-Encoding", ())
        encoding = encoding_of(codings) if codings else "identity"
        if encoding == "identity":
            self._check_size(answer.content_length or 0, self.limits.max_bytes)
            await self._read_plain()
        else:
            await self._read_packed(Decoder(encoding, max_ratio=self.limits.max_ratio))
        body, known = self._whole(), self.admitted
        if known is None and body:  # shorter than the part that usually decides
            known = self.admit(body, answer.headers)
            if known.take is not None:
                known.take(len(body))
        kind = known.kind if known else None
        return Received(answer.status, answer.headers, body, kind)

    async def _read_plain(self) -> None:
        content = self.answer.content
        while raw := await content.readany():
            self._check_time(len(raw))
            self._take(raw)
            if self.is_full:
                return

    async def _read_packed(self, decoder: Decoder) -> None:
        content, pieces = self.answer.content, 0
        while raw := await content.readany():
            self._check_time(len(raw))
            for piece in decoder.feed(raw):
                self._take(piece)
                if self.is_full:
                    return
                pieces += 1
                if pieces % _PAUSE_AFTER_PIECES == 0:
                    await asyncio.sleep(0)
                    self._check_time(0)
        decoder.finish()

    def _take(self, piece: bytes) -> None:
        size = self.size + len(piece)
        known, untold = self.admitted, len(piece)
        if known is None and size >= HEAD_BYTES:
            head = b"".join((*self.parts, piece[:HEAD_BYTES]))[:HEAD_BYTES]
            known = self.admitted = self.admit(head, self.answer.headers)
            untold = size
        if known is not None and known.take is not None:
            known.take(untold)
        if known is not None and size > known.max_bytes:
            if not known.is_cut:
                self._check_size(size, known.max_bytes)
            piece = piece[: known.max_bytes - self.size]
            self.is_full = True
        self.parts.append(piece)
        self.size = size
        if size > _JOINED_BYTES:
            self.large.writelines(self.parts)
            self.parts.clear()

    def _whole(self) -> bytes:
        if self.size > _JOINED_BYTES:
            return self.large.getvalue()  # a join would copy it all at once
        return self.parts[0] if len(self.parts) == 1 else b"".join(self.parts)

    def _check_size(self, size: int, limit: int) -> None:
        if size > limit:
            text = f"the answer of {show_host(self.host)} is larger than {limit / 1e6:g} MB"
            raise FetchError(text, reason="too_large")

    def _check_time(self, received: int) -> None:
        self.received += received
        now = time.monotonic()
        if now > self.until:
            raise _too_late(self.host)
        passed = now - self.started
        limits = self.limits
        if passed > limits.grace_s and self.received < limits.min_rate * passed:
            text = f"{show_host(self.host)} sends less than {limits.min_rate:g} bytes per second"
            raise FetchError(text, reason="too_slow")


def _too_late(host: str) -> FetchError:
    return FetchError(f"{show_host(host)} did not deliver the page in time", reason="deadline")


_FAILURES: Final[tuple[tuple[type[BaseException], FetchReason, str], ...]] = (
    (aiohttp.ConnectionTimeoutError, "connect_timeout", "{} could not be connected to in time"),
    (TimeoutError, "deadline", "{} did not deliver the page in time"),
    (aiohttp.ClientConnectorCertificateError, "tls_failed", "the certificate of {} is not trusted"),
    (aiohttp.ClientSSLError, "tls_failed", "no encrypted connection to {} can be made"),
    (aiohttp.ClientConnectorDNSError, "dns_failed", "the name {} cannot be resolved"),
    (aiohttp.ClientProxyConnectionError, "connect_failed", "the egress proxy does not answer"),
    (aiohttp.ClientHttpProxyError, "connect_failed", "the egress proxy refused to connect to {}"),
    (aiohttp.ClientConnectorError, "connect_failed", "{} cannot be connected to"),
    (aiohttp.ClientPayloadError, "incomplete", "the answer of {} is incomplete"),
    (aiohttp.ClientResponseError, "bad_response", "the answer of {} is no valid HTTP"),
    (aiohttp.ClientConnectionError, "incomplete", "{} closed the connection too early"),
    (aiohttp.ClientError, "bad_url", "no request to {} can be made"),
    (OSError, "connect_failed", "{} cannot be connected to"),
    (ValueError, "bad_url", "no request to {} can be made"),
)


def _failure(error: Exception, host: str) -> FetchError:
    for kind, reason, text in _FAILURES:
        if isinstance(error, kind):
            return FetchError(text.format(show_host(host)) + _errno_text(error), reason=reason)
    raise error


def _errno_text(error: Exception) -> str:
    errno = getattr(error, "errno", None)
    is_plain = isinstance(error, aiohttp.ClientConnectorError) and isinstance(errno, int)
    return f": {os.strerror(errno).lower()}" if is_plain and errno and errno > 0 else ""
