"""Broken answers made of real ones: values, bytes, statuses and headers changed at random."""

from __future__ import annotations

import json
from copy import deepcopy
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    import random
    from collections.abc import Sequence

    from collection_search.adapters.http import HttpResponse

STATUSES: Final = (200, 200, 200, 200, 201, 204, 206, 302, 400, 401, 403, 422, 429, 432, 500, 503)
ODD: Final[tuple[Any, ...]] = (
    *(None, True, False, 0, -1, 7, 2**70, 10**400, 1e308, float("nan"), float("inf"), 0.5),
    *("", " ", "x", "\ud83d", "\x00", "<b>&amp;", "http://[::", "https://a.org/", "javascript:1"),
    *("2026-02-30", "3 days ago", "Feb 31, 2026", "9999-12-31T23:59:59+23:59", "x" * 5_000),
    *([], {}, [[]], [None], [{}], {"": None}, ["x"], {"code": 429}, {"message": "no credits"}),
)
HEADERS: Final = ("retry-after", "x-ratelimit-reset", "x-ratelimit-limit", "x-ratelimit-remaining")
HEADER_VALUES: Final = ("", "7", "-1", "1e9", "nan", "1, 2000", ",", "soon", "9" * 400, "\xb2")
PIECES: Final = (
    b"",
    b"[" * 3_000,
    b'{"a":' * 3_000,
    b"\xff",
    b"\x00",
    b"NaN",
    b"1e999",
    b"9" * 5000,
)


def mutated(seeds: Sequence[HttpResponse], rng: random.Random) -> HttpResponse:
    """Return one of the answers, changed in one to four ways."""
    response = rng.choice(seeds)
    if response.status != STATUSES[0] and rng.random() < 0.5:
        response = seeds[0]  # there are more refusals than answers
    for _ in range(rng.randint(1, 4)):
        response = rng.choices(_WAYS, weights=(12, 1, 1))[0](response, seeds, rng)
    return response


def _other_value(
    response: HttpResponse, seeds: Sequence[HttpResponse], rng: random.Random
) -> HttpResponse:
    """Replace, take out, double or move a value anywhere in the JSON."""
    try:
        whole = response.json()
    except ValueError:
        return _other_bytes(response, seeds, rng)
    places = list(_places(whole))
    if not places:
        return replace(response, body=json_bytes(rng.choice(ODD)))
    where, key = rng.choice(places)
    way = rng.randrange(6)
    if way == 0:
        del where[key]
    elif way == 1 and isinstance(where, list):
        where.insert(key, where[key])
    elif way == 2:
        other, its_key = rng.choice(places)
        where[key] = rng.choice([deepcopy(other[its_key]), [where[key]], {"a": where[key]}])
    else:
        where[key] = rng.choice(ODD)
    return replace(response, body=json_bytes(whole))


def _other_bytes(
    response: HttpResponse, seeds: Sequence[HttpResponse], rng: random.Random
) -> HttpResponse:
    """Cut the body, turn some of its bytes, put something in, or join it with another's end."""
    body = bytearray(response.body)
    at = rng.randint(0, len(body))
    way = rng.randrange(4)
    if way == 0:
        del body[at:]
    elif way == 1:
        body[at:at] = rng.choice(PIECES)
    elif way == 2:
        body[at:] = rng.choice(seeds).body[rng.randint(0, 200) :]
    else:
        for _ in range(min(len(body), 5)):
            body[rng.randrange(len(body))] = rng.randrange(256)
    return replace(response, body=bytes(body))


def _other_head(
    response: HttpResponse,
    seeds: Sequence[HttpResponse],  # noqa: ARG001 - as the others
    rng: random.Random,
) -> HttpResponse:
    """Exchange the status, or give a header a value."""
    if rng.random() < 0.5:
        return replace(response, status=rng.choice(STATUSES))
    header = {rng.choice(HEADERS): rng.choice(HEADER_VALUES)}
    return replace(response, headers={**response.headers, **header})


_WAYS: Final = (_other_value, _other_bytes, _other_head)


def _places(value: Any) -> list[tuple[Any, Any]]:
    """Return every place of a value within objects and lists."""
    found: list[tuple[Any, Any]] = []
    open_ = [value]
    while open_:
        one = open_.pop()
        if isinstance(one, dict | list):
            keys = list(one) if isinstance(one, dict) else range(len(one))
            found += [(one, key) for key in keys]
            open_ += [one[key] for key in keys]
    return found


def json_bytes(value: Any) -> bytes:
    """Return the value as a body; what JSON cannot hold as one that nests too deep."""
    try:
        return json.dumps(value).encode()
    except (RecursionError, ValueError):
        return b"[" * 3_000
