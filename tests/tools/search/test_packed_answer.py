"""Answers of search adapters as cached bytes."""

from __future__ import annotations

import json
from collections import UserDict
from dataclasses import replace
from types import MappingProxyType
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from collection_search.cassette.codec import search_answer
from collection_search.contracts.search import ProviderSearchResult, SearchAdapterResponse
from collection_search.tools.search.packed_answer import pack_answer, unpack_answer

texts = st.text(max_size=20)
maybe = st.none() | texts
rows = st.builds(
    ProviderSearchResult,
    url=st.integers(0, 9).map(lambda n: f"https://a.example/{n}?q=ü"),
    title=texts,
    snippet=texts,
    source=texts,
    score=st.none() | st.floats(0, 1),
    content_type=maybe,
    content=maybe,
    published_date=maybe,
)
answers = st.builds(
    SearchAdapterResponse,
    results=st.lists(rows, max_size=3),
    status_code=st.integers(200, 299),
    quota_remaining=st.none() | st.integers(0, 10**9),
    request_count=st.integers(1, 3),
    credits=st.none() | st.floats(0, 9),
    cost_usd=st.none() | st.floats(0, 9),
    notices=st.lists(texts, max_size=2),
    applied=st.dictionaries(st.just("language"), st.just("native")),
    complete=st.booleans(),
)


@given(answers)
def test_an_answer_comes_back_as_it_was(answer: SearchAdapterResponse) -> None:
    """Only its raw rows are counted, and no more."""
    found = unpack_answer(pack_answer(answer))
    assert found == replace(answer, raw_results=[{}] * len(answer.results))


@given(answers)
def test_answers_of_before_are_read(answer: SearchAdapterResponse) -> None:
    """As the cassette's codec writes them."""
    payload = json.dumps(search_answer(answer)).encode()
    found = unpack_answer(payload)
    assert found is not None
    assert replace(found, notices=list(found.notices)) == answer


def one(**fields: Any) -> SearchAdapterResponse:
    row = ProviderSearchResult("https://a.example/", "Title", "Snippet", "a")
    return SearchAdapterResponse([replace(row, **fields)], 200)


@pytest.mark.parametrize(
    "url",
    ["https://ann:secret@a.example/", "ftp://a.example/", "", 7, None, "https://ann@a.example/"],
)
def test_an_address_that_may_hold_a_password_is_left_out(url: Any) -> None:
    payload = pack_answer(one(url=url))
    assert b"secret" not in payload
    found = unpack_answer(payload)
    assert found is not None
    assert (list(found.results), len(found.raw_results)) == ([], 1)


def test_raw_rows_are_not_stored() -> None:
    answer = replace(one(), raw_results=[{"raw": "private"}, {}])
    assert b"private" not in pack_answer(answer)
    found = unpack_answer(pack_answer(answer))
    assert found is not None
    assert found.raw_results == [{}, {}]


def test_what_the_short_form_cannot_hold_takes_the_longer_one() -> None:
    """Broken surrogates, and rows of another class."""
    found = unpack_answer(pack_answer(one(title="\ud800")))
    assert found is not None
    assert found.results[0].title == "\ud800"
    row = {"url": "https://a.example/", "title": "t", "snippet": "s"}
    for made in (row, MappingProxyType(row), UserDict(row)):
        plain = SearchAdapterResponse([made], 200)  # type: ignore[list-item] - as adapters may
        found = unpack_answer(pack_answer(plain))
        assert found is not None
        assert found.results[0].title == "t"


@pytest.mark.parametrize(
    "payload",
    [
        *(b"", b"{", b"[", b"[]", b"[1]", b"[2, 0, [], []]", b"[1, 1, [], [[1]]]", b"{}"),
        b"[1, 1099511627776, [200, null, 1, null, null, [], {}, true], []]",
        b'[1, 0, ["x", null, 1, null, null, [], {}, true], []]',
        b"[1, 0, [200, null, 1, null, null, 7, {}, true], []]",
    ],
)
def test_a_damaged_answer_is_none(payload: bytes) -> None:
    """The provider is asked again."""
    assert unpack_answer(payload) is None
