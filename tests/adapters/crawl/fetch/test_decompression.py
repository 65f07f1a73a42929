"""Content encodings, whole and in any pieces, within their bounds."""

from __future__ import annotations

import functools
import gzip
import random
import tracemalloc
import zlib
from collections import deque

import pytest

from collection_search.adapters.crawl.fetch.decompression import (
    PIECE_BYTES,
    Decoder,
    encoding_of,
)
from collection_search.errors import FetchError

packed = functools.partial(gzip.compress, mtime=0)

BODY = random.Random(5).randbytes(100_000) + b"a" * 300_000 + b"xy" * 65_536


def bare_deflate(body: bytes) -> bytes:
    packer = zlib.compressobj(wbits=-zlib.MAX_WBITS)
    return packer.compress(body) + packer.flush()


def decoded(encoding, packed: bytes, step: int, max_ratio: float = 1e9) -> bytes:
    decoder = Decoder(encoding, max_ratio=max_ratio)
    pieces = [
        piece
        for start in range(0, len(packed), step)
        for piece in decoder.feed(packed[start : start + step])
    ]
    decoder.finish()
    assert encoding == "identity" or all(len(piece) <= PIECE_BYTES for piece in pieces)
    return b"".join(pieces)


@pytest.mark.slow
@pytest.mark.parametrize("step", [1, 2, 997, 1 << 20])
@pytest.mark.parametrize(
    ("encoding", "packed", "body"),
    [
        ("gzip", packed(BODY), BODY),
        ("gzip", packed(BODY) + packed(b"more"), BODY + b"more"),
        ("gzip", packed(BODY) + b"\0\0tail", BODY),
        ("deflate", zlib.compress(BODY), BODY),
        ("deflate", bare_deflate(BODY), BODY),
        ("identity", BODY, BODY),
    ],
)
def test_any_pieces(encoding, packed, body, step):
    assert decoded(encoding, packed, step) == body


@pytest.mark.parametrize("size", range(PIECE_BYTES - 300, PIECE_BYTES + 300, 11))
def test_ends_near_the_bound_of_a_piece(size):
    assert decoded("gzip", packed(b"ab" * size), 7) == b"ab" * size


@pytest.mark.parametrize(
    "packed",
    [packed(BODY)[:-5], packed(BODY)[:99], b"plain text", packed(b"")[:10] + b"\xff" * 9,
     packed(b"") * 3_000],
)  # fmt: skip
def test_damaged(packed):
    with pytest.raises(FetchError) as caught:
        decoded("gzip", packed, 1 << 20)
    assert (caught.value.reason, caught.value.retryable) == ("bad_encoding", False)


@pytest.mark.slow
def test_a_bomb_costs_little_memory():
    bomb = packed(bytes(100_000_000))
    decoder = Decoder("gzip", max_ratio=100)
    tracemalloc.start()
    with pytest.raises(FetchError) as caught:
        deque(decoder.feed(bomb), maxlen=0)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert caught.value.reason == "ratio_exceeded"
    assert peak < 4_000_000


def test_a_high_ratio_is_fine_below_a_megabyte():
    assert decoded("gzip", packed(bytes(900_000)), 1 << 20, max_ratio=100) == bytes(900_000)


@pytest.mark.parametrize(
    ("headers", "encoding"),
    [
        ([], "identity"),
        ([""], "identity"),
        ([" X-GZIP "], "gzip"),
        (["identity, deflate"], "deflate"),
    ],
)
def test_one_encoding(headers, encoding):
    assert encoding_of(headers) == encoding


@pytest.mark.parametrize("headers", [["gzip, deflate"], ["gzip", "gzip"], ["br"], ["x" * 9_999]])
def test_no_other_encoding(headers):
    with pytest.raises(FetchError) as caught:
        encoding_of(headers)
    assert caught.value.reason == "bad_encoding"
    assert len(str(caught.value)) < 200


@pytest.mark.parametrize(
    ("named", "shown"),
    [
        ("br", "br,"),
        ("X-Own_1", "x-own_1,"),
        ("obey the page", "an unknown encoding,"),
        ("x" * 31, "an unknown encoding,"),
    ],
)
def test_errors_show_a_name_only(named, shown):
    with pytest.raises(FetchError) as caught:
        encoding_of([named])
    assert f"is compressed as {shown}" in str(caught.value)
