"""Decompression of response bodies in pieces of limited size."""

from __future__ import annotations

import re
import zlib
from typing import TYPE_CHECKING, Final, Literal

from ....errors import FetchError

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

Encoding = Literal["identity", "gzip", "deflate"]

ACCEPTED: Final = "gzip, deflate"
"""The value of Accept-Encoding in requests."""
PIECE_BYTES: Final = 1 << 16
_RATIO_FREE_BYTES: Final = 1_000_000
_MAX_MEMBERS: Final = 2_000
_GZIP_MAGIC: Final = b"\x1f\x8b"
_ENCODINGS: Final[dict[str, Encoding]] = {"gzip": "gzip", "x-gzip": "gzip", "deflate": "deflate"}
_NAME = re.compile(r"[\w-]{1,30}", re.ASCII)
"""What is shown of a header, which could be a sentence."""


def encoding_of(headers: Iterable[str]) -> Encoding:
    """Return the content encoding that the headers name.

    Raises FetchError (`bad_encoding`) for several encodings, and for one that was not offered.

    >>> encoding_of([]), encoding_of(["GZIP"]), encoding_of(["identity"])
    ('identity', 'gzip', 'identity')
    """
    named = [one.strip().lower() for value in headers for one in value.split(",")]
    named = [one for one in named if one not in {"", "identity"}]
    if not named:
        return "identity"
    if len(named) > 1:
        raise _damaged("the response has several content encodings, which is not supported")
    if named[0] not in _ENCODINGS:
        shown = named[0] if _NAME.fullmatch(named[0]) else "an unknown encoding"
        raise _damaged(f"the response is compressed as {shown}, which the request did not accept")
    return _ENCODINGS[named[0]]


class Decoder:
    """A decoder of one body; no piece of its output is larger than `PIECE_BYTES`.

    After 1 MB of output the ratio of unpacked to received bytes may not exceed `max_ratio`.
    """

    def __init__(self, encoding: Encoding, *, max_ratio: float) -> None:
        self._packed = encoding
        self._max_ratio = max_ratio
        self._unpacker: zlib._Decompress | None = None
        self._rest = b""
        self._members = 0
        self._consumed = 0
        self._produced = 0

    def feed(self, raw: bytes) -> Iterator[bytes]:
        """Yield the unpacked bytes; nothing is unpacked before the caller takes it.

        Raises FetchError (`bad_encoding`, `ratio_exceeded`); a retry fails again.
        """
        if self._packed == "identity":
            yield raw
            return
        raw, self._rest = self._rest + raw, b""
        more = True
        while more:
            unpacker = self._unpacker
            if unpacker is None or unpacker.eof:
                if unpacker is not None and not self._is_member(raw):
                    return
                unpacker = self._begin(raw)
            try:
                piece = unpacker.decompress(raw, PIECE_BYTES)
            except zlib.error as error:
                raise _damaged("the packed answer is damaged") from error
            left = unpacker.unused_data if unpacker.eof else unpacker.unconsumed_tail
            self._consumed += len(raw) - len(left)
            self._produced += len(piece)
            self._check_ratio()
            raw, more = left, bool(left) or (len(piece) == PIECE_BYTES and not unpacker.eof)
            yield piece  # empty pieces too, so that the caller can pause

    def finish(self) -> None:
        """Raise FetchError (`bad_encoding`) when the packed body ended too early."""
        if self._unpacker is not None and not self._unpacker.eof:
            raise _damaged("the packed answer ends too early")

    def _begin(self, raw: bytes) -> zlib._Decompress:
        self._members += 1
        if self._members > _MAX_MEMBERS:
            raise _damaged(f"the packed answer has more than {_MAX_MEMBERS} parts")
        window = 16 + zlib.MAX_WBITS if self._packed == "gzip" else _deflate_window(raw)
        self._unpacker = zlib.decompressobj(window)
        return self._unpacker

    def _is_member(self, raw: bytes) -> bool:
        """Return whether another gzip member follows; if not, the rest is not part of the body."""
        if self._packed == "gzip" and raw == _GZIP_MAGIC[:1]:
            self._rest = raw  # its second byte may come with the next bytes
        return self._packed == "gzip" and raw.startswith(_GZIP_MAGIC)

    def _check_ratio(self) -> None:
        allowed = max(_RATIO_FREE_BYTES, self._consumed * self._max_ratio)
        if self._produced > allowed:
            text = f"the answer unpacks to more than {self._max_ratio:g} times its size"
            raise FetchError(text, reason="ratio_exceeded")


def _deflate_window(raw: bytes) -> int:
    """Return the window size for zlib's format, or for raw deflate data, which some servers send.

    A first piece of one byte is decided by that byte alone.
    """
    method_is_deflate = raw[0] & 0x0F == zlib.DEFLATED and raw[0] >> 4 < 8  # noqa: PLR2004
    has_checksum = len(raw) < 2 or int.from_bytes(raw[:2], "big") % 31 == 0  # noqa: PLR2004
    return zlib.MAX_WBITS if method_is_deflate and has_checksum else -zlib.MAX_WBITS


def _damaged(message: str) -> FetchError:
    return FetchError(message, reason="bad_encoding")
