"""What holds for every provider: bounds, uniqueness, honest counts, never an exception."""

import asyncio
import json
import logging
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from collection_search.contracts.search import SearchAdapterResponse
from collection_search.errors import (
    RETRYABLE_CODES,
    SearchProviderBadResponse,
    SearchProviderError,
    SearchProviderQuotaExceeded,
    SearchProviderTimeout,
    SearchProviderUnavailable,
)
from collection_search.testing import FakeClock, RecordingSink, ScriptedAdapter, example_context
from collection_search.text.loose_keys import loose_url_key
from collection_search.text.urls import normalize_url, url_key
from collection_search.tools.search.normalize import deduplicate, valid_results
from collection_search.tools.search.retry import MAX_BACKOFF_S, RetrySchedule
from collection_search.tools.web_search import WebSearchWorker

SILENT = logging.getLogger("silent")
SILENT.disabled = True

junk = st.one_of(
    st.none(), st.integers(), st.floats(), st.text(max_size=20), st.lists(st.integers(), max_size=2)
)
urls = st.one_of(
    junk,
    st.builds(
        "http{}://{}example.com/{}{}".format,
        st.sampled_from(["", "s"]),
        st.sampled_from(["", "www.", "WWW."]),
        st.sampled_from(["", "a", "A", "a/", "b.pdf"]),
        st.sampled_from(["", "?utm_source=x", "?b=2&a=1", "?a=1&b=2", "#part"]),
    ),
)
field_values = st.one_of(junk, st.text(alphabet="<b>&lt; \u200bä", max_size=30))
provider_rows = st.one_of(
    junk,
    st.fixed_dictionaries(
        {},
        optional={
            "url": urls,
            **dict.fromkeys(
                ("title", "snippet", "source", "score", "content_type", "content"), field_values
            ),
        },
    ),
)
failures = st.builds(
    lambda error, **fields: error("failed", **fields),
    st.sampled_from(
        [
            SearchProviderTimeout,
            SearchProviderQuotaExceeded,
            SearchProviderUnavailable,
            SearchProviderBadResponse,
        ]
    ),
    retry_in_ms=st.none() | st.integers(-5_000, 90_000),
    retryable=st.none() | st.booleans(),
)
answers = st.one_of(
    failures,
    st.sampled_from([TimeoutError(), KeyError("items"), ValueError("\ud800")]),
    st.builds(
        SearchAdapterResponse,
        results=st.one_of(junk, st.lists(provider_rows, max_size=8)),
        status_code=st.one_of(junk, st.sampled_from([200, 204, 429, 503])),
    ),
    junk,
)


def kept(given_rows: list[Any]) -> list[Any]:
    return valid_results(given_rows, provider="fake", dropped=lambda _: None)


@pytest.mark.slow
@given(st.lists(provider_rows, max_size=12))
def test_every_row_is_a_valid_result_or_dropped(given_rows):
    """No row raises; what is kept can be shown, what is not is reported."""
    dropped: list[Any] = []
    results = valid_results(given_rows, provider="fake", dropped=dropped.append)
    assert len(results) + len(dropped) == len(given_rows)
    for result in results:
        assert result.url == normalize_url(result.url)
        assert result.title
        assert result.snippet
        assert result.source


@pytest.mark.slow
@given(st.lists(provider_rows, max_size=12))
def test_results_are_unique_in_the_order_of_the_provider(given_rows):
    """One result per page: the first of its kind, and doing it again changes nothing."""
    results = kept(given_rows)
    unique = deduplicate(results)
    keys = [url_key(result.url) for result in unique]
    every = list(dict.fromkeys(url_key(result.url) for result in results))
    assert keys == [key for key in every if key in keys]
    words = {(loose_url_key(one.url), one.title, one.snippet) for one in unique}
    for result in results:
        likely = loose_url_key(result.url), result.title, result.snippet
        assert url_key(result.url) in keys or likely in words
    assert deduplicate(unique) == unique


@pytest.mark.slow
@given(st.lists(provider_rows, max_size=12), st.randoms())
def test_the_pages_found_do_not_depend_on_the_order(given_rows, random):
    """Shuffled rows give the same pages."""
    shuffled = random.sample(given_rows, len(given_rows))
    pages = [
        {loose_url_key(result.url) for result in deduplicate(kept(some))}
        for some in (given_rows, shuffled)
    ]
    assert pages[0] == pages[1]


@pytest.mark.slow
@given(
    st.lists(failures, min_size=1, max_size=12),
    st.integers(1, 100),
    st.floats(0, 86_400),
)
def test_delays_are_bounded(errors: list[SearchProviderError], max_attempts, factor):
    """A delay is the provider's or at most ten seconds; attempts end at `max_attempts`."""
    delay = RetrySchedule(max_attempts=max_attempts, backoff_factor=factor).delay_s(errors)
    last = errors[-1]
    if len(errors) >= max_attempts or not last.retryable:
        assert delay is None
    elif delay is not None and last.retry_in_ms is not None and last.retry_in_ms >= 0:
        assert delay == last.retry_in_ms / 1000
    elif delay is not None:
        assert 0 <= delay <= MAX_BACKOFF_S
    else:
        assert last.code not in RETRYABLE_CODES - {"timeout"}


@pytest.mark.slow
@given(st.lists(answers, min_size=1, max_size=5), st.integers(1, 5), st.integers(1, 6))
def test_both_faces_end_alike_and_never_raise(script, max_attempts, max_results):
    """Whatever an adapter does: an outcome, within the deadline, the same from run and arun."""

    class Untyped(ScriptedAdapter):
        def search(self, query, *, max_results, timeout=None):
            answer = self._next((query, max_results, timeout))
            if isinstance(answer, Exception):
                raise answer
            return answer

    ends, context = [], example_context()
    for method in ("run", "arun"):
        clock = FakeClock()
        worker = WebSearchWorker(
            Untyped(*script),
            max_attempts=max_attempts,
            max_results=max_results,
            sleep=clock.sleep,
            asleep=clock.asleep,
            timer=clock.monotonic,
            logger=SILENT,
            spans=RecordingSink(),
        )
        if method == "run":
            response = worker.run(query="asyncio", context=context)
        else:
            response = asyncio.run(worker.arun(query="asyncio", context=context))
        meta = response.outcome.meta
        assert clock.monotonic() < 60
        assert 1 <= meta["attempts"] <= max_attempts
        assert meta["result_count"] == len(response.results) <= max_results
        assert meta["result_count"] <= meta["normalized_result_count"] <= meta["raw_result_count"]
        assert (response.outcome.decision == "error") == ("error" in meta)
        assert response.outcome.decision == "ok" or not response.results
        ends.append(json.loads(response.model_dump_json()))
    assert ends[0] == ends[1]
