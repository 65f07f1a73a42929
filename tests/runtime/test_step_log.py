"""The steps of a run as log records."""

from __future__ import annotations

import logging

import pytest

from collection_search.ports import TraceRef
from collection_search.runtime.spans import NULL_SINK
from collection_search.runtime.step_log import log_steps
from collection_search.testing.tracing import RecordingSink

NAME = "collection_search.runtime.step_log"


def test_nothing_is_wrapped_where_nobody_listens() -> None:
    """A run that is not watched pays nothing."""
    logging.getLogger(NAME).setLevel(logging.INFO)
    try:
        assert log_steps(NULL_SINK) is NULL_SINK
    finally:
        logging.getLogger(NAME).setLevel(logging.NOTSET)


def test_each_observation_is_one_record(caplog: pytest.LogCaptureFixture) -> None:
    """Its facts, without ids and empty ones; the sink behind it gets all of them."""
    caplog.set_level(logging.DEBUG, NAME)
    recorded = RecordingSink()
    sink = log_steps(recorded)
    with sink.span("search") as span:
        span.set({"query": "tea", "result_count": 3, "run_id": "r-1", "quota": None})
        span.usage(model="m", input_tokens=7, output_tokens=None, cost_usd=0.5)
    with sink.span("page") as span:
        span.fail("FetchError", "status 500")
    with pytest.raises(KeyError), sink.span("rank"):
        raise KeyError
    told = [record.getMessage() for record in caplog.records]
    assert told[0].startswith("search: ")
    assert told[0].endswith(
        " ms, query='tea', result_count=3, model='m', input_tokens=7, cost_usd=0.5"
    )
    assert told[1].endswith(" ms, failed: FetchError: status 500")
    assert told[2].endswith(" ms, failed: KeyError")
    assert [span.ended for span in recorded.spans] == [True] * 3
    assert recorded.spans[0].fields["run_id"] == "r-1"
    assert recorded.spans[1].failure == ("FetchError", "status 500")


def test_a_record_has_its_facts_as_fields(caplog: pytest.LogCaptureFixture) -> None:
    """For logs in JSON, ids included; what is empty is left out."""
    caplog.set_level(logging.DEBUG, NAME)
    sink = log_steps(RecordingSink())
    with sink.span("k_rank", trace=TraceRef("t-1")) as span:
        span.set({"result_count": 3, "run_id": "r-1", "quota": None})
    with sink.span("page") as span:
        span.set({"trace_id": "t-2"})
        span.fail("FetchError", "status 500")
    with sink.span("alone"):
        pass
    rank, page, alone = (vars(record) for record in caplog.records)
    assert (rank["step"], rank["trace_id"]) == ("k_rank", "t-1")
    assert rank["facts"] == {"result_count": 3, "run_id": "r-1"}
    assert rank["latency_ms"] >= 0
    assert (page["trace_id"], page["failure"]) == ("t-2", "FetchError: status 500")
    assert not {"failure", "trace_id"} & alone.keys()
    assert "failure" not in rank


def test_secrets_are_in_no_record(caplog: pytest.LogCaptureFixture) -> None:
    """Neither in the message nor in the fields: a host's own handler masks nothing."""
    caplog.set_level(logging.DEBUG, NAME)
    secret = "sk-proj-4hT9vQ2mZx81LkWq7RbN"  # a made-up one
    with log_steps(NULL_SINK).span("tool.web_search") as span:
        span.set({"query": f"why is {secret} refused"})
        span.fail("Refused", f"the key {secret} is not valid")
    (record,) = caplog.records
    assert secret not in repr(vars(record))
    assert record.getMessage().count("[secret]") == 2
