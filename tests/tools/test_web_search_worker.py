"""WebSearchWorker: every row of its specification, in both faces where they could differ."""

import asyncio
import logging
from decimal import Decimal
from http import HTTPStatus
from typing import Any

import pytest

from collection_search.contracts.options import SearchOptions
from collection_search.contracts.search import (
    ProviderSearchResult,
    SearchAdapterResponse,
    WebSearchInput,
)
from collection_search.errors import (
    ConfigError,
    InputError,
    SearchProviderAuthenticationFailed,
    SearchProviderBadResponse,
    SearchProviderError,
    SearchProviderInvalidQuery,
    SearchProviderQuotaExceeded,
    SearchProviderTimeout,
    SearchProviderUnavailable,
)
from collection_search.ports import FullQuery, Scalar, TraceRef
from collection_search.testing import (
    FakeClock,
    RecordingSink,
    ScriptedAdapter,
    example_context,
    rows,
)
from collection_search.tools.web_search import WebSearchWorker

CONTEXT = example_context()


@pytest.fixture
def clock() -> FakeClock:
    return FakeClock()


@pytest.fixture
def spans() -> RecordingSink:
    return RecordingSink()


@pytest.fixture(params=["run", "arun"])
def search(request: pytest.FixtureRequest, clock: FakeClock, spans: RecordingSink) -> Any:
    """One search in either face: on the fake clock, without jitter, with recorded spans."""

    def call(adapter: Any, query: str = "asyncio", **options: Any) -> Any:
        context = options.pop("context", CONTEXT)
        timing = {"sleep": clock.sleep, "asleep": clock.asleep, "timer": clock.monotonic}
        worker = WebSearchWorker(adapter, **{"spans": spans, **timing, **options})
        if request.param == "run":
            return worker.run(query=query, context=context)
        return asyncio.run(worker.arun(query=query, context=context))

    return call


def throttled(retry_in_ms: int | None = None) -> SearchProviderQuotaExceeded:
    return SearchProviderQuotaExceeded("Rate limit exceeded", retry_in_ms=retry_in_ms)


# --- context and query


def test_best_practice_context_must_be_complete(search):
    """An incomplete context is refused in a sentence that names what is missing."""
    with pytest.raises(InputError, match=r"scope: it is missing.*scope\.run_id") as caught:
        search(ScriptedAdapter(), context={"tenant_id": "acme"})
    assert isinstance(caught.value, ValueError)


def test_best_practice_error_handling_and_quota_monitoring(search):
    """A caller branches on `decision`, and reads `quota_remaining` from `meta`."""
    answer = SearchAdapterResponse(results=rows(1), status_code=200, quota_remaining=42)
    response = search(ScriptedAdapter(answer))
    assert response.outcome.decision == "ok"
    remaining = response.outcome.meta.get("quota_remaining")
    assert remaining is not None
    assert remaining < 100


@pytest.mark.parametrize("missing", ["tenant_id", "trace_id", "invocation_id", "run_id"])
def test_context_required_fields(search, missing):
    """Each required field of the scope is named when it is missing."""
    context = CONTEXT.model_dump()
    del context["scope"][missing]
    with pytest.raises(InputError, match=missing):
        search(ScriptedAdapter(), context=context)


def test_context_accepts_a_complete_mapping_and_an_ingestion_run(search):
    """A mapping with `ingestion_run_id` in place of `run_id` is complete; the call id is made."""
    scope = {"tenant_id": "acme", "trace_id": "t", "invocation_id": "i", "ingestion_run_id": "g"}
    meta = search(ScriptedAdapter(), context={"scope": scope}).outcome.meta
    assert meta["tenant_id"] == "acme"
    assert (meta["workflow_id"], meta["case_id"], meta["run_id"]) == (None, None, None)
    assert meta["worker_call_id"].startswith("call-")


def test_context_keeps_the_given_worker_call_id(search):
    """A caller's own `metadata.worker_call_id` is reported back."""
    context = CONTEXT.model_dump() | {"metadata": {"worker_call_id": "mine"}}
    assert search(ScriptedAdapter(), context=context).outcome.meta["worker_call_id"] == "mine"


def test_web_search_input_normalises():
    """Zero-width characters go, white space is trimmed and folded."""
    assert WebSearchInput(query="  KI\u200b-Regulierung \n EU ").query == "KI-Regulierung EU"


def test_query_is_normalised_before_the_call(search):
    """The adapter gets the cleaned query."""
    adapter = ScriptedAdapter()
    search(adapter, "  KI\u200b-Regulierung \n EU ")
    assert adapter.requests[0].query == "KI-Regulierung EU"


@pytest.mark.parametrize("query", ["", "  ", "\u200b", "site:", "-site: OR", None, 7])
def test_invalid_query(search, query):
    """A query with nothing to search for is an outcome; the adapter is not called."""
    adapter = ScriptedAdapter()
    outcome = search(adapter, query).outcome
    assert (outcome.decision, outcome.rationale) == ("error", "invalid_query")
    assert outcome.meta["error"]["code"] == "invalidQuery"
    assert outcome.meta["attempts"] == 0
    assert outcome.meta["http_status"] is None
    assert set(outcome.meta) == {*META_FIELDS, "error"}
    assert adapter.requests == []


# --- outcome and meta

META_FIELDS = {
    "tenant_id": "acme",
    "trace_id": "trace-a1b2c3",
    "workflow_id": "universal_ingestion",
    "case_id": "crm-7421",
    "run_id": "run_def456",
    "worker_call_id": CONTEXT.metadata.worker_call_id,
    "provider": "scripted",
    "latency_ms": 0,
    "attempts": 1,
    "http_status": 200,
    "result_count": 2,
    "raw_result_count": 3,
    "normalized_result_count": 2,
    "quota_remaining": 73,
    "request_count": 2,
    "billed_request_count": 2,
    "cost_usd": 0.014,
    "notices": ["page 3 is missing"],
}
IDS = list(META_FIELDS)[:7]


@pytest.mark.parametrize("name", META_FIELDS)
def test_meta_field(search, name):
    """Each field of `meta` after a success."""
    answer = SearchAdapterResponse(
        results=rows(2),
        status_code=200,
        raw_results=[{}, {}, {}],
        quota_remaining=73,
        request_count=2,
        cost_usd=0.014,
        notices=["page 3 is missing"],
    )
    assert search(ScriptedAdapter(answer)).outcome.meta[name] == META_FIELDS[name]


def test_meta_is_plain_json(search):
    """Enumerations become numbers; a quota that is no whole number is not told."""
    answer = SearchAdapterResponse(rows(1), HTTPStatus.OK, quota_remaining=Decimal(3))
    found = search(ScriptedAdapter(answer)).outcome.meta
    assert (type(found["http_status"]), found["quota_remaining"]) == (int, None)
    failure = SearchProviderBadResponse("?", http_status=HTTPStatus.BAD_GATEWAY, retry_in_ms=1.5)
    failed = search(ScriptedAdapter(failure)).outcome.meta
    assert type(failed["http_status"]) is int
    assert failed["error"]["retry_in_ms"] is None


def test_an_endless_answer_is_read_in_part(search):
    """More rows than anybody asked for are counted, not read."""
    meta = search(ScriptedAdapter(SearchAdapterResponse(rows(1) * 50_000, 200))).outcome.meta
    assert (meta["raw_result_count"], meta["normalized_result_count"]) == (50_000, 1_000)


def test_meta_has_no_other_fields(search):
    """A success has exactly these fields, a failure `error` besides."""
    assert set(search(ScriptedAdapter()).outcome.meta) == set(META_FIELDS)
    failed = search(ScriptedAdapter(SearchProviderBadResponse("?"))).outcome
    assert set(failed.meta) == {*META_FIELDS, "error"}


def test_meta_latency_ms(search, clock):
    """The latency counts the waiting between attempts, in whole milliseconds."""
    adapter = ScriptedAdapter(throttled(245), rows(1))
    assert search(adapter).outcome.meta["latency_ms"] == 245


def test_search_completed_without_results(search):
    """An empty answer is a success: nothing was found."""
    response = search(ScriptedAdapter([]))
    assert (response.outcome.decision, response.outcome.rationale) == ("ok", "search_completed")
    assert response.results == []


def test_the_three_counts(search):
    """Received, valid before de-duplication, returned after the cut."""
    bad = ProviderSearchResult("no url", "T", "S", "s")
    adapter = ScriptedAdapter([*rows(4), *rows(4), bad])
    meta = search(adapter, max_results=3, oversample_factor=4).outcome.meta
    assert meta["raw_result_count"] == 9
    assert meta["normalized_result_count"] == 8
    assert meta["result_count"] == 3


def test_max_results_after_deduplication(search):
    """Oversampling fills the places of duplicates; the order of the provider is kept."""
    response = search(ScriptedAdapter(rows(2) + rows(5)), max_results=4)
    assert [result.url for result in response.results] == [row.url for row in rows(4)]


@pytest.mark.parametrize(
    ("options", "page_size", "asked"),
    [
        ({}, None, 20),
        ({"max_results": 5}, None, 10),
        ({"oversample_factor": 3}, None, 30),
        ({"oversample_factor": 1}, None, 10),
        ({}, 15, 15),
        ({}, 100, 20),
        ({"max_results": 30}, 20, 30),
    ],
)
def test_oversample_factor(search, options, page_size, asked):
    """The factor multiplies the rows asked for, but one provider page is not passed unasked."""
    adapter = ScriptedAdapter(page_size=page_size)
    search(adapter, **options)
    assert adapter.requests[0].max_results == asked


FAILURES: list[tuple[BaseException, tuple[str, str, int | None, int]]] = [
    (SearchProviderTimeout("slow"), ("provider_timeout", "timeout", 504, 2)),
    (TimeoutError("slow"), ("provider_timeout", "timeout", 504, 2)),
    (throttled(), ("provider_rate_limited", "rateLimited", 429, 3)),
    (
        SearchProviderQuotaExceeded("plan used up", code="quotaExceeded", http_status=402),
        ("provider_quota_exceeded", "quotaExceeded", 402, 1),
    ),
    (
        SearchProviderAuthenticationFailed("set TAVILY_API_KEY"),
        ("provider_authentication_failed", "authenticationFailed", 401, 1),
    ),
    (SearchProviderInvalidQuery("too long"), ("invalid_query", "invalidQuery", 400, 1)),
    (SearchProviderBadResponse("HTML"), ("provider_bad_response", "unknown", 502, 1)),
    (SearchProviderError("odd"), ("provider_bad_response", "unknown", None, 1)),
    (SearchProviderUnavailable("down"), ("provider_unavailable", "serviceUnavailable", 503, 3)),
    (KeyError("items"), ("unexpected_error", "unknown", None, 1)),
    (StopIteration(), ("unexpected_error", "unknown", None, 1)),
    (asyncio.CancelledError(), ("unexpected_error", "unknown", None, 1)),
    (
        BaseExceptionGroup("two", [asyncio.CancelledError(), ValueError()]),
        ("unexpected_error", "unknown", None, 1),
    ),
]
SHOWN_AS = {"TimeoutError": "SearchProviderTimeout", "StopIteration": "RuntimeError"}


@pytest.mark.parametrize(
    ("error", "expected"), FAILURES, ids=[f"{type(e).__name__}-{x[1]}" for e, x in FAILURES]
)
def test_a_failure_is_an_outcome_with_its_cause(search, error, expected):
    """Every kind of failure: its rationale, code, HTTP status and number of attempts."""
    response = search(ScriptedAdapter(error))
    outcome, meta = response.outcome, response.outcome.meta
    cause = meta["error"]
    assert outcome.decision == "error"
    assert (outcome.rationale, cause["code"], meta["http_status"], meta["attempts"]) == expected
    assert set(meta) == {*META_FIELDS, "error"}
    assert {name: meta[name] for name in IDS} == {name: META_FIELDS[name] for name in IDS}
    assert cause.keys() == {"kind", "code", "message", "retryable", "retry_in_ms", "http_status"}
    kind = type(error).__name__
    assert cause["kind"] == SHOWN_AS.get(kind, kind)
    assert cause["message"]
    assert cause["http_status"] == meta["http_status"]
    assert response.results == []
    assert (meta["result_count"], meta["raw_result_count"]) == (0, 0)
    assert meta["normalized_result_count"] == 0


def test_success_example_of_the_specification(search, clock):
    """One valid row of ten: the documented JSON, with the fields that every outcome has besides."""
    row = ProviderSearchResult(
        url="https://example.com/article?utm_source=x",
        title="KI-Regulierung: Neue EU-Verordnung",
        snippet="Die EU hat neue Richtlinien...",
        source="google",
    )

    class Google:
        provider_name = "google"

        def search(self, query, *, max_results):
            clock.advance(0.245)
            return SearchAdapterResponse([row], 200, raw_results=[{}] * 10)

    answer = search(Google()).model_dump(mode="json")
    assert answer["results"] == [
        {
            "url": "https://example.com/article",
            "title": "KI-Regulierung: Neue EU-Verordnung",
            "snippet": "Die EU hat neue Richtlinien...",
            "source": "google",
            "score": None,
            "is_pdf": False,
        }
    ]
    outcome = answer["outcome"]
    assert (outcome["decision"], outcome["rationale"]) == ("ok", "search_completed")
    documented = {
        "tenant_id": "acme",
        "trace_id": "trace-a1b2c3",
        "provider": "google",
        "latency_ms": 245,
        "http_status": 200,
        "result_count": 1,
        "raw_result_count": 10,
        "normalized_result_count": 1,
    }
    assert documented.items() <= outcome["meta"].items()


def test_error_example_of_the_specification(search):
    """A throttle ends as documented: kind, message and the provider's waiting time."""
    outcome = search(ScriptedAdapter(throttled(1200)), max_attempts=1).outcome
    assert outcome.rationale == "provider_rate_limited"
    assert outcome.meta["http_status"] == 429
    assert outcome.meta["error"] == {
        "kind": "SearchProviderQuotaExceeded",
        "code": "rateLimited",
        "message": "Rate limit exceeded",
        "retryable": True,
        "retry_in_ms": 1200,
        "http_status": 429,
    }


@pytest.mark.slow
@pytest.mark.parametrize(
    ("status", "rationale"),
    [
        (0, "provider_bad_response"),
        (302, "provider_bad_response"),
        (400, "invalid_query"),
        (401, "provider_authentication_failed"),
        (402, "provider_quota_exceeded"),
        (404, "provider_bad_response"),
        (408, "provider_timeout"),
        (429, "provider_rate_limited"),
        (500, "provider_unavailable"),
        (504, "provider_timeout"),
    ],
)
def test_a_failing_status_is_never_an_empty_success(search, status, rationale):
    """An adapter that returns a failing status in place of raising is not believed."""
    outcome = search(ScriptedAdapter(SearchAdapterResponse([], status))).outcome
    assert outcome.rationale == rationale
    assert outcome.meta["http_status"] == status


WRONG: Any = [
    None,
    [],
    {"results": []},
    SearchAdapterResponse(None, 200),  # type: ignore[arg-type]
    SearchAdapterResponse("ab", 200),  # type: ignore[arg-type]
    SearchAdapterResponse([], None),  # type: ignore[arg-type]
]


@pytest.mark.parametrize("answer", WRONG)
def test_a_wrong_type_is_a_bad_response(search, answer):
    """What is no complete SearchAdapterResponse cannot be understood."""

    class Careless:
        def search(self, query, *, max_results, timeout):
            return answer

    outcome = search(Careless()).outcome
    assert outcome.rationale == "provider_bad_response"
    assert "Careless returned" in outcome.meta["error"]["message"]
    assert (
        "SearchAdapterResponse(results=[...], status_code=200)" in outcome.meta["error"]["message"]
    )
    assert outcome.meta["error"]["http_status"] is None  # nobody sent one


def test_secrets_are_masked_in_messages_spans_and_logs(search, spans, caplog):
    """Keys that a vendor's library prints in its errors go nowhere."""
    leak = "GET https://api.example.com/search?key=hunter2hunter2 failed"
    outcome = search(ScriptedAdapter(ValueError(leak))).outcome
    span = spans.spans[0]
    told = f"{outcome.meta} {span.fields} {span.failure} {caplog.text}"
    assert "GET https://api.example.com/search?key=[secret] failed" in told
    assert "hunter2" not in told


def test_long_messages_are_cut(search):
    """A page of HTML in an error does not fill state and spans."""
    outcome = search(ScriptedAdapter(SearchProviderBadResponse("x " * 9_000))).outcome
    assert len(outcome.meta["error"]["message"]) == 500


@pytest.mark.parametrize("error", [KeyboardInterrupt, SystemExit])
def test_what_ends_the_program_passes_through(error, spans):
    """Interrupts are no provider failures, also from an adapter that runs in another thread."""

    class Interrupted:
        def search(self, query, *, max_results):
            raise error

    with pytest.raises(error):
        WebSearchWorker(Interrupted(), spans=spans).run(query="asyncio", context=CONTEXT)


# --- retry


def test_max_attempts_and_backoff_formula(search, clock):
    """Delays double from `backoff_factor`, `max_attempts` ends them."""
    outcome = search(ScriptedAdapter(throttled()), max_attempts=4).outcome
    assert clock.slept == [0.6, 1.2, 2.4]
    assert outcome.meta["attempts"] == 4


def test_backoff_factor_and_cap(search, clock):
    """Another factor scales every delay up to the cap of ten seconds."""
    search(ScriptedAdapter(throttled()), max_attempts=4, backoff_factor=3)
    assert clock.slept == [3, 6, 10]


def test_retry_in_ms_comes_first(search, clock):
    """The provider's waiting time replaces the formula, zero included."""
    search(ScriptedAdapter(throttled(1500), throttled(0), rows(1)))
    assert clock.slept == [1.5, 0]


def test_a_retry_that_succeeds_is_a_success(search):
    """After a transient failure the answer counts, with the number of attempts."""
    outcome = search(ScriptedAdapter(throttled(), rows(2))).outcome
    assert (outcome.decision, outcome.meta["attempts"]) == ("ok", 2)
    assert "error" not in outcome.meta


@pytest.mark.parametrize(
    ("errors", "attempts"),
    [
        ([SearchProviderTimeout("slow")], 2),
        ([SearchProviderUnavailable("down"), SearchProviderTimeout("slow")], 3),
        ([throttled(), SearchProviderBadResponse("?")], 2),
        ([SearchProviderTimeout("slow", retryable=False)], 1),
        ([SearchProviderQuotaExceeded("empty", code="quotaExceeded", retry_in_ms=1)], 1),
        ([SearchProviderAuthenticationFailed("odd 422", retryable=True)], 2),
    ],
    ids=["timeout once", "mixed", "then fatal", "flag off", "quota used up", "flag on"],
)
def test_attempts_by_code(search, errors, attempts):
    """Each code has its number of attempts; an error's own `retryable` flag is obeyed."""
    adapter = ScriptedAdapter(*errors)
    assert search(adapter).outcome.meta["attempts"] == attempts == len(adapter.requests)


def test_max_attempts_bounds_every_rule(search):
    """With `max_attempts=1` nothing is retried."""
    assert search(ScriptedAdapter(throttled()), max_attempts=1).outcome.meta["attempts"] == 1


def test_it_never_sleeps_past_the_deadline(search, clock):
    """A waiting time that reaches the deadline, by default 60 s, is reported, not slept."""
    outcome = search(ScriptedAdapter(throttled(60_000))).outcome
    assert clock.slept == []
    assert outcome.rationale == "provider_rate_limited"
    assert outcome.meta["error"]["retry_in_ms"] == 60_000


def test_timeout_grows_after_a_timeout(search):
    """The limit is `timeout_s`, after a timeout `retry_timeout_s`, never past the deadline."""
    adapter = ScriptedAdapter(SearchProviderTimeout("slow"))
    search(adapter)
    assert [request.timeout for request in adapter.requests] == [10, 20]
    adapter = ScriptedAdapter(SearchProviderTimeout("slow"))
    search(adapter, timeout_s=1, retry_timeout_s=30, deadline_s=5, backoff_factor=2)
    assert [request.timeout for request in adapter.requests] == pytest.approx([1, 3])
    adapter = ScriptedAdapter(throttled())
    search(adapter)
    assert [request.timeout for request in adapter.requests] == [10, 10, 10]


def test_jitter_only_without_an_injected_sleep(spans):
    """By default a delay is spread below its formula; the test's clock sees exact values."""
    error = SearchProviderUnavailable("down")
    jittered = WebSearchWorker(ScriptedAdapter(), spans=spans)._rules.schedule
    exact = WebSearchWorker(ScriptedAdapter(), spans=spans, sleep=FakeClock().sleep)._rules.schedule
    delays = {jittered.delay_s([error]) for _ in range(20)}
    assert len(delays) > 1
    assert all(delay is not None and 0 <= delay <= 0.6 for delay in delays)
    assert exact.delay_s([error]) == 0.6


def test_constructor_default_logger_and_timer(spans, caplog):
    """Without injection the module's logger and a monotonic clock serve."""
    with caplog.at_level(logging.DEBUG, logger="collection_search.tools.web_search"):
        worker = WebSearchWorker(ScriptedAdapter([ProviderSearchResult("x", "", "", "")]), spans=spans)  # fmt: skip
        outcome = worker.run(query="asyncio", context=CONTEXT).outcome
    assert caplog.messages == ["dropping invalid search result"]
    assert 0 <= outcome.meta["latency_ms"] < 5_000


# --- spans and logs

SPAN_ATTRIBUTES: dict[str, Scalar] = {
    "tenant_id": "acme",
    "trace_id": "trace-a1b2c3",
    "workflow_id": "universal_ingestion",
    "case_id": "crm-7421",
    "run_id": "run_def456",
    "worker_call_id": CONTEXT.metadata.worker_call_id,
    "provider": "scripted",
    "query": "jane@example.com asyncio",
    "http.status": 200,
    "result.count": 2,
    "raw_result_count": 2,
    "normalized_result_count": 2,
    "quota.remaining": 7,
}


@pytest.mark.parametrize("name", SPAN_ATTRIBUTES)
def test_span_attribute(search, spans, name):
    """Each attribute of the span; the query in full, personal data included."""
    answer = SearchAdapterResponse(results=rows(2), status_code=200, quota_remaining=7)
    search(ScriptedAdapter(answer), "jane@example.com asyncio")
    assert spans.spans[0].fields[name] == SPAN_ATTRIBUTES[name]


def test_span_is_one_tool_observation_of_the_callers_trace(search, spans):
    """A call, retries included, is one span with exactly the specified attributes."""
    search(ScriptedAdapter(throttled(), rows(1)))
    (span,) = spans.spans
    assert (span.name, span.kind, span.failure) == ("tool.web_search", "tool", None)
    assert span.trace == TraceRef("trace-a1b2c3", "universal_ingestion", "crm-7421", "acme")
    assert set(span.fields) == set(SPAN_ATTRIBUTES) - {"quota.remaining"}


@pytest.mark.parametrize(
    ("capture", "shown"),
    [
        ("full", "jane@example.com asyncio"),
        ("masked", "[email] asyncio"),
        ("hash", "sha256:f6eb73e8cde79394"),
        ("none", None),
    ],
)
def test_the_query_in_the_span_is_as_the_setting_says(search, spans, capture, shown):
    """In full it tells the sink to leave personal data in it; the outcome is the same for all."""
    search(ScriptedAdapter(rows(1)), "jane@example.com asyncio", capture_query=capture)
    query = spans.spans[0].fields.get("query")
    assert query == shown
    assert isinstance(query, FullQuery) == (capture == "full")


def test_the_span_has_the_searchs_cost(search, spans):
    """Of all its attempts; an unknown price is left out."""
    answer = SearchAdapterResponse(results=rows(1), status_code=200, cost_usd=0.011)
    search(ScriptedAdapter(SearchProviderTimeout("late"), answer, provider_name="brave"))
    search(ScriptedAdapter(rows(1), provider_name="nobody-knows"))
    twice, unknown = spans.spans
    assert twice.tokens["cost_usd"] == 0.016
    assert unknown.tokens == {}


def test_span_of_a_failure(search, spans):
    """A failure adds `error.kind` and `error.message` and marks the span."""
    search(ScriptedAdapter(SearchProviderTimeout("too slow")))
    (span,) = spans.spans
    assert span.fields["error.kind"] == "SearchProviderTimeout"
    assert span.fields["error.message"] == "too slow"
    assert span.fields["http.status"] == 504
    assert span.failure == ("SearchProviderTimeout", "too slow")


def test_span_of_an_invalid_query(search, spans):
    """A call that never reaches the provider is observed too."""
    search(ScriptedAdapter(), "site:")
    assert spans.spans[0].fields["query"] == "site:"
    assert spans.spans[0].fields["error.kind"] == "InvalidQueryError"


def test_an_adapters_own_spans_lie_below(search, spans):
    """What the adapter observes, in whatever thread it runs, is a child of the tool's span."""

    class Observed:
        def search(self, query, *, max_results):
            with spans.span("http"):
                return SearchAdapterResponse(results=[], status_code=200)

    search(Observed())
    assert spans.outline() == "tool.web_search\n  http"


def test_without_a_sink_the_process_default_serves(search):
    """A worker built with its adapter alone searches: tracing is off unless keys are set."""
    assert search(ScriptedAdapter(rows(1)), spans=None).outcome.decision == "ok"


def test_log_line_for_a_dropped_row(search, caplog):
    """An unusable row is logged at debug level with its payload, page text left out."""
    row = ProviderSearchResult("ftp://x", "T", "S", "s", content="long text")
    logger = logging.getLogger("injected")
    with caplog.at_level(logging.DEBUG, logger="injected"):
        search(ScriptedAdapter([row]), logger=logger)
    (record,) = caplog.records
    assert (record.levelname, record.message) == ("DEBUG", "dropping invalid search result")
    assert record.payload == {
        "url": "ftp://x",
        "title": "T",
        "snippet": "S",
        "source": "s",
        "score": None,
        "content_type": None,
    }


def test_rows_of_which_none_can_be_used_are_a_bad_answer(search):
    """It is no empty web; what the provider gave is counted."""
    bad = [
        ProviderSearchResult("javascript:alert(1)", "T", "S", "s"),
        ProviderSearchResult("https://a.org/", " ", " ", "s"),
    ]
    response = search(ScriptedAdapter(bad))
    outcome, meta = response.outcome, response.outcome.meta
    assert (outcome.decision, outcome.rationale) == ("error", "provider_bad_response")
    assert (meta["raw_result_count"], meta["normalized_result_count"]) == (2, 0)
    assert (meta["attempts"], meta["http_status"], meta["error"]["retryable"]) == (1, 200, False)
    assert "2 rows, of which none can be used" in meta["error"]["message"]
    mixed = search(ScriptedAdapter([*bad, *rows(1)]))
    assert (mixed.outcome.decision, len(mixed.results)) == ("ok", 1)


def test_results_that_do_not_fit_the_options_are_no_bad_answer(spans):
    """The provider answered well; the caller's domains are nowhere in it."""
    wanted = SearchOptions(include_domains=("else.example",), domain_mode="restrict")
    worker = WebSearchWorker(ScriptedAdapter(rows(3)), spans=spans)
    response = worker.run(query="asyncio", context=CONTEXT, options=wanted)
    assert (response.outcome.decision, response.results) == ("ok", [])


def test_wrong_settings_are_no_programming_error(search, caplog):
    """What this package says in a sentence is not printed as a traceback besides."""
    outcome = search(ScriptedAdapter(ConfigError("set COLLECTION_SEARCH_HOME"))).outcome
    assert outcome.meta["error"]["kind"] == "ConfigError"
    assert caplog.records == []


def test_log_line_for_a_programming_error(search, caplog):
    """An unexpected exception is logged with its traceback."""
    error = ZeroDivisionError("division by zero")
    search(ScriptedAdapter(error), logger=logging.getLogger("injected"))
    (record,) = caplog.records
    assert (record.levelname, record.message) == ("ERROR", "web search worker failed")
    assert record.exc_info[1] is error


def test_a_providers_failure_is_no_log_line(search, caplog):
    """What the outcome tells need not be told again."""
    search(ScriptedAdapter(SearchProviderAuthenticationFailed("set the key")))
    assert caplog.records == []
