"""What refusals become whatever the vendor: by the status, by Retry-After, without the key."""

from __future__ import annotations

import base64
import json
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime
from itertools import product
from urllib.parse import quote, quote_plus

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.vendor_adapters import GOOGLE, KEY, KEYED, MOJEEK, TAVILY, VENDORS, refused

from collection_search.adapters.http import HttpResponse
from collection_search.errors import SearchProviderError

RETRYABLE = {"rateLimited", "serviceUnavailable", "timeout"}


@pytest.mark.slow
@pytest.mark.parametrize("vendor", VENDORS, ids=lambda vendor: vendor.provider_name)
@pytest.mark.parametrize(
    ("status", "code"),
    [
        (301, "unknown"), (302, "unknown"), (304, "unknown"),
        (400, "invalidQuery"), (401, "authenticationFailed"), (402, "quotaExceeded"),
        (404, "unknown"), (405, "unknown"), (408, "timeout"), (410, "unknown"),
        (414, "invalidQuery"), (422, "invalidQuery"), (429, "rateLimited"),
        (500, "serviceUnavailable"), (502, "serviceUnavailable"), (503, "serviceUnavailable"),
        (504, "timeout"), (520, "serviceUnavailable"), (599, "serviceUnavailable"),
    ],
)  # fmt: skip
def test_the_status_decides_where_nothing_else_is_said(vendor, status, code):
    """A page of a gateway says nothing of its own, even if it repeats the query."""
    query = "?q=invalid api key, not enough credits, quota, monthly limit, out of searches"
    page = f"<h1>Sorry</h1>{query}, hasn't returned any results"
    for body in ("", "<h1>Sorry</h1>", page, {}, {"error": None}, [], "null", "{"):
        error = refused(vendor, status, body)
        assert (error.code, error.retryable, error.http_status) == (code, code in RETRYABLE, status)
        assert error.retry_in_ms is None
        assert f"HTTP {status}" in str(error)


@pytest.mark.parametrize("vendor", KEYED, ids=lambda vendor: vendor.provider_name)
def test_what_is_forbidden_is_a_matter_of_the_key(vendor):
    """Where a vendor knows keys."""
    for body in ("", "<h1>Sorry</h1>", {}, [], "null", "{"):
        error = refused(vendor, 403, body)
        assert (error.code, error.retryable) == ("authenticationFailed", False)


@pytest.mark.parametrize("vendor", VENDORS, ids=lambda vendor: vendor.provider_name)
def test_retry_after_is_understood(vendor):
    assert refused(vendor, 429, retry_after="7").retry_in_ms == 7000
    assert refused(vendor, 429, retry_after="soon").retry_in_ms is None


def test_a_date_to_come_is_a_wait_from_now():
    to_come = datetime.now(UTC) + timedelta(hours=2)
    wait = refused(TAVILY, 429, retry_after=format_datetime(to_come, usegmt=True)).retry_in_ms
    assert wait is not None
    assert 3_600_000 < wait <= 7_200_000


def in_base64(text: str) -> str:
    return base64.b64encode(text.encode()).decode()


def in_hex(text: str) -> str:
    return text.encode().hex()


def in_html(text: str) -> str:
    return text.replace("/", "&#47;").replace("+", "&#43;")


@pytest.mark.slow
@pytest.mark.parametrize("vendor", KEYED, ids=lambda vendor: vendor.provider_name)
@pytest.mark.parametrize("form", [str, quote, quote_plus, json.dumps, in_base64, in_hex, in_html])
def test_no_message_shows_the_key(vendor, form):
    """Vendors repeat it in sentences, addresses and pages, some quote it."""
    said = f"The key {form(KEY)} is refused."
    for status, body in (
        (401, {"error": {"message": f"The key {form(KEY)} is refused."}}),
        (403, {"detail": {"error": f"?key={form(KEY)}&q=x"}}),
        (400, f"<pre>GET /search?token_is={form(KEY)} HTTP/1.1</pre>"),
        (429, {"error": {"code": form(KEY), "message": "x"}}),
        (200, f"{form(KEY)}"),
        (200, {"error": f"{form(KEY)}"}),
        (401, {"message": said, "statusCode": 401}),
        (401, {"error": said, "tag": form(KEY)}),
        (401, {"error": {"message": said, "type": form(KEY), "code": form(KEY)}}),
        (200 if vendor is MOJEEK else 401, {"response": {"status": f"ERROR: {said}"}}),
        (401, {"meta": {}, "data": None, "error": [{"code": form(KEY), "msg": said}]}),
        (401, {"meta": {}, "data": None, "errors": [{"code": form(KEY), "msg": said}]}),
    ):
        error = refused(vendor, status, body)
        known = (KEY, quote(KEY), quote_plus(KEY), in_base64(KEY), in_hex(KEY), in_html(KEY))
        assert [each for each in known if each in str(error)] == []
        assert error.__cause__ is None


def test_a_key_in_a_redirect_is_not_shown():
    error = refused(GOOGLE, 302, location=f"https://x.example/?k={quote_plus(KEY).lower()}&q=x")
    assert "x.example" in str(error)
    assert "sesame" not in str(error)


@pytest.mark.parametrize("before", range(3960, 4002, 3))
def test_half_a_key_is_not_shown(before):
    """A page is read up to a limit, which may fall into the key."""
    error = refused(TAVILY, 400, f"<{'x' * before}> {KEY} end")
    assert "open-s" not in str(error)


def test_a_long_text_is_cut_and_stays_in_one_line():
    error = refused(TAVILY, 400, {"detail": {"error": "line\n\x1b[31m" * 100_000}})
    assert len(str(error)) < 600
    assert str(error).isprintable()


@pytest.mark.slow
@settings(deadline=None)
@given(
    st.integers(200, 599),
    st.recursive(
        st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8),
        lambda inner: (
            st.lists(inner, max_size=3)
            | st.dictionaries(
                st.sampled_from(["error", "errors", "code", "message", "msg", "status", "tag", "type",
                                 "meta", "api_balance", "response", "data", "search", "details",
                                 "detail", "results", "organic", "reason", "loc", "quota_limit",
                                 "window", "info"]),
                inner,
                max_size=4,
            )
        ),
        max_leaves=12,
    ),
)  # fmt: skip
def test_any_body_is_an_answer_or_a_typed_error(status, body):
    """Whatever stands where an error is described."""
    raised = []
    sent = (
        body,
        {"error": body},
        {"detail": body},
        {"response": body},
        {"meta": body, "data": None},
    )
    for vendor, each in product(VENDORS, sent):
        try:
            vendor.parse(HttpResponse(status, {}, json.dumps(each).encode()))
        except SearchProviderError as error:
            raised.append(error)
    assert all(error.http_status == status and str(error) for error in raised)
    assert len(raised) == len(VENDORS) * len(sent) or status < 300
