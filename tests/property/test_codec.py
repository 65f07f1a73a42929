"""Whatever an adapter gives can be written, and whatever is read gives a value or an InputError."""

from __future__ import annotations

import json
from contextlib import suppress
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import array_shapes, arrays

from collection_search.cassette.codec import (
    embedded_answer,
    plan_answer,
    read_embedded_answer,
    read_failure,
    read_plan_answer,
    read_search_answer,
    search_answer,
    to_plain,
)
from collection_search.contracts.collection import Embedded
from collection_search.contracts.search import ProviderSearchResult, SearchAdapterResponse
from collection_search.errors import InputError
from collection_search.ports import QueryPlan

texts = st.text(max_size=20)
json_values = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False, allow_infinity=False)
    | texts,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(texts, inner, max_size=3),
    max_leaves=8,
)
anything = st.recursive(
    json_values | st.floats() | st.binary() | st.builds(object) | st.complex_numbers(),
    lambda inner: st.lists(inner) | st.tuples(inner) | st.dictionaries(st.integers(), inner),
    max_leaves=8,
)
results = st.builds(
    ProviderSearchResult, texts, texts, texts, texts, score=st.none() | st.floats(0, 1)
)
NAMES = [
    "results", "status_code", "raw_results", "notices", "applied", "url", "title", "snippet", "source",
    "queries", "model", "vectors", "shape", "float32", "input_tokens", "kind", "message", "code",
    "retryable", "retry_in_ms", "http_status",
]  # fmt: skip
nearly_right = st.recursive(
    json_values | st.sampled_from(["SearchProviderError", "ModelError", "timeout", "AACAPw=="]),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(NAMES), inner, max_size=8)
    ),
    max_leaves=20,
)


def through_json(value: Any) -> Any:
    return json.loads(json.dumps(value, allow_nan=False))


@pytest.mark.slow
@given(anything)
def test_every_value_has_a_json_form(value: Any) -> None:
    """And that form is its own."""
    told = to_plain(value)
    assert through_json(told) == told == to_plain(told)


@pytest.mark.slow
@given(json_values)
def test_what_is_json_stays_as_it_is(value: Any) -> None:
    assert to_plain(value) == value


@pytest.mark.slow
@given(st.lists(results, max_size=3), st.integers(100, 599), st.lists(json_values, max_size=2))
def test_responses_come_back(rows: list[ProviderSearchResult], status: int, raw: Any) -> None:
    response = SearchAdapterResponse(rows, status, raw_results=[{"raw": value} for value in raw])
    back = read_search_answer(through_json(search_answer(response)))
    assert (back.results, back.status_code) == (rows, status)
    assert list(back.raw_results) == list(response.raw_results)


@pytest.mark.slow
@given(st.lists(texts, max_size=5), texts, st.none() | st.integers(0, 10**9))
def test_plans_come_back(queries: list[str], model: str, tokens: int | None) -> None:
    plan = QueryPlan(queries, model, tokens, tokens)
    assert read_plan_answer(through_json(plan_answer(plan))) == plan


@pytest.mark.slow
@given(arrays(np.float32, array_shapes(min_dims=2, max_dims=2, max_side=6)))
def test_vectors_come_back(vectors: Any) -> None:
    back = read_embedded_answer(through_json(embedded_answer(Embedded(vectors))))
    np.testing.assert_array_equal(back.vectors, vectors)


@pytest.mark.slow
@given(nearly_right)
def test_damage_is_an_input_error(value: Any) -> None:
    """No reader raises anything else, evaluates anything, or takes what it was not given."""
    for read in (read_search_answer, read_plan_answer, read_embedded_answer, read_failure):
        with suppress(InputError):
            read(value)
